// Small statistics over samples. All take copies or spans and have no state.
#pragma once
#include <cstdint>
#include <span>
#include <vector>

namespace kw::gym {

double median(std::vector<double> values);                  // 0 for none
double quantile(std::vector<double> values, double share);  // linear between order statistics
double median_absolute_deviation(
    std::span<const double> values);  // 0 for none; x 1.4826: a normal's deviation

// P(X >= successes) of a binomial distribution: the one-sided test that something succeeds no more
// often than `probability`.
double binomial_upper_tail(std::int64_t successes, std::int64_t trials, double probability);

// Standard normal quantile (Acklam's rational approximation with one Halley step; error below
// 1e-12).
double normal_quantile(double probability);

struct Interval {
  double estimate = 0, low = 0, high = 0;
};

// Median of a symmetric distribution: the Hodges-Lehmann estimate and the interval that inverts
// Wilcoxon's signed-rank test, with two-sided error at most `alpha` (exact up to 50 samples, normal
// approximation above). With too few samples for alpha the ends are infinite. Hollander and Wolfe,
// Nonparametric Statistical Methods, 3.1 to 3.3.
Interval signed_rank_interval(std::span<const double> samples, double alpha);

// The factor by which autocorrelation makes the variance of a mean larger than that of independent
// samples: 1 + 2 x the sum of the first positive autocorrelations, each beyond two standard errors
// (Geyer 1992's initial sequence, on ranks so that outliers do not hide it). At least 1; 1 for
// fewer than 20 samples, which cannot show it.
double autocorrelation_factor(std::span<const double> samples);

// The same by the means of eight stretches of the samples, which show slow drift that neighbours do
// not: their variance over that of independent samples' means. 1 unless it is beyond what 95 % of
// independent samples show (chi-square, 7 degrees of freedom), and for fewer than 64 samples.
// On ranks, too.
double drift_factor(std::span<const double> samples);

}  // namespace kw::gym
