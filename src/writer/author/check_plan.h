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

// What does not fit, a sentence each; empty: all fits. That is: the operators are the graph's with
// their constants, the strategy is one of the language's, the tiling's names and values are its
// choices, and limit, words and tiling are those of the kernel that the writer writes with them.
// Errors are write_kernel()'s.
Result<std::vector<std::string>> check_plan(const Graph& graph, const task::Signature& signature,
                                            task::Language language, const AnswerPlan& plan);

// Of one of the writer's own answers: its plan as above, and that writing the kernel again with the
// plan's strategy and tiling gives the answer byte for byte.
Result<std::vector<std::string>> check_answer(const Graph& graph, const task::Signature& signature,
                                              task::Language language, std::string_view answer);

}  // namespace kw::writer
