// Tests of whether two runs over the same problems differ.
#pragma once
#include <cstdint>
#include <vector>

namespace kw::report {

// Two-sided p-value of McNemar's exact test (the sign test): of the only_a + only_b problems that
// exactly one of two runs solved, each is a fair coin if the runs are equal.
double mcnemar_exact(std::int64_t only_a, std::int64_t only_b);

// Two-sided p-value for mean 0 of paired differences, by turning the sign of each at random (Fisher
// 1935). Differences of 0 say nothing and are left out; without any the p-value is 1.
double sign_flip_test(const std::vector<double>& differences, std::uint64_t seed, int draws);

// p-values that stay under 5 % together: Holm 1979, "A Simple Sequentially Rejective Multiple Test
// Procedure". In the order given.
std::vector<double> holm(const std::vector<double>& p_values);

}  // namespace kw::report
