// What a data set knows of an operator graph.
#pragma once
#include <string>

#include "data/sample.h"
#include "writer/graph/graph.h"

namespace kw::data {

// SHA-256 of operators, arguments, element types and sizes as numbers, of what the outputs depend
// on: equal for problems that compute the same on the same sizes, however they are written. Names,
// lines, conditions and the order of nodes do not matter.
std::string graph_digest(const writer::Graph& graph);

// Sets operators, edges and graph; leaves the others.
void set_graph_labels(const writer::Graph& graph, Labels& labels);

}  // namespace kw::data
