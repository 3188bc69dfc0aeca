// The author's language triton.
#pragma once
#include <string_view>
#include <vector>

#include "writer/author/author.h"

namespace kw::writer {

std::vector<std::string_view> triton_strategy_names();
Result<Draft> write_triton(const Graph& graph, const task::Signature& signature,
                           std::string_view strategy);

}  // namespace kw::writer
