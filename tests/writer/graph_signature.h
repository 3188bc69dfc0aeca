// The interface of a graph's kernel as problem.h has it, made from the graph alone.
#pragma once
#include <set>
#include <string>

#include "task/signature.h"
#include "writer/graph/graph.h"

namespace kw::writer {

// Sizes of these names are trailing arguments of run(), the others constants of problem.h. Shapes
// are those of `sizes`. kInvalidArgument for a shape that cannot be evaluated.
Result<task::Signature> signature_of(const Graph& graph, const std::set<std::string>& variable,
                                     const std::map<std::string, std::int64_t>& sizes);

}  // namespace kw::writer
