// The numbers of one run. n is always all problems asked, also those without any attempt.
#pragma once
#include <array>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "report/bootstrap.h"
#include "report/run.h"

namespace kw::report {

struct Estimate {
  double value = 0;
  std::optional<Interval> interval;
};

// fast_p (Ouyang et al. 2025, "KernelBench"): the share of problems with a correct kernel whose
// speedup is over p.
struct FastP {
  double p = 0;
  Estimate median;  // by the speedup's median
  Estimate low;     // by the lower end of its interval; without an interval it is not over p
  std::optional<Estimate> of_correct;  // median, of the problems with a correct kernel alone
};

// win@p (FlashInfer-Bench): the share of workloads with a solution that is
// correct on it and over p times as fast as the reference.
struct WinAtP {
  double p = 0;
  Estimate value;
};

// What the last attempt of each problem gives, beside the best: what is left of a method that goes
// on from its own results where nobody picks the best.
struct LastAttempt {
  Estimate correctness;
  std::vector<std::pair<double, Estimate>> fast_p;  // by the median
};

// Attempts that were made from another one, against that one: a further stage, or both correct and
// the larger median, is an improvement.
struct Refinement {
  std::int64_t improved = 0, unchanged = 0, regressed = 0;
  std::int64_t pairs() const { return improved + unchanged + regressed; }
};

// Of the best speedups of problems that have one, between neighbours linearly.
struct Quartiles {
  double first = 0, median = 0, third = 0;
};

struct PassAtK {
  std::int64_t k = 0;
  Estimate value;
  std::int64_t short_problems = 0;  // with fewer than k attempts; the missing ones count as failed
};

// Of each problem's best speedup.
struct GeometricMean {
  std::optional<Estimate> correct;  // of problems with a timed correct kernel, `timed` in number
  Estimate with_failures;           // all problems; 1 where there is none: the reference is kept
  std::int64_t timed = 0;
};

// What the best of the first `attempt` attempts of every problem give, and what all these cost.
struct BestSoFar {
  std::int64_t attempt = 0, solved = 0, faster = 0;  // faster: speedup's median over 1
  double geometric_mean = 1;                         // failures as 1
  Spent spent;
};

using Counts = std::vector<std::pair<std::string, std::int64_t>>;  // largest first, then by name

struct Metrics {
  std::int64_t problems = 0, unattempted = 0, attempts = 0;
  std::int64_t fewest_attempts = 0, most_attempts = 0;  // of a problem
  Spent spent;  // failed tries and attempts that are not counted included
  std::array<std::int64_t, task::kProgresses>
      reached{};    // attempts that came to exactly this stage
  Counts outcomes;  // of attempts
  Counts failures;  // of attempts that are not correct, by failure_of()
  Counts given_up;  // problems that ended for another reason than their attempts, by that reason
  Estimate correctness;
  std::vector<FastP> fast_p;
  std::vector<PassAtK> pass_at_k;  // empty for a run whose attempts are not independent
  GeometricMean geometric_mean;
  std::optional<Quartiles> speedup_quartiles;  // none without a timed correct kernel
  std::optional<LastAttempt> last_attempt;     // of a run with attempts made from others
  std::optional<Refinement> refinement;        // the same
  std::vector<WinAtP> win_at_p;                // of FlashInfer-Bench's traces
  std::vector<BestSoFar> best_so_far;          // attempt 1 to most_attempts
};

inline constexpr std::array<double, 8> kFastP = {0.5, 0.8, 1, 1.2, 1.5, 2, 3, 5};

// 1 - C(n - c, k) / C(n, k), the chance that one of k samples of n, c of them correct, is correct
// (Chen et al. 2021, "Evaluating Large Language Models Trained on Code"). With n < k the missing
// samples are failures.
double pass_at_k(std::int64_t n, std::int64_t c, std::int64_t k);

// Whether the problem's best kernel is faster than p.
bool faster_than(const ProblemRecord& problem, double p);
bool surely_faster_than(const ProblemRecord& problem, double p);  // by the interval's lower end
// log of the best speedup; none without a timed correct kernel.
std::optional<double> log_speedup(const ProblemRecord& problem);

// fast_p: for these p, in this order.
Metrics measure(const Run& run, const BootstrapOptions& options,
                std::span<const double> fast_p = kFastP);

}  // namespace kw::report
