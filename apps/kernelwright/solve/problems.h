// The problems of a run: read from what solve was given, and compared with those of the run that it
// goes on with.
#pragma once
#include <string>
#include <vector>

#include "base/result.h"
#include "runlog/tree.h"
#include "search/solver.h"

namespace kw::front {

// A problem of a data set that could not be read: no part of the search.
struct Unread {
  std::string name, message;
};

struct Problems {
  std::vector<search::SearchProblem> read;
  std::vector<Unread> unread;  // with names that no other has
};

// source: one problem, or a data set; set: words of --set. The others of a data set go on without a
// broken one; where all are broken, the first is the error.
Result<Problems> read_problems(const std::string& source, const std::vector<std::string>& set);

// kInvalidArgument where the run began with others.
Status check_same(const std::vector<search::SearchProblem>& problems, const runlog::Run& run,
                  const std::string& source);

}  // namespace kw::front
