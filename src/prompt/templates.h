// Versioned prompt templates: the same template, version and arguments give the same messages.
#pragma once
#include <span>
#include <string_view>

#include "prompt/chat.h"
#include "prompt/feedback.h"
#include "prompt/problem_prompt.h"

namespace kw::prompt {

// A version grows with every change of the text; golden files hold it to that.
struct Template {
  std::string_view name;
  int version = 1;
  bool example = false;   // a worked example (one-shot)
  bool hardware = false;  // the machine's facts; PromptOptions::hardware must be given
  bool plan = false;      // a plan first, in lines that can be checked
  bool compact = false;   // names and numbers alone; PromptOptions::graph must be given
};

// zero_shot, one_shot, hardware, plan_first, full (all three together), and compact, for models
// that were taught on it.
std::span<const Template> templates();
// kInvalidArgument with the nearest name.
Result<Template> template_named(std::string_view name);

// One user message. Errors: those of problem_prompt; kInvalidArgument for a template with hardware
// without facts of a machine, or one with a graph without that.
Result<ChatPrompt> chat_prompt(const task::Problem& problem, const task::Signature& signature,
                               task::Language language, const Template& chosen,
                               const PromptOptions& options = {});

// The next turn, in one user message that needs no others: the problem, the previous code, what was
// found, what to do. template_id names both templates.
inline constexpr int kRefineVersion = 1;
struct Refinement {
  Attempt previous;
  std::optional<BestSoFar> best = std::nullopt;
};
Result<ChatPrompt> refinement_prompt(const task::Problem& problem, const task::Signature& signature,
                                     task::Language language, const Template& chosen,
                                     const Refinement& refinement,
                                     const PromptOptions& options = {});

}  // namespace kw::prompt
