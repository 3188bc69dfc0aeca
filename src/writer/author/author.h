// The programmatic kernel author: a graph in, working kernels out, in several strategies.
#pragma once
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "task/candidate.h"
#include "task/signature.h"
#include "writer/author/tuning.h"
#include "writer/graph/graph.h"

namespace kw::writer {

// A kernel that is believed to be right; the gym decides.
struct Draft {
  task::Language language = task::Language::kCpp;
  std::string strategy;  // "fused"
  Tuning tuning;
  // Lines that a program can check (check_plan.h): operators, limit, strategy, tiling.
  std::vector<std::string> plan;
  std::string source;  // one file
};

// The strategies for a language, from the one that is most often fastest to the plainest.
std::vector<std::string_view> strategies(task::Language language);

// The numbers that a strategy leaves open, in the order in which a search tries them; empty for an
// unknown strategy. A choice may make no difference to a kernel: its source is the same then.
std::vector<Choice> choices(task::Language language, std::string_view strategy);

// kUnsupported names every operator that the writer does not know, kNotFound an unknown strategy or
// choice.
Result<Draft> write_kernel(const Graph& graph, const task::Signature& signature,
                           task::Language language, std::string_view strategy,
                           const Tuning& tuning = {});

// The answer of a model that had written it: plan, then one fenced block.
std::string answer_text(const Draft& draft);

}  // namespace kw::writer
