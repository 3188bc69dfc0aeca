// The author's language triton.
#pragma once
#include <string_view>
#include <vector>

#include "writer/author/author.h"

namespace kw::writer {

std::vector<std::string_view> triton_strategy_names();
std::vector<Choice> triton_choices(std::string_view strategy);
Result<Draft> write_triton(const Graph& graph, const task::Signature& signature,
                           std::string_view strategy, const Tuning& tuning);

}  // namespace kw::writer
