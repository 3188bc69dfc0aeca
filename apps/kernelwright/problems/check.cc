// Every problem becomes a row; a broken one does not end the run.
#include "kernelwright/problems/check.h"

#include <algorithm>
#include <map>
#include <optional>
#include <utility>

#include "base/text.h"
#include "kernelwright/cli/settings.h"
#include "kernelwright/error_text.h"
#include "kernelwright/eval/eval.h"
#include "kernelwright/eval/judging.h"
#include "kernelwright/eval/result_files.h"
#include "kernelwright/judge_choice.h"
#include "kernelwright/problems/folder.h"
#include "kernelwright/problems/report.h"
#include "kernelwright/progress.h"
#include "os/file.h"
#include "os/journal.h"
#include "task/problem_source.h"
#include "task/settings.h"

namespace kw::front {
namespace fs = std::filesystem;
namespace {

constexpr int kRecordSchema = 1;

std::string json_text(const Json& value) {
  return value.dump(-1, ' ', false, Json::error_handler_t::replace);
}

class CheckRun {
 public:
  CheckRun(const ProblemsCheckCommand& command, const Services& services,
           std::vector<task::LoadedProblem> problems)
      : command_(command),
        services_(services),
        problems_(std::move(problems)),
        rows_(problems_.size()),
        progress_(services.console, services.now, "admitted") {}

  Result<int> run() {
    KW_TRY_STATUS(open_record());
    KW_TRY_STATUS(take_recorded());
    Status checked = check();
    progress_.clear();
    // This also runs after Ctrl-C or an error: the rows are complete up to here.
    if (!command_.markdown.empty())
      KW_TRY_STATUS(os::write_file_atomic(command_.markdown, markdown_table(rows())));
    if (!checked && checked.error().code() == ErrorCode::kCancelled)
      return fail(ErrorCode::kCancelled, "interrupted after {} of {}{}", rows().size(),
                  problems_.size(), command_.out.empty() ? "" : "; --resume goes on from here");
    if (!checked) return tl::unexpected(std::move(checked).error());
    if (!command_.json) KW_TRY_STATUS(services_.console.out(summary()));
    if (errors_ > 0) return 2;
    auto all = rows();
    return std::all_of(all.begin(), all.end(), [](const auto* row) { return row->admitted(); }) ? 0
                                                                                                : 1;
  }

 private:
  // A stored row stands for this run if it has these in common with it.
  Json limits() const {
    return {{"timeout_seconds", command_.timeout_seconds}, {"memory_bytes", command_.memory_bytes}};
  }

  Status open_record() {
    if (command_.out.empty()) return {};
    KW_TRY_STATUS(check_out_path(command_.out, command_.resume));
    KW_TRY(journal_, os::Journal::open(command_.out, [this](const std::string& line) -> Status {
             KW_TRY(Json value, parse_json(line));
             KW_TRY(ObjectReader reader, ObjectReader::make(value, ""));
             KW_TRY(std::int64_t schema, reader.integer("schema"));
             if (schema != kRecordSchema)
               return fail(ErrorCode::kUnsupported,
                           "schema {} was written by another version of this program", schema);
             KW_TRY(std::int64_t gym_version, reader.integer("gym_version"));
             KW_TRY(ProblemReport row, problem_report_from_json(value));
             bool same =
                 gym_version == gym::kGymVersion && value.value("limits", Json()) == limits();
             if (same)
               recorded_[row.hash.empty() ? row.origin : row.hash].push_back(std::move(row));
             return {};
           }));
    return {};
  }

  // Rows of an earlier run stand for the same problem. Under another name they are recorded again;
  // a file that cannot be read is looked at again, which costs nothing.
  Status take_recorded() {
    for (std::size_t i = 0; i < problems_.size(); ++i) {
      const task::LoadedProblem& problem = problems_[i];
      if (!problem.problem) {
        const ProblemReport* same = recorded(problem.origin, report_of(problem));
        if (same == nullptr) continue;
        rows_[i] = *same;
        ++earlier_;
        continue;
      }
      auto found = recorded_.find(problem.problem->hash);
      if (found == recorded_.end()) continue;
      ProblemReport row = found->second.back();
      rename(row, *problem.problem, problem.origin);
      if (recorded(row.hash, row) == nullptr) KW_TRY_STATUS(record(row));
      rows_[i] = std::move(row);
      ++earlier_;
    }
    return {};
  }

  Status record(const ProblemReport& row) {
    return journal_ ? journal_->append(line_of(row)) : Status();
  }

  // The stored row that says the same of the same place; null: none.
  const ProblemReport* recorded(const std::string& key, const ProblemReport& like) const {
    auto found = recorded_.find(key);
    if (found == recorded_.end()) return nullptr;
    for (const ProblemReport& row : found->second) {
      if (row.name == like.name && row.origin == like.origin && row.reason == like.reason)
        return &row;
    }
    return nullptr;
  }

