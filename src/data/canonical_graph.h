// A canonical text of a graph's computation, the same for most ways of writing it.
#pragma once
#include <string>

#include "writer/graph/graph.h"

namespace kw::data {

// Lists the values that the outputs depend on, one a line, with sizes as numbers. The text is equal
// for graphs that differ in names, in the order of nodes or of operands that commute, and in most
// ways of writing a computation. Named operators are their formulas (softmax, gelu, norms), sums
// and products are flat, and piecewise linear functions go through relu. Views and axes of one
// element are outside, and arguments that the output's type implies are left out
// (canonical/terms.h). Numbers have nine digits. Graphs with equal text may round their sums
// differently.
std::string canonical_text(const writer::Graph& graph);

}  // namespace kw::data
