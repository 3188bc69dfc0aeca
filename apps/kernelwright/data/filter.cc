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
#include "kernelwright/judge_choice.h"
#include "kernelwright/progress.h"
#include "task/flags.h"

namespace kw::front {
namespace fs = std::filesystem;
namespace {

// A gym that is started when the first sample needs it.
class LazyJudge : public gym::Judge {
 public:
  LazyJudge(const Services& services, gym::GymOptions options)
      : services_(services), options_(std::move(options)) {}

  Result<task::Verdict> judge(gym::EvalRequest request, std::stop_token stop) override {
    KW_TRY(gym::Judge * gym, started());
    return gym->judge(std::move(request), std::move(stop));
  }
  Result<task::Signature> describe(const task::Problem& problem, task::Target target) override {
    KW_TRY(gym::Judge * gym, started());
    return gym->describe(problem, target);
  }

 private:
  Result<gym::Judge*> started() {
    std::lock_guard lock(mutex_);
    if (!gym_) {
      KW_TRY(gym_, services_.start_judge(options_));
    }
    return gym_.get();
  }

  const Services& services_;
  const gym::GymOptions options_;
  std::mutex mutex_;
  std::unique_ptr<gym::Judge> gym_;
};

constexpr std::size_t kNamedCells = 20;

std::string small_cells_text(const data::SamplingReport& sampling, int per_cell) {
  if (sampling.small_cells.empty()) return "";
  std::string out = fmt::format("  small     {} cells with fewer than {} that can be judged\n",
                                sampling.small_cells.size(), per_cell);
  std::size_t named = 0;
  for (const auto& [cell, judged] : sampling.small_cells) {
    if (named++ == kNamedCells) break;
    out += fmt::format("    {:>6}  {}\n", judged, printable(cell, 150));
  }
  if (sampling.small_cells.size() > kNamedCells)
    out += fmt::format("    and {} more (--json has all)\n",
                       sampling.small_cells.size() - kNamedCells);
  if (sampling.dropped_as_small > 0)
    out += fmt::format("  dropped   {} samples of small cells\n", sampling.dropped_as_small);
  return out;
}

std::string sampling_text(const data::SamplingReport& sampling, int per_cell) {
  std::string out = fmt::format(
      "sampling    {} judged of {} cells (operator x strategy x language)\n"
      "  failures  {}: error rate at most {:.3f} % (95 %, Clopper-Pearson)\n",
      sampling.judged, sampling.cells, sampling.failures,
      100 * data::clopper_pearson_upper(sampling.failures, sampling.judged));
  for (const std::string& cell : sampling.failing_cells)
    out += fmt::format("  fails     {}\n", printable(cell, 150));
  if (!sampling.failing_cells.empty())
    out += fmt::format(
        "  dropped   {} samples of failing cells that were not judged wrong "
        "themselves\n",
        sampling.dropped);
  out += small_cells_text(sampling, per_cell);
  if (sampling.dropped_with_problem > 0)
    out += fmt::format("  dropped   {} samples of problems that are broken\n",
                       sampling.dropped_with_problem);
  if (!sampling.failing_cells.empty() || sampling.dropped_as_small > 0)
    out += fmt::format(
        "  left      {} judged, all right: error rate at most {:.3f} % (after the "
        "choice of cells)\n",
        sampling.judged_of_kept, 100 * data::clopper_pearson_upper(0, sampling.judged_of_kept));
  return out;
}

// Each outcome with its causes below it.
std::string outcomes_text(const data::FilterReport& report) {
  std::string out;
  for (const auto& [outcome, count] : report.outcomes) {
    out += fmt::format("  {:<24} {:>8}\n", outcome, count);
    for (const auto& [cause, part] : report.causes) {
      if (cause.starts_with(outcome + "/"))
        out += fmt::format("    {:<22} {:>8}\n", printable(cause.substr(outcome.size() + 1), 60),
                           part);
    }
  }
  if (report.problem_faults > 0)
    out += fmt::format(
        "no fault    {} of these say nothing of the answer: quarantined, unsupported, noisy, "
        "bad_problem\n",
        report.problem_faults);
  return out;
}

Result<data::SmallCells> small_cells_of(const std::string& name) {
  if (name == "keep") return data::SmallCells::kKept;
  if (name == "drop") return data::SmallCells::kDropped;
  if (name == "fail") return data::SmallCells::kRefused;
  return fail(ErrorCode::kInvalidArgument, "--small-cells: expected keep, drop or fail, not \"{}\"",
              printable(name, 40));
}

std::string summary_of(const DataFilterCommand& command, const data::FilterReport& report) {
  std::string out = fmt::format("samples     {}\n", report.rows);
  out += outcomes_text(report);
  if (report.earlier > 0) out += fmt::format("earlier     {}\n", report.earlier);
  if (report.retries > 0) out += fmt::format("retries     {}\n", report.retries);
  if (report.failed > 0) out += fmt::format("failed      {} could not be judged\n", report.failed);
  if (report.sampling.cells > 0) out += sampling_text(report.sampling, command.per_cell);
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
  KW_TRY_STATUS(gym::check(out.eval, OptionNames::kFlags));
  KW_TRY_STATUS(check_ranges(command, OptionNames::kFlags));
  out.jobs = command.jobs;
  out.tries = command.tries;
  out.retry_seconds = command.retry_seconds;
  out.per_cell = command.per_cell;
  KW_TRY(out.small_cells, small_cells_of(command.small_cells));
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
  const Services here = with_judge(services, command.judge, *level);
  KW_TRY(fs::path log, session_log(command.log, command.out, command.resume));
  KW_TRY(data::OutputPair out, data::OutputPair::create(command.out, command.rejected,
                                                        existing(command.replace, command.resume)));
  LazyJudge judge(here, std::move(options));
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
  auto report = data::filter_dataset({command.in, log, out.out(), out.beside()}, settings, judge,
                                     events, services.stop);
  progress.clear();
  if (!report) return tl::unexpected(std::move(report).error());
  KW_TRY_STATUS(out.close());
  KW_TRY_STATUS(services.console.out(command.json ? to_json(*report).dump() + "\n"
                                                  : summary_of(command, *report)));
  return 0;
}

}  // namespace kw::front