  Status check() {
    std::vector<std::size_t> open;
    bool gym_needed = false;
    std::size_t admitted = 0;
    for (std::size_t i = 0; i < problems_.size(); ++i) {
      if (const auto& row = rows_[i]) {
        admitted += row->admitted() ? 1 : 0;
        continue;
      }
      open.push_back(i);
      gym_needed = gym_needed || problems_[i].problem.has_value();
    }
    if (open.empty()) return {};
    std::unique_ptr<gym::Judge> judge;
    if (gym_needed) {
      gym::GymOptions options;
      options.isolation_at_least = command_.isolation_at_least;
      options.jobs = command_.jobs;
      KW_TRY(judge, services_.start_judge(std::move(options)));
      progress_.begin(problems_.size(), problems_.size() - open.size(), admitted);
    }
    auto work = [&](std::size_t index, const std::stop_token& stop) -> Finish {
      std::size_t i = open[index];
      auto row = check_one(judge.get(), problems_[i], stop);
      return [this, i, row = std::move(row)]() mutable { return done(i, std::move(row)); };
    };
    return run_all(open.size(), command_.jobs, work, services_.stop);
  }

  Result<ProblemReport> check_one(gym::Judge* judge, const task::LoadedProblem& loaded,
                                  const std::stop_token& stop) {
    if (!loaded.problem) return report_of(loaded);
    progress_.doing("checking " + printable(loaded.name, 60));
    auto begun = services_.now();
    gym::CheckRequest request;
    request.problem = *loaded.problem;
    request.timeout_seconds = command_.timeout_seconds;
    request.memory_bytes = command_.memory_bytes;
    KW_TRY(gym::ProblemCheck check, judge->check(request, stop));
    ProblemReport row = report_of(*loaded.problem, loaded.origin, check);
    row.seconds = std::chrono::duration<double>(services_.now() - begun).count();
    return row;
  }

  // The record first: what is printed is stored.
  Status done(std::size_t i, Result<ProblemReport> row) {
    if (!row) return failed(problems_[i], std::move(row).error());
    KW_TRY_STATUS(record(*row));
    progress_.counted(row->admitted());
    progress_.clear();
    std::string line = command_.json ? line_of(*row) + "\n" : report_line(*row);
    rows_[i] = std::move(*row);
    return services_.console.out(line);
  }

  // It is not recorded, so that --resume tries again.
  Status failed(const task::LoadedProblem& problem, Error error) {
    if (error.code() == ErrorCode::kCancelled || error.code() == ErrorCode::kIsolationTooWeak)
      return tl::unexpected(std::move(error));
    ++errors_;
    progress_.failed();
    progress_.clear();
    error = std::move(error).with_context(printable(problem.name, 120));
    if (command_.json) return services_.console.out(error_line(error));
    services_.console.err(fmt::format("error: {}\n", one_line(error.message())));
    return {};
  }

  std::string line_of(const ProblemReport& row) const {
    Json out = {{"schema", kRecordSchema}, {"gym_version", gym::kGymVersion}, {"limits", limits()}};
    out.update(to_json(row));
    return json_text(out);
  }

  // The order is that of the argument. Problems that are not done are left out.
  std::vector<const ProblemReport*> rows() const {
    std::vector<const ProblemReport*> out;
    for (const auto& row : rows_) {
      if (row) out.push_back(&*row);
    }
    return out;
  }

  std::string summary() const {
    auto all = rows();
    std::string out = fmt::format("{} of {} problems checked", all.size(), problems_.size());
    if (earlier_ > 0) out += fmt::format(" ({} in an earlier run)", earlier_);
    out += "\n" + counts_text(all);
    if (errors_ > 0)
      out += fmt::format("  {:<18} {}{}\n", "failed", errors_,
                         journal_ ? ": --resume tries again" : "");
    if (journal_) out += fmt::format("record    {}\n", journal_->path().string());
    if (!command_.markdown.empty()) out += fmt::format("table     {}\n", command_.markdown);
    return out;
  }

  const ProblemsCheckCommand& command_;
  const Services& services_;
  std::vector<task::LoadedProblem> problems_;
  std::vector<std::optional<ProblemReport>> rows_;
  ProgressView progress_;
  std::optional<os::Journal> journal_;
  std::map<std::string, std::vector<ProblemReport>> recorded_;  // by hash; unreadable: by origin
  std::size_t earlier_ = 0, errors_ = 0;
};

}  // namespace

Result<int> run_problems_check(const ProblemsCheckCommand& command, const Services& services) {
  const Services here = with_judge(services, command.judge, command.isolation_at_least);
  if (command.resume && command.out.empty())
    return fail(ErrorCode::kInvalidArgument,
                "--resume goes with --out; see kernelwright problems check --help");
  KW_TRY_STATUS(check_range("--timeout", command.timeout_seconds, 0, kLongestTimeout));
  if (!command.markdown.empty()) KW_TRY_STATUS(check_out_path(command.markdown, true));
  KW_TRY(task::Settings settings, task::parse_settings(command.set));
  KW_TRY(std::string path, locate_problem(services, command.problems));
  KW_TRY(auto problems, task::load_each_problem(path, settings));
  return CheckRun(command, here, std::move(problems)).run();
}

}  // namespace kw::front
