#include "data/filter_report.h"

#include "data/binomial.h"

namespace kw::data {
namespace {

Json to_json(const SamplingReport& sampling) {
  return {{"cells", sampling.cells},
          {"judged", sampling.judged},
          {"failures", sampling.failures},
          {"error_rate_upper", clopper_pearson_upper(sampling.failures, sampling.judged)},
          {"failing_cells", sampling.failing_cells},
          {"small_cells", sampling.small_cells},
          {"dropped", sampling.dropped},
          {"dropped_as_small", sampling.dropped_as_small},
          {"dropped_with_problem", sampling.dropped_with_problem},
          {"judged_of_kept", sampling.judged_of_kept},
          {"error_rate_upper_of_kept", clopper_pearson_upper(0, sampling.judged_of_kept)}};
}

}  // namespace

Json to_json(const FilterReport& report) {
  Json out = {{"rows", report.rows},
              {"kept", report.kept},
              {"not_judged", report.not_judged},
              {"earlier", report.earlier},
              {"failed", report.failed},
              {"retries", report.retries},
              {"outcomes", report.outcomes},
              {"causes", report.causes},
              {"problem_faults", report.problem_faults}};
  if (report.sampling.cells > 0) out["sampling"] = to_json(report.sampling);
  return out;
}

}  // namespace kw::data
