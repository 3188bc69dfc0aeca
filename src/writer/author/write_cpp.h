// The author's language cpp.
#pragma once
#include <string_view>
#include <vector>

#include "writer/author/author.h"

namespace kw::writer {

std::vector<std::string_view> cpp_strategy_names();
std::vector<Choice> cpp_choices(std::string_view strategy);

// Sizes go by their names in problem.h, so that the file serves others too. Where the strategy
// makes another kernel of a size that is known (a window that is unrolled, a group that divides),
// that size is a number in the file, and a static_assert says so: a constant axis of a definition,
// of a module a size of its parameters.
Result<Draft> write_cpp(const Graph& graph, const task::Signature& signature,
                        std::string_view strategy, const Tuning& tuning);

}  // namespace kw::writer
