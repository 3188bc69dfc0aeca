// What a policy of plans reads, and how its answer is read.
#pragma once
#include <string>
#include <string_view>

#include "base/random.h"
#include "base/result.h"
#include "task/candidate.h"
#include "task/signature.h"
#include "writer/author/tuning.h"
#include "writer/graph/graph.h"

namespace kw::plan_environment {

// Operators, shapes of inputs and outputs, and where list_choices the strategies with the numbers
// that each leaves open. Versioned: the text of a version never changes.
inline constexpr int kPlanPromptVersion = 1;
std::string plan_prompt(const writer::Graph& graph, const task::Signature& signature,
                        task::Language language, bool list_choices);

// The answer's first line that is not empty, "blocked tile_rows=4 stream=1": a strategy, then
// numbers that it leaves open; those not named are as usual. kInvalidArgument and kNotFound for
// what is no plan of the language: the message says why.
Result<writer::Labelled> read_plan(std::string_view answer, task::Language language);

// A random plan: any strategy, and each choice as usual or, with probability `share`, another of
// its values.
writer::Labelled random_plan(Rng& rng, task::Language language, double share);

}  // namespace kw::plan_environment
