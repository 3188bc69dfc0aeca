// The labels of an operator graph.
#pragma once
#include <string>

#include "data/sample.h"
#include "writer/graph/graph.h"

namespace kw::data {

// SHA-256 of canonical_text(): equal for problems that compute the same on the same sizes, with
// other names and in many other ways of writing. Lines and conditions do not matter.
std::string graph_digest(const writer::Graph& graph);

// Sets operators, edges (none of a chain), graph and depth, of what the outputs depend on; leaves
// the others.
void set_graph_labels(const writer::Graph& graph, Labels& labels);

}  // namespace kw::data
