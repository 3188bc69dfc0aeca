// Groups: loops whose iterations read the same elements in runs of a constant length.
#pragma once
#include <map>
#include <string>
#include <vector>

#include "writer/loops/loops.h"

namespace kw::writer {

struct Groups {
  std::vector<Loop> loops;
  // Expressions of the variables that were split; empty where none was.
  std::map<std::string, IntExpr> places;
};

// Each loop whose variable is read as variable // by, where `by` divides its extent, is two:
// variable = by * (variable + "g") + (variable + "m").
Groups split_groups(const ScalarRef& value, const std::vector<Loop>& loops);

}  // namespace kw::writer
