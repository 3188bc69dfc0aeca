// Reads the runs, measures, prints.
#include "kernelwright/report/report.h"

#include <algorithm>

#include "base/text.h"
#include "kernelwright/cli/settings.h"
#include "os/file.h"
#include "report/read_run.h"
#include "report/report.h"
#include "task/problem_source.h"

namespace kw::front {
namespace {

std::filesystem::path canonical(const std::string& path) {
  std::error_code error;
  std::filesystem::path out = std::filesystem::weakly_canonical(path, error);
  return error ? std::filesystem::path(path) : out;
}

// The place of the baseline among the runs; it is added when it is not one of them.
std::size_t place_of_baseline(std::vector<std::string>& paths, const std::string& baseline) {
  if (baseline.empty()) return 0;
  auto found = std::find_if(paths.begin(), paths.end(), [&](const std::string& path) {
    return canonical(path) == canonical(baseline);
  });
  if (found != paths.end()) return static_cast<std::size_t>(found - paths.begin());
  paths.push_back(baseline);
  return paths.size() - 1;
}

Result<std::vector<std::string>> names_in(const std::string& dataset) {
  std::vector<std::string> out;
  if (dataset.empty()) return out;
  KW_TRY(std::vector<task::LoadedProblem> problems, task::load_each_problem(dataset, {}));
  for (const task::LoadedProblem& problem : problems) out.push_back(problem.name);
  return out;
}

Result<std::vector<double>> fast_p_of(const std::string& list) {
  constexpr std::size_t kMax = 20;
  std::vector<double> out;
  if (list.empty()) return std::vector<double>(report::kFastP.begin(), report::kFastP.end());
  for (const std::string& word : split(list, ',')) {
    auto value = parse_number(word);
    if (!value) return tl::unexpected(std::move(value).error().with_context("--fast-p"));
    KW_TRY_STATUS(check_range("--fast-p", *value, 0.001, 1000));
    out.push_back(*value);
  }
  if (out.size() > kMax)
    return fail(ErrorCode::kInvalidArgument, "--fast-p: {} are too many; at most {}", out.size(),
                kMax);
  return out;
}

}  // namespace

Result<int> run_report(const ReportCommand& command, const Services& services) {
  std::vector<std::string> paths = command.runs;
  std::size_t baseline = place_of_baseline(paths, command.baseline);
  if (paths.empty())
    return fail(ErrorCode::kInvalidArgument, "no RUN given; see kernelwright report --help");
  KW_TRY(std::vector<double> fast_p, fast_p_of(command.fast_p));
  KW_TRY(std::vector<std::string> asked, names_in(command.dataset));
  const bool texts = command.json || !command.html.empty();
  std::vector<report::Run> runs;
  for (const std::string& path : paths) {
    KW_TRY(report::Run run, report::read_run(path, texts));
    std::size_t added = report::add_problems_asked(run, asked);
    if (added > 0)
      run.notes.push_back(fmt::format("{} problems of {} have no attempt", added, command.dataset));
    else if (command.dataset.empty() && run.kind != "solve")
      run.notes.emplace_back(
          "the file does not say what was asked: n is the problems in it, or name all with "
          "--dataset");
    runs.push_back(std::move(run));
  }
  report::name_apart(runs);
  report::Report report = report::make_report(std::move(runs), baseline, {}, fast_p);
  if (!command.html.empty()) {
    KW_TRY_STATUS(os::write_file_atomic(command.html, report::to_html(report)));
    services.console.err(fmt::format("page      {}\n", command.html));
  }
  std::string text =
      command.json ? to_json(report).dump(-1, ' ', false, Json::error_handler_t::replace) + "\n"
                   : report::to_text(report);
  KW_TRY_STATUS(services.console.out(text));
  return 0;
}

}  // namespace kw::front
