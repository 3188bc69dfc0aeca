// A graph's computation in one form, whatever operators it was written with.
#pragma once
#include <string>

#include "writer/graph/graph.h"

namespace kw::data {

// What the outputs depend on, a line a value, sizes as numbers. Equal for graphs that differ in
// names, in the order of nodes or of operands that commute, and in the writing of some operators:
// `1 - x` is `-x + 1`, `x / 4` is `x * 0.25`, a mean is a sum and a factor, a bias of a convolution
// or product is added behind it, `clamp(min=0)` is relu, `x * sigmoid(x)` is silu, max(dim) is
// amax, keepdim and unsqueeze are views, and what is told by an output's type is no argument.
// Numbers have 12 digits. Equal text is not the same bits: sums may be rounded elsewhere.
std::string canonical_text(const writer::Graph& graph);

}  // namespace kw::data
