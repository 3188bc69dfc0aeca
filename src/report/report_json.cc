// A report as one JSON object, schema 1.
#include "report/report.h"

namespace kw::report {
namespace {

constexpr int kSchema = 1;

Json to_json(const Estimate& estimate) {
  Json out = {
      {"value", estimate.value}, {"low", nullptr}, {"high", nullptr}, {"interval", nullptr}};
  if (estimate.interval) {
    out["low"] = estimate.interval->low;
    out["high"] = estimate.interval->high;
    out["interval"] = to_string(estimate.interval->method);
  }
  return out;
}

template <typename T>
Json or_null(const std::optional<T>& value) {
  return value ? Json(*value) : Json(nullptr);
}

Json text_or_null(const std::string& text) {
  return text.empty() ? Json(nullptr) : Json(text);
}

Json to_json(const Attempt& attempt) {
  Json speedup;
  if (attempt.speedup) {
    speedup = {{"median", attempt.speedup->median},
               {"low", or_null(attempt.speedup->low)},
               {"high", or_null(attempt.speedup->high)}};
  }
  return {{"attempt", attempt.id},
          {"proposer", text_or_null(attempt.proposer)},
          {"language", text_or_null(attempt.language)},
          {"speedup", speedup},
          {"code", text_or_null(attempt.code.text)},
          {"code_left_out", attempt.code.left_out}};
}

Json reasons_to_json(const Counts& counts) {
  Json out = Json::array();
  for (const auto& [reason, count] : counts) out.push_back({{"reason", reason}, {"count", count}});
  return out;
}

Json to_json(const ProblemRecord& problem) {
  std::int64_t correct = 0, compiled = 0;
  for (const Attempt& attempt : problem.attempts) {
    if (attempt.correct()) ++correct;
    if (attempt.progress >= task::Progress::kCompiled) ++compiled;
  }
  const Attempt* best = best_attempt(problem);
  return {{"problem", problem.name},
          {"hash", text_or_null(problem.hash)},
          {"attempts", problem.attempts.size()},
          {"compiled", compiled},
          {"correct", correct},
          {"best", best == nullptr ? Json(nullptr) : to_json(*best)},
          {"failure", text_or_null(problem.failure)}};
}

Json fast_p_to_json(const Metrics& metrics) {
  Json out = Json::array();
  for (const FastP& row : metrics.fast_p)
    out.push_back({{"p", row.p},
                   {"median", to_json(row.median)},
                   {"low_end", to_json(row.low)},
                   {"of_correct", row.of_correct ? to_json(*row.of_correct) : Json(nullptr)}});
  return out;
}

Json pass_at_k_to_json(const MeasuredRun& measured) {
  if (!measured.run.independent) return nullptr;
  Json out = Json::array();
  for (const PassAtK& row : measured.metrics.pass_at_k) {
    Json one = {{"k", row.k}};
    one.update(to_json(row.value));
    one["short_problems"] = row.short_problems;
    out.push_back(std::move(one));
  }
  return out;
}

Json at_p(double p, const Estimate& value) {
  Json out = {{"p", p}};
  out.update(to_json(value));
  return out;
}

Json last_attempt_to_json(const Metrics& metrics) {
  if (!metrics.last_attempt) return nullptr;
  Json fast_p = Json::array();
  for (const auto& [p, value] : metrics.last_attempt->fast_p) fast_p.push_back(at_p(p, value));
  return {{"correctness", to_json(metrics.last_attempt->correctness)},
          {"fast_p", std::move(fast_p)}};
}

Json refinement_to_json(const Metrics& metrics) {
  if (!metrics.refinement) return nullptr;
  const Refinement& r = *metrics.refinement;
  return {{"improved", r.improved}, {"unchanged", r.unchanged}, {"regressed", r.regressed}};
}

Json quartiles_to_json(const Metrics& metrics) {
  if (!metrics.speedup_quartiles) return nullptr;
  const Quartiles& q = *metrics.speedup_quartiles;
  return {{"first", q.first}, {"median", q.median}, {"third", q.third}};
}

Json win_at_p_to_json(const Metrics& metrics) {
  if (metrics.win_at_p.empty()) return nullptr;
  Json out = Json::array();
  for (const WinAtP& row : metrics.win_at_p) out.push_back(at_p(row.p, row.value));
  return out;
}

Json best_so_far_to_json(const Metrics& metrics) {
  Json out = Json::array();
  for (const BestSoFar& row : metrics.best_so_far) {
    out.push_back({{"attempt", row.attempt},
                   {"solved", row.solved},
                   {"faster", row.faster},
                   {"geometric_mean", row.geometric_mean},
                   {"tokens", row.spent.tokens()},
                   {"cost_usd", row.spent.cost_usd},
                   {"attempt_seconds", row.spent.seconds}});
  }
  return out;
}

Json metrics_to_json(const MeasuredRun& measured) {
  const Metrics& m = measured.metrics;
  Json outcomes = Json::object(), reached = Json::object();
  for (const auto& [outcome, count] : m.outcomes) outcomes[outcome] = count;
  for (std::size_t i = 0; i < m.reached.size(); ++i)
    reached[std::string(to_string(static_cast<task::Progress>(i)))] = m.reached.at(i);
  const auto& of_correct = m.geometric_mean.correct;
  return {
      {"problems", m.problems},
      {"unattempted", m.unattempted},
      {"attempts",
       {{"total", m.attempts}, {"fewest", m.fewest_attempts}, {"most", m.most_attempts}}},
      {"tokens", {{"prompt", m.spent.prompt_tokens}, {"completion", m.spent.completion_tokens}}},
      {"cost_usd", m.spent.cost_usd},
      {"attempt_seconds", m.spent.seconds},
      {"correctness", to_json(m.correctness)},
      {"fast_p", fast_p_to_json(m)},
      {"pass_at_k", pass_at_k_to_json(measured)},
      {"geometric_mean",
       {{"correct", of_correct ? to_json(*of_correct) : Json(nullptr)},
        {"timed", m.geometric_mean.timed},
        {"with_failures", to_json(m.geometric_mean.with_failures)}}},
      {"speedup_quartiles", quartiles_to_json(m)},
      {"last_attempt", last_attempt_to_json(m)},
      {"refinement", refinement_to_json(m)},
      {"win_at_p", win_at_p_to_json(m)},
      {"outcomes", std::move(outcomes)},
      {"failures", reasons_to_json(m.failures)},
      {"given_up", reasons_to_json(m.given_up)},
      {"reached", std::move(reached)},
      {"best_so_far", best_so_far_to_json(m)}};
}

Json to_json(const MeasuredRun& measured) {
  const Run& run = measured.run;
  Json problems = Json::array();
  for (const ProblemRecord& problem : run.problems) problems.push_back(to_json(problem));
  return {{"name", run.name},
          {"path", run.path},
          {"kind", run.kind},
          {"finished", run.finished},
          {"independent", run.independent},
          {"hardware", text_or_null(run.hardware)},
          {"target", text_or_null(run.target)},
          {"baseline", text_or_null(run.baseline)},
          {"notes", run.notes},
          {"metrics", metrics_to_json(measured)},
          {"problems", std::move(problems)}};
}

Json to_json(const MeasureComparison& row, const std::string& run, const std::string& baseline) {
  Json winner;
  if (row.winner != Winner::kNone) winner = row.winner == Winner::kRun ? run : baseline;
  bool ratio = row.measure == Measure::kGeometricMean;
  return {{"measure", to_string(row.measure)},
          {"run", row.run},
          {"baseline", row.baseline},
          {ratio ? "ratio" : "difference", to_json(row.difference)},
          {"only_run", ratio ? Json(nullptr) : Json(row.only_run)},
          {"only_baseline", ratio ? Json(nullptr) : Json(row.only_baseline)},
          {"test", ratio ? "sign_flip" : "mcnemar_exact"},
          {"p_value", row.p_value},
          {"p_holm", row.p_holm},
          {"winner", std::move(winner)}};
}

Json to_json(const Comparison& comparison, const Report& report) {
  const std::string& run = report.runs[comparison.run].run.name;
  const std::string& baseline = report.runs[comparison.baseline].run.name;
  Json measures = Json::array();
  for (const MeasureComparison& row : comparison.measures)
    measures.push_back(to_json(row, run, baseline));
  return {{"run", run},
          {"baseline", baseline},
          {"problems", comparison.problems},
          {"only_in_run", comparison.only_in_run},
          {"only_in_baseline", comparison.only_in_baseline},
          {"changed", comparison.changed},
          {"faster", comparison.faster},
          {"slower", comparison.slower},
          {"within_noise", comparison.within_noise},
          {"measures", std::move(measures)},
          {"warnings", comparison.warnings}};
}

}  // namespace

Json to_json(const Report& report) {
  Json runs = Json::array(), comparisons = Json::array();
  for (const MeasuredRun& run : report.runs) runs.push_back(to_json(run));
  for (const Comparison& comparison : report.comparisons)
    comparisons.push_back(to_json(comparison, report));
  return {{"schema", kSchema},
          {"confidence", report.options.confidence},
          {"resamples", report.options.resamples},
          {"seed", report.options.seed},
          {"runs", std::move(runs)},
          {"comparisons", std::move(comparisons)}};
}

}  // namespace kw::report
