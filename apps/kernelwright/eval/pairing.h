// Solutions are paired with the problems of a data set.
#pragma once
#include <cstddef>
#include <string>
#include <vector>

#include "base/result.h"
#include "task/candidate.h"
#include "task/problem.h"

namespace kw::front {

struct Pair {
  std::size_t problem, candidate;  // indices
};

struct Pairing {
  std::vector<Pair> pairs;  // by problem, so that one oracle serves all of a problem's candidates
  std::vector<std::string> without_problem;  // names of candidates that fit none
};

// By the definition that a solution names; else by KernelBench's level and problem number in its
// file's name; else by its own name. kInvalidArgument when two problems have the name or number of
// a candidate, kNotFound when no candidate fits any problem.
Result<Pairing> pair_up(const std::vector<task::Problem>& problems,
                        const std::vector<task::Candidate>& candidates);

}  // namespace kw::front
