// What a model is asked: the problem, or the problem with an earlier attempt and what the gym found
// in it.
#pragma once
#include <optional>
#include <string>
#include <vector>

#include "base/json.h"
#include "base/result.h"
#include "link/generate_request.h"
#include "prompt/templates.h"
#include "task/candidate.h"
#include "task/problem.h"
#include "task/signature.h"
#include "task/verdict.h"

namespace kw::search {

struct Prompt {
  std::string template_id;  // with its version
  std::vector<link::Message> messages;
};

struct Asking {
  const task::Problem& problem;
  const task::Signature& signature;
  task::Language language;
  const prompt::Template& chosen;
  const prompt::PromptOptions& options;
};

struct Parent {
  task::Candidate candidate;
  std::optional<task::Verdict> verdict;  // none: it could not be judged
  std::optional<prompt::BestSoFar> best;
};

Result<Prompt> base_prompt(const Asking& asking);
Result<Prompt> refine_prompt(const Asking& asking, const Parent& parent);

// As blobs hold them: [{"role", "content"}].
std::string messages_text(const std::vector<link::Message>& messages);
Result<std::vector<link::Message>> messages_from_text(const std::string& text);

}  // namespace kw::search
