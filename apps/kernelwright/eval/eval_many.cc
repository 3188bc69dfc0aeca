// A data set: every result goes to files as soon as it is there; a summary at the end.
#include <algorithm>
#include <iterator>
#include <map>
#include <set>

#include "base/text.h"
#include "kernelwright/error_text.h"
#include "kernelwright/eval/card.h"
#include "kernelwright/eval/eval.h"
#include "kernelwright/eval/judging.h"
#include "kernelwright/eval/kernelbench_files.h"
#include "kernelwright/eval/pairing.h"
#include "kernelwright/eval/result_files.h"
#include "kernelwright/progress.h"
#include "kernelwright/timestamp.h"
#include "task/problem_source.h"
#include "task/settings.h"

namespace kw::front {
namespace fs = std::filesystem;
namespace {

struct DataSet {
  std::vector<task::Problem> problems;
  std::vector<task::Candidate> candidates;
  Pairing pairing;
};

Result<DataSet> read_data_set(const EvalCommand& command) {
  DataSet out;
  KW_TRY(task::Settings settings, task::parse_settings(command.set));
  KW_TRY(out.problems, task::load_problems(command.dataset, settings));
  KW_TRY(out.candidates, read_candidates({command.solutions}, command.language));
  KW_TRY(out.pairing, pair_up(out.problems, out.candidates));
  return out;
}

class EvalRun {
 public:
  EvalRun(const EvalCommand& command, const Services& services, DataSet data)
      : command_(command),
        services_(services),
        data_(std::move(data)),
        tools_(inspect_tools(services.tools, find_checkout(services.program_folder))),
        kernelbench_(tools_.cpu),
        progress_(services.console, services.now) {}

  Result<int> run() {
    warn_without_problem();
    KW_TRY(ResultFiles files, open_files());
    files_ = &files;
    if (of_other_tools_ > 0)
      services_.console.err(fmt::format(
          "{} verdicts were made with another compiler, torch or triton: they are made again\n",
          of_other_tools_));
    collect_open();
    Status judged;
    if (!open_.empty()) judged = judge();
    progress_.clear();
    // This also runs after Ctrl-C or an error: the results are complete up to here.
    KW_TRY(std::vector<fs::path> written, kernelbench_.write(files.traces().parent_path()));
    if (!judged && judged.error().code() == ErrorCode::kCancelled)
      return fail(ErrorCode::kCancelled, "interrupted after {} of {}; --resume goes on from here",
                  judged_count(), data_.pairing.pairs.size());
    if (!judged) return tl::unexpected(std::move(judged).error());
    if (!command_.json) KW_TRY_STATUS(services_.console.out(summary(written)));
    if (errors_ > 0) return 2;
    return command_.fail_on_candidate && any_fault_ ? 1 : 0;
  }

 private:
  const task::Problem& problem(const Pair& pair) const { return data_.problems[pair.problem]; }
  const task::Candidate& candidate(const Pair& pair) const {
    return data_.candidates[pair.candidate];
  }
  ResumeKey key(const Pair& pair) const {
    return {problem(pair).hash, candidate(pair).hash, candidate(pair).name,
            command_.options.target};
  }

  void warn_without_problem() {
    const auto& names = data_.pairing.without_problem;
    if (names.empty()) return;
    std::vector<std::string> shown(
        names.begin(),
        names.begin() + static_cast<std::ptrdiff_t>(std::min<std::size_t>(names.size(), 5)));
    services_.console.err(
        fmt::format("warning: no problem in the data set for {} of {} solutions: {}{}\n",
                    names.size(), data_.candidates.size(), printable(join(shown, ", "), 400),
                    names.size() > 5 ? ", ..." : ""));
  }

  // Workers of a service may have several tool chains: each verdict says which made it.
  bool counts(const task::Verdict& verdict) const {
    return !command_.judge.url.empty() || is_made_with(verdict.made_with, tools_);
  }

  Result<ResultFiles> open_files() {
    return ResultFiles::open(
        {command_.out, command_.resume, gym::verdict_options(command_.options)},
        [this](const task::Verdict& verdict) -> Status {
          if (!counts(verdict)) {
            ++of_other_tools_;
            return {};
          }
          stored_.emplace(ResumeKey{verdict.problem_hash, verdict.candidate_hash,
                                    verdict.candidate_name, verdict.target},
                          verdict);
          return {};
        });
  }

  // The candidates that this run has to judge. The stored verdicts of the others are results too.
  void collect_open() {
    for (const Pair& pair : data_.pairing.pairs) {
      auto found = stored_.find(key(pair));
      if (found == stored_.end()) {
        open_.push_back(pair);
      } else {
        count(pair, found->second);
      }
    }
    stored_.clear();
  }

