#include "data/generate_prompt.h"

#include <fmt/format.h>

#include "prompt/extract.h"
#include "prompt/sections.h"
#include "task/target.h"

namespace kw::data {
namespace {

constexpr const char* kImplement = R"(# Task
Implement a fast kernel in {language} that computes:
{steps}
# Interface
{interface}
# Workloads
{workloads}
# Rules
{rules}
# Answer
Say in a few lines what the kernel does and how. Then give the whole code in one block, fenced with ```{tag} and ```; only the last such block is read.
)";

}  // namespace

Result<prompt::ChatPrompt> implement_prompt(const task::Problem& problem,
                                            const task::Signature& signature,
                                            task::Language language, const std::string& steps,
                                            const prompt::PromptOptions& options) {
  if (language != task::Language::kCpp && language != task::Language::kTriton)
    return fail(ErrorCode::kUnsupported, "there is no such question for {}",
                task::to_string(language));
  std::string text = fmt::format(
      fmt::runtime(kImplement), fmt::arg("language", task::facts_of(language).title),
      fmt::arg("steps", steps),
      fmt::arg("interface", prompt::interface_section(problem, signature, language)),
      fmt::arg("workloads",
               prompt::workloads_section(problem, task::workload_target(language, options.target))),
      fmt::arg("rules", prompt::rules_section(problem, language, options)),
      fmt::arg("tag", prompt::fence_tag(language)));
  return prompt::ChatPrompt{fmt::format("implement-{}", kImplementVersion),
                            {{"user", std::move(text)}}};
}

}  // namespace kw::data
