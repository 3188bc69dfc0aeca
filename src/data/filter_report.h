// The counts of a run of the filter.
#pragma once
#include <cstdint>
#include <map>
#include <set>
#include <string>

#include "base/json.h"

namespace kw::data {

// The counts with FilterSettings::per_cell. `judged` and the fields behind it leave out samples
// whose problem was at fault.
struct SamplingReport {
  std::uint64_t cells = 0;
  std::uint64_t judged = 0, failures = 0;
  std::set<std::string> failing_cells;
  std::map<std::string, std::uint64_t> small_cells;  // with how many were judged of each
  // Samples that are dropped without a failure of their own: they are in a failing cell, in a small
  // one that is dropped, or of a problem that another sample found broken.
  std::uint64_t dropped = 0, dropped_as_small = 0, dropped_with_problem = 0;
  std::uint64_t judged_of_kept = 0;  // all right
};

struct FilterReport {
  std::uint64_t rows = 0, kept = 0;
  std::uint64_t not_judged = 0;  // kept samples without problem or answer, or not chosen
  std::uint64_t earlier = 0;     // judged by an earlier session
  std::uint64_t failed = 0;      // could not be judged
  std::uint64_t retries = 0;
  std::uint64_t problem_faults = 0;               // judged samples whose problem was at fault
  std::map<std::string, std::uint64_t> outcomes;  // judged samples by outcome
  std::map<std::string, std::uint64_t> causes;    // "no_code/truncated", "violation/CLASS"
  SamplingReport sampling;                        // cells is 0 without
};
Json to_json(const FilterReport& report);

}  // namespace kw::data
