// Quantiles of sorted values, linear between neighbours (definition 7 of Hyndman and Fan 1996).
#pragma once
#include <cstddef>
#include <vector>

namespace kw::report {

// sorted: ascending and not empty; p: from 0 to 1.
inline double quantile(const std::vector<double>& sorted, double p) {
  const double at = p * static_cast<double>(sorted.size() - 1);
  const auto below = static_cast<std::size_t>(at);
  if (below + 1 >= sorted.size()) return sorted.back();
  return sorted[below] + (at - static_cast<double>(below)) * (sorted[below + 1] - sorted[below]);
}

}  // namespace kw::report
