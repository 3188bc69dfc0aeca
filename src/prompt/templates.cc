// The table of templates, and how one becomes messages.
#include "prompt/templates.h"

#include <array>
#include <vector>

#include "base/text.h"
#include "prompt/extract.h"

namespace kw::prompt {
namespace {

constexpr std::array<Template, 6> kTemplates = {{
    {.name = "zero_shot", .version = 2},
    {.name = "one_shot", .version = 2, .example = true},
    {.name = "hardware", .version = 2, .hardware = true},
    {.name = "plan_first", .version = 3, .plan = true},
    {.name = "full", .version = 3, .example = true, .hardware = true, .plan = true},
    {.name = "compact", .version = 1, .compact = true},
}};

Result<PromptOptions> options_of(const Template& chosen, PromptOptions options) {
  options.example = chosen.example;
  options.plan = chosen.plan;
  options.compact = chosen.compact;
  if (!chosen.hardware) {
    options.hardware.reset();
  } else if (!options.hardware) {
    return fail(ErrorCode::kInvalidArgument, "the template {} needs facts of a machine",
                chosen.name);
  }
  return options;
}

std::string id_of(const Template& chosen) {
  return fmt::format("{}-{}", chosen.name, chosen.version);
}

std::string previous_sections(const Refinement& refinement, task::Language language) {
  std::string out;
  if (!refinement.previous.code.empty()) {
    out +=
        "# Previous attempt\n" + fenced(trim(refinement.previous.code), fence_tag(language)) + "\n";
  }
  return out + "# What was found\n" +
         feedback_section(refinement.previous, language, refinement.best) + "\n# Next\n" +
         next_step(refinement.previous) + "\n\n";
}

}  // namespace

std::span<const Template> templates() {
  return kTemplates;
}

Result<Template> template_named(std::string_view name) {
  std::vector<std::string> names;
  for (const Template& known : kTemplates) {
    if (known.name == name) return known;
    names.emplace_back(known.name);
  }
  std::string hint = nearest(name, names);
  return fail(ErrorCode::kInvalidArgument, "unknown template \"{}\"; {} {}", printable(name, 40),
              hint.empty() ? "there are" : "did you mean",
              hint.empty() ? join(names, ", ") : hint + "?");
}

Result<ChatPrompt> chat_prompt(const task::Problem& problem, const task::Signature& signature,
                               task::Language language, const Template& chosen,
                               const PromptOptions& options) {
  KW_TRY(PromptOptions with, options_of(chosen, options));
  KW_TRY(std::string text, problem_prompt(problem, signature, language, with));
  return ChatPrompt{id_of(chosen), {{"user", std::move(text)}}};
}

Result<ChatPrompt> refinement_prompt(const task::Problem& problem, const task::Signature& signature,
                                     task::Language language, const Template& chosen,
                                     const Refinement& refinement, const PromptOptions& options) {
  KW_TRY(PromptOptions with, options_of(chosen, options));
  with.before_answer = previous_sections(refinement, language);
  KW_TRY(std::string text, problem_prompt(problem, signature, language, with));
  return ChatPrompt{fmt::format("{}+refine-{}", id_of(chosen), kRefineVersion),
                    {{"user", std::move(text)}}};
}

}  // namespace kw::prompt
