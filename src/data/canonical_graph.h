// A graph's computation in one form, whatever operators it was written with.
#pragma once
#include <string>

#include "writer/graph/graph.h"

namespace kw::data {

// What the outputs depend on, a line a value, sizes as numbers. Equal for graphs that differ in
// names, in the order of nodes or of operands that commute, and in most ways of writing a
// computation: named operators are their formulas (softmax, gelu, norms), sums and products are
// flat, what is piecewise linear goes through relu, views and axes of one element are outside, and
// what is told by an output's type is no argument (canonical/terms.h). Numbers have nine digits.
// Equal text is not the same bits: sums may be rounded elsewhere.
std::string canonical_text(const writer::Graph& graph);

}  // namespace kw::data
