// What a run of the filter came to.
#pragma once
#include <cstdint>
#include <map>
#include <set>
#include <string>

#include "base/json.h"

namespace kw::data {

// With FilterSettings::per_cell. `judged` and what follows leave out what says nothing of the
// answer.
struct SamplingReport {
  std::uint64_t cells = 0;
  std::uint64_t judged = 0, failures = 0;
  std::set<std::string> failing_cells;
  std::map<std::string, std::uint64_t> small_cells;  // with how many were judged of each
  // Not judged wrong themselves: in a failing cell, in a small one that is dropped, of a problem
  // that another sample found broken.
  std::uint64_t dropped = 0, dropped_as_small = 0, dropped_with_problem = 0;
  std::uint64_t judged_of_kept = 0;  // all right
};

struct FilterReport {
  std::uint64_t rows = 0, kept = 0;
  std::uint64_t not_judged = 0;  // of kept: no problem or no answer, or not chosen
  std::uint64_t earlier = 0;     // judged by an earlier session
  std::uint64_t failed = 0;      // could not be judged
  std::uint64_t retries = 0;
  std::uint64_t problem_faults = 0;  // of what was judged: nothing is known of the answer
  std::map<std::string, std::uint64_t> outcomes;  // of what was judged
  std::map<std::string, std::uint64_t> causes;    // "no_code/truncated", "violation/CLASS"
  SamplingReport sampling;                        // cells is 0 without
};
Json to_json(const FilterReport& report);

}  // namespace kw::data
