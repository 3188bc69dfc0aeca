// One line that says how far a search is, as long as there is room for.
#pragma once
#include <cstddef>
#include <optional>
#include <string>

#include "kernelwright/solve/counts.h"

namespace kw::front {

struct Progress {
  Counts counts;
  std::size_t problems = 0, ended = 0;
  std::size_t most_attempts = 0;
  std::optional<task::Speedup> best;  // the highest
  std::string best_of;                // its problem
  std::optional<double> seconds_left;
};

// columns: 4 at least. The interval of the best, tokens and time left stay to the last; from 40
// columns on they are whole.
std::string status_line(const Progress& progress, std::size_t columns);

}  // namespace kw::front
