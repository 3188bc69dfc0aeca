// Whether an answer's plan is right.
#pragma once
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "task/candidate.h"
#include "task/signature.h"
#include "writer/author/answer_plan.h"
#include "writer/graph/graph.h"

namespace kw::writer {

// Returns what does not fit, a sentence each; empty when the plan is right. The operators must be
// the graph's with their constants, and the strategy one of the language's. The tiling must name
// choices of the strategy and values that they have. Limit, words and tiling must be those of the
// kernel that the writer writes with them. Errors are write_kernel()'s.
Result<std::vector<std::string>> check_plan(const Graph& graph, const task::Signature& signature,
                                            task::Language language, const AnswerPlan& plan);

// Checks one of the writer's own answers: its plan as above, and that writing the kernel again with
// the plan's strategy and tiling gives the answer byte for byte.
Result<std::vector<std::string>> check_answer(const Graph& graph, const task::Signature& signature,
                                              task::Language language, std::string_view answer);

}  // namespace kw::writer
