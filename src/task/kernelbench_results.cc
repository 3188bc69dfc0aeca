// eval_results.json.
#include "task/kernelbench_results.h"

#include <algorithm>
#include <charconv>
#include <cmath>
#include <numeric>

#include "base/text.h"

namespace kw::task {
namespace {

Json statistics(const std::vector<double>& samples, const std::string& hardware,
                const std::string& device) {
  auto count = static_cast<double>(samples.size());
  double mean = std::accumulate(samples.begin(), samples.end(), 0.0) / count;
  double squares = 0;
  for (double sample : samples) squares += (sample - mean) * (sample - mean);
  auto [low, high] = std::minmax_element(samples.begin(), samples.end());
  return {{"mean", mean},    {"std", std::sqrt(squares / count)}, {"min", *low},
          {"max", *high},    {"num_trials", samples.size()},      {"hardware", hardware},
          {"device", device}};
}

Json to_json(const KernelBenchResult& result) {
  return {{"sample_id", result.sample_id},     {"compiled", result.compiled},
          {"correctness", result.correctness}, {"metadata", result.metadata},
          {"runtime", result.runtime_ms},      {"runtime_stats", result.runtime_stats}};
}

Result<Json> object_or_empty(ObjectReader& reader, std::string_view key) {
  const Json* value = reader.find(key);
  if (value == nullptr) return Json::object();
  if (!value->is_object())
    return fail(ErrorCode::kInvalidArgument, "{}: expected an object", reader.path(key));
  return *value;
}

Result<KernelBenchResult> result_from_json(const Json& value, const std::string& where) {
  KW_TRY(ObjectReader reader, ObjectReader::make(value, where));
  KernelBenchResult out;
  KW_TRY(out.sample_id, reader.integer("sample_id"));
  KW_TRY(out.compiled, reader.boolean("compiled"));
  KW_TRY(out.correctness, reader.boolean("correctness"));
  KW_TRY(out.metadata, object_or_empty(reader, "metadata"));
  KW_TRY(out.runtime_ms, reader.number_or("runtime", -1));
  KW_TRY(out.runtime_stats, object_or_empty(reader, "runtime_stats"));
  KW_TRY_STATUS(reader.no_other_keys());
  return out;
}

}  // namespace

KernelBenchResult kernelbench_result(const Verdict& verdict, std::int64_t sample_id,
                                     const std::string& hardware) {
  KernelBenchResult out;
  out.sample_id = sample_id;
  out.compiled = verdict.kernelbench.compiled;
  out.correctness = verdict.kernelbench.correctness && verdict.outcome != Outcome::kViolation;
  out.metadata = {{"hardware", hardware}, {"device", to_string(verdict.target)}};
  Json ours = {{"outcome", to_string(verdict.outcome)},
               {"problem_hash", verdict.problem_hash},
               {"candidate_hash", verdict.candidate_hash}};
  if (!verdict.violation.empty()) ours["violation"] = verdict.violation;
  if (verdict.speedup) ours["speedup"] = verdict.speedup->median;
  out.metadata["kernelwright"] = std::move(ours);
  if (!out.correctness) return out;
  out.runtime_ms = verdict.kernelbench.runtime_ms;
  if (verdict.times && !verdict.times->candidate_samples_ms.empty()) {
    out.runtime_stats = statistics(verdict.times->candidate_samples_ms, hardware,
                                   std::string(to_string(verdict.target)));
    if (out.runtime_ms < 0) out.runtime_ms = out.runtime_stats["mean"].get<double>();
  }
  return out;
}

std::string kernelbench_results_text(const KernelBenchResults& results) {
  Json out = Json::object();
  for (const auto& [problem_id, samples] : results) {
    std::vector<KernelBenchResult> sorted = samples;
    std::stable_sort(sorted.begin(), sorted.end(),
                     [](const auto& a, const auto& b) { return a.sample_id < b.sample_id; });
    Json list = Json::array();
    for (const KernelBenchResult& sample : sorted) list.push_back(to_json(sample));
    out[std::to_string(problem_id)] = std::move(list);
  }
  return out.dump(4, ' ', false, Json::error_handler_t::replace) + "\n";
}

Result<KernelBenchResults> kernelbench_results_from_json(const Json& value) {
  if (!value.is_object())
    return fail(ErrorCode::kInvalidArgument,
                "expected an object from problem ids to lists of samples");
  KernelBenchResults out;
  for (const auto& [key, samples] : value.items()) {
    std::int64_t id = 0;
    auto parsed = std::from_chars(key.data(), key.data() + key.size(), id);
    if (parsed.ec != std::errc() || parsed.ptr != key.data() + key.size()) {
      return fail(ErrorCode::kInvalidArgument, "\"{}\" is not a problem id", printable(key, 60));
    }
    if (!samples.is_array())
      return fail(ErrorCode::kInvalidArgument, "{}: expected a list of samples", key);
    std::vector<KernelBenchResult>& list = out[id];
    for (const Json& sample : samples) {
      KW_TRY(KernelBenchResult result,
             result_from_json(sample, fmt::format("{}[{}]", key, list.size())));
      list.push_back(std::move(result));
    }
  }
  return out;
}

}  // namespace kw::task
