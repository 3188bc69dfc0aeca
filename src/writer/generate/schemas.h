// The arguments of torch's operators, as their schemas name and default them.
#pragma once
#include <string_view>
#include <utility>
#include <vector>

#include "writer/graph/graph.h"

namespace kw::writer::generate {

// Names to the given values in order, then the schema's defaults. Aborts for an operator that is
// not in the table, or without an argument that has no default.
std::vector<std::pair<std::string, Attribute>> with_defaults(std::string_view op,
                                                             std::vector<Attribute> given);

}  // namespace kw::writer::generate
