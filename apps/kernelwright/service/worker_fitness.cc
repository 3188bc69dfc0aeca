#include "kernelwright/service/worker_fitness.h"

#include <system_error>
#include <utility>

#include "task/candidate_source.h"
#include "task/portable_problem.h"

namespace kw::front {
namespace fs = std::filesystem;
namespace {

constexpr const char* kDefinition = R"({
  "name": "kernelwright_probe",
  "op_type": "elementwise",
  "description": "Twice the input.",
  "axes": {"N": {"type": "const", "value": 64}},
  "inputs": {"x": {"shape": ["N"], "dtype": "float32"}},
  "outputs": {"y": {"shape": ["N"], "dtype": "float32"}},
  "reference": "def run(x):\n    return 2 * x\n"
})";
constexpr const char* kWorkloads = R"([
  {"uuid": "11111111-0000-4000-8000-00000000feed", "axes": {}, "inputs": {"x": {"type": "random"}}}
])";
constexpr const char* kRight =
    "extern \"C\" void run(const float* x, float* y) {\n"
    "  for (int i = 0; i < N; ++i) y[i] = 2 * x[i];\n"
    "}\n";
constexpr const char* kWrong =
    "extern \"C\" void run(const float* x, float* y) {\n"
    "  for (int i = 0; i < N; ++i) y[i] = 2.001f * x[i];\n"
    "}\n";

Result<gym::EvalRequest> probe_request(const char* source) {
  task::PortableProblem problem;
  problem.name = "kernelwright_probe";
  problem.is_module = false;
  problem.source = kDefinition;
  KW_TRY(problem.workloads, parse_json(kWorkloads));
  gym::EvalRequest out;
  KW_TRY(out.problem, task::problem_of(problem, "the probe"));
  KW_TRY(out.candidate, task::candidate_from_source("probe.cpp", source));
  out.options.timing = false;
  out.options.store_evidence = false;
  return out;
}

Status expect(gym::Judge& judge, const char* source, task::Outcome wanted,
              const std::stop_token& stop) {
  KW_TRY(gym::EvalRequest request, probe_request(source));
  KW_TRY(const task::Verdict verdict, judge.judge(std::move(request), stop));
  if (verdict.outcome == wanted) return {};
  return fail(ErrorCode::kInternal, "the probe's verdict is {}, and should be {}",
              to_string(verdict.outcome), to_string(wanted));
}

Status look_at_gpus(const Services& services) {
  for (const sandbox::HealthCheck& each : services.inspect_gpus())
    if (each.state == sandbox::HealthCheck::State::kMissing)
      return fail(ErrorCode::kUnavailable, "{}: {}", each.name, each.detail);
  return {};
}

}  // namespace

Status look_at_disk(const fs::path& folder, std::uintmax_t least_bytes) {
  fs::path there = fs::absolute(folder);
  while (!fs::exists(there) && there != there.parent_path()) there = there.parent_path();
  std::error_code error;
  const fs::space_info space = fs::space(there, error);
  if (error) return fail_errno(error.value(), "cannot look at " + there.string());
  if (space.available >= least_bytes) return {};
  return fail(ErrorCode::kResourceExhausted, "{}: {} MiB are free, {} are needed", there.string(),
              space.available >> 20U, least_bytes >> 20U);
}

Status probe_judge(gym::Judge& judge, const std::stop_token& stop) {
  KW_TRY_STATUS(expect(judge, kRight, task::Outcome::kPassed, stop));
  return expect(judge, kWrong, task::Outcome::kWrongValue, stop);
}

service::FitnessOptions fitness_options(gym::Judge& judge, const service::Abilities& can,
                                        const Services& services) {
  service::FitnessOptions out;
  const bool has_gpus = can.cover({.target = "cuda"});
  out.look = [&services, has_gpus]() -> Status {
    KW_TRY_STATUS(look_at_disk(services.cache_folder));
    return has_gpus ? look_at_gpus(services) : Status();
  };
  if (can.cover({.target = "cpu", .language = "cpp"}))
    out.probe = [&judge](const std::stop_token& stop) { return probe_judge(judge, stop); };
  return out;
}

}  // namespace kw::front