  std::size_t judged_count() const {
    std::size_t out = 0;
    for (const auto& [outcome, number] : outcomes_) out += number;
    return out;
  }

  void count(const Pair& pair, const task::Verdict& verdict) {
    ++outcomes_[verdict.outcome];
    if (verdict.outcome == task::Outcome::kPassed) ++passed_;
    any_fault_ = any_fault_ || task::is_candidates_fault(verdict.outcome);
    kernelbench_.add(candidate(pair), verdict);
  }

  Status judge() {
    KW_TRY(std::unique_ptr<gym::Judge> judge,
           services_.start_judge(gym_options(command_, &progress_)));
    Judging work;
    work.count = open_.size();
    work.jobs = command_.jobs;
    // A service's workers have sessions of their own, and its queue knows which.
    if (command_.judge.url.empty())
      std::ranges::transform(open_, std::back_inserter(work.groups), &Pair::problem);
    work.request = [this](std::size_t index) {
      gym::EvalRequest request;
      request.problem = problem(open_[index]);
      request.candidate = candidate(open_[index]);
      request.options = command_.options;
      return request;
    };
    work.done = [this](std::size_t index, Result<task::Verdict> result) {
      return done(open_[index], std::move(result));
    };
    std::size_t all = data_.pairing.pairs.size();
    progress_.begin(all, all - open_.size(), passed_);
    return judge_all(*judge, work, services_.stop);
  }

  Status done(const Pair& pair, Result<task::Verdict> result) {
    if (!result) return failed(pair, std::move(result).error());
    task::TraceEnvironment environment;
    environment.hardware = tools_.cpu;
    environment.libs = {{"kernelwright_gym", fmt::format("{}", gym::kGymVersion)},
                        {"torch", tools_.torch},
                        {"g++", tools_.gxx}};
    auto traces = traces_of(*result, problem(pair), environment, timestamp(services_.wall_time()));
    KW_TRY_STATUS(files_->append(*result, traces));
    count(pair, *result);
    progress_.judged(*result);
    if (!command_.json) return {};
    progress_.clear();
    return services_.console.out(verdict_line(*result));
  }

  // It is not stored, so that --resume tries again.
  Status failed(const Pair& pair, Error error) {
    if (error.code() == ErrorCode::kCancelled || error.code() == ErrorCode::kIsolationTooWeak)
      return tl::unexpected(std::move(error));
    ++errors_;
    progress_.failed();
    progress_.clear();
    error = std::move(error).with_context(fmt::format(
        "{} on {}", printable(candidate(pair).name, 120), printable(problem(pair).name, 120)));
    if (command_.json) return services_.console.out(error_line(error));
    services_.console.err(fmt::format("error: {}\n", one_line(error.message())));
    return {};
  }

  std::string summary(const std::vector<fs::path>& kernelbench) const {
    std::size_t judged = data_.pairing.pairs.size() - errors_;
    std::string out = fmt::format("{} of {} judged", judged, data_.pairing.pairs.size());
    if (judged > open_.size() - errors_)
      out += fmt::format(" ({} in an earlier run)", data_.pairing.pairs.size() - open_.size());
    for (const auto& [outcome, number] : outcomes_)
      out += fmt::format("\n  {:<14} {}", task::to_string(outcome), number);
    if (errors_ > 0)
      out += fmt::format("\n  {:<14} {}: --resume tries again", "not judged", errors_);
    out += fmt::format("\ntraces    {}\nverdicts  {}\n", files_->traces().string(),
                       files_->verdicts().string());
    for (const fs::path& path : kernelbench) out += fmt::format("results   {}\n", path.string());
    return out;
  }

  const EvalCommand& command_;
  const Services& services_;
  DataSet data_;
  ToolChain tools_;
  KernelBenchFiles kernelbench_;
  ProgressView progress_;
  ResultFiles* files_ = nullptr;
  std::size_t of_other_tools_ = 0;  // stored verdicts
  std::map<ResumeKey, task::Verdict> stored_;
  std::vector<Pair> open_;
  std::map<task::Outcome, std::size_t> outcomes_;
  std::size_t passed_ = 0, errors_ = 0;
  bool any_fault_ = false;
};

}  // namespace

Result<int> eval_many(const EvalCommand& command, const Services& services) {
  KW_TRY(DataSet data, read_data_set(command));
  return EvalRun(command, services, std::move(data)).run();
}

}  // namespace kw::front
