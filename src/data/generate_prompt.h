// The question of an `implement` sample: the steps in words, without a reference to read.
#pragma once
#include <string>

#include "prompt/problem_prompt.h"
#include "prompt/templates.h"

namespace kw::data {

inline constexpr int kImplementVersion = 1;

// template_id "implement-1". steps: a numbered list over the names of the definition's tensors.
Result<prompt::ChatPrompt> implement_prompt(const task::Problem& problem,
                                            const task::Signature& signature,
                                            task::Language language, const std::string& steps,
                                            const prompt::PromptOptions& options);

}  // namespace kw::data
