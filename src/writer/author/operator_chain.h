// The operators of a graph in one line of a plan.
#pragma once
#include <string>

#include "writer/graph/graph.h"

namespace kw::writer {

// The operators in their order with the numbers and modes they are given, views left out:
// "mm > mul(0.5) > amax(dim=[1])".
std::string operator_chain(const Graph& graph);

}  // namespace kw::writer
