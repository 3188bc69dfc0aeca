#include "kernelwright/data/filter.h"

#include <memory>
#include <optional>
#include <utility>

#include "base/text.h"
#include "data/binomial.h"
#include "data/filter.h"
#include "kernelwright/cli/settings.h"
#include "kernelwright/data/session.h"
#include "kernelwright/error_text.h"
#include "kernelwright/judge_evaluator.h"
#include "kernelwright/progress.h"
#include "task/flags.h"

namespace kw::front {
namespace fs = std::filesystem;
namespace {

// A gym that is started when the first sample needs it.
class LazyEvaluator : public search::Evaluator {
 public:
  LazyEvaluator(const Services& services, gym::GymOptions options)
      : services_(services), options_(std::move(options)) {}

  Result<task::Verdict> judge(gym::EvalRequest request, std::stop_token stop) override {
    KW_TRY(search::Evaluator * gym, started());
    return gym->judge(std::move(request), std::move(stop));
  }
  Result<task::Signature> describe(const task::Problem& problem,
                                   const std::string& target) override {
    KW_TRY(search::Evaluator * gym, started());
    return gym->describe(problem, target);
  }

 private:
  Result<search::Evaluator*> started() {
    std::lock_guard lock(mutex_);
    if (!gym_) {
      KW_TRY(auto judge, services_.start_judge(options_));
      gym_.emplace(std::move(judge));
    }
    return &*gym_;
  }

  const Services& services_;
  const gym::GymOptions options_;
  std::mutex mutex_;
  std::optional<JudgeEvaluator> gym_;
};

std::string sampling_text(const data::FilterReport& report, int per_cell) {
  std::string out = fmt::format(
      "sampling    {} judged of {} cells (operator x strategy x language), {} cells with fewer "
      "than "
      "{}\n"
      "  failures  {}: error rate at most {:.3f} % (95 %, Clopper-Pearson)\n",
      report.sampled, report.cells, report.small_cells, per_cell, report.sampled_failures,
      100 * data::clopper_pearson_upper(report.sampled_failures, report.sampled));
  for (const std::string& cell : report.failing_cells)
    out += fmt::format("  fails     {}\n", printable(cell, 150));
  if (!report.failing_cells.empty())
    out += fmt::format(
        "  dropped   {} samples of failing cells that were not judged wrong themselves\n"
        "  left      {} judged, all right: error rate at most {:.3f} % (after the choice of "
        "cells)\n",
        report.dropped, report.sampled_left,
        100 * data::clopper_pearson_upper(0, report.sampled_left));
  return out;
}

std::string summary_of(const DataFilterCommand& command, const data::FilterReport& report) {
  std::string out = fmt::format("samples     {}\n", report.rows);
  for (const auto& [outcome, count] : report.outcomes)
    out += fmt::format("  {:<16} {:>8}\n", outcome, count);
  if (report.earlier > 0) out += fmt::format("earlier     {}\n", report.earlier);
  if (report.retries > 0) out += fmt::format("retries     {}\n", report.retries);
  if (report.failed > 0) out += fmt::format("failed      {} could not be judged\n", report.failed);
  if (report.cells > 0) out += sampling_text(report, command.per_cell);
  out += fmt::format("kept        {}", report.kept);
  if (report.not_judged > 0) out += fmt::format(", {} of them not judged", report.not_judged);
  return out + fmt::format("\nwritten     {}\n", command.out);
}

Result<data::FilterSettings> settings_of(const DataFilterCommand& command,
                                         const Services& services) {
  data::FilterSettings out;
  out.eval = command.eval;
  out.eval.timing = command.timing;
  out.eval.store_evidence = !command.no_evidence;
  auto memory = parse_bytes(command.memory);
  if (!memory) return tl::unexpected(std::move(memory).error().with_context("--memory"));
  out.eval.memory_bytes = *memory;
  KW_TRY_STATUS(check_options(out.eval));
  KW_TRY_STATUS(check_range("--jobs", command.jobs, 1, 1024));
  KW_TRY_STATUS(check_range("--tries", command.tries, 1, 1000));
  KW_TRY_STATUS(check_range("--retry-seconds", command.retry_seconds, 0, 3600));
  KW_TRY_STATUS(check_range("--per-cell", command.per_cell, 0, 1e6));
  out.jobs = command.jobs;
  out.tries = command.tries;
  out.retry_seconds = command.retry_seconds;
  out.per_cell = command.per_cell;
  KW_TRY(out.seed, parse_seed(command.seed));
  out.skip_failed = command.skip_failed;
  out.asking.target = command.eval.target;
  out.asking.threads = command.eval.threads;
  out.asking.build_flags = services.build_flags;
  out.asking.optional_flags = task::allowed_flags();
  out.asking.hardware = services.cpu_card(command.eval.threads);
  return out;
}

}  // namespace

Result<int> run_data_filter(const DataFilterCommand& command, const Services& services) {
  KW_TRY(data::FilterSettings settings, settings_of(command, services));
  gym::GymOptions options;
  options.jobs = command.jobs;
  auto level = parse_level(command.isolation);
  if (!level) return tl::unexpected(std::move(level).error().with_context("--isolation-at-least"));
  options.isolation_at_least = *level;
  KW_TRY(fs::path log, session_log(command.log, command.out, command.resume));
  KW_TRY(data::OutputFile out, data::OutputFile::create(command.out, command.replace));
  KW_TRY(auto rejected, optional_output(command.rejected, command.replace));
  LazyEvaluator evaluator(services, std::move(options));
  ProgressView progress(services.console, services.now);
  data::FilterEvents events;
  events.begin = [&](std::uint64_t to_judge, std::uint64_t earlier, std::uint64_t passed) {
    progress.begin(to_judge + earlier, earlier, passed);
  };
  events.judged = [&](bool passed) { progress.counted(passed); };
  events.failed = [&](const std::string& id, const Error& error, bool again) {
    if (!again) progress.failed();
    progress.clear();
    services.console.err(fmt::format("{}: {}{}\n", id.substr(0, 16), one_line(error.message()),
                                     again ? "; another try follows" : ""));
  };
  auto report = data::filter_dataset(command.in, log, out, rejected ? &*rejected : nullptr,
                                     settings, evaluator, events, services.stop);
  progress.clear();
  if (!report) return tl::unexpected(std::move(report).error());
  if (rejected) KW_TRY_STATUS(rejected->close());
  KW_TRY_STATUS(out.close());
  KW_TRY_STATUS(services.console.out(command.json ? to_json(*report).dump() + "\n"
                                                  : summary_of(command, *report)));
  return 0;
}

}  // namespace kw::front
