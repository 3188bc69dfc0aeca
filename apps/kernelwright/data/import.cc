#include "kernelwright/data/import.h"

#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <utility>
#include <vector>

#include "base/check.h"
#include "base/text.h"
#include "data/files.h"
#include "data/import.h"
#include "data/output_pair.h"
#include "kernelwright/cli/settings.h"
#include "kernelwright/data/parquet.h"
#include "kernelwright/data/session.h"
#include "kernelwright/data/trace_labels.h"
#include "kernelwright/json_line.h"
#include "os/task_group.h"
#include "task/candidate_source.h"
#include "task/problem_source.h"
#include "text/text_file.h"

namespace kw::front {
namespace fs = std::filesystem;
namespace {

constexpr int kShownErrors = 20;
constexpr std::size_t kRowsAJob = 16;

// The key by which a reason is counted: the column or the licence, without the rest, which differs
// from row to row.
std::string kind_of(const std::string& message) {
  return printable(message.substr(0, message.find(':')), 80);
}

// The counts of imported and refused rows.
struct ImportCounts {
  std::uint64_t samples = 0, answered = 0, refused = 0;
  std::uint64_t workloads_in_files = 0;  // left out
  std::uint64_t traced = 0;
  std::map<std::string, std::uint64_t> reasons, untraced;
  std::string first_error;
};

// One row on its way: made, and traced, on any thread.
struct Row {
  std::string where;
  std::function<Result<data::Sample>()> make;
  std::size_t workloads_in_files = 0;
  std::optional<Result<data::Sample>> sample = {};
  Status traced = {};
};

class ImportRun {
 public:
  ImportRun(const DataImportCommand& command, const Services& services, data::OutputPair out)
      : command_(command),
        services_(services),
        out_(std::move(out)),
        traces_(services, command.jobs) {}

  Result<int> run() {
    KW_TRY_STATUS(check_ranges(command_, OptionNames::kFlags));
    auto language = task::language_from_string(command_.language);
    if (!language)
      return fail(ErrorCode::kInvalidArgument, "--language: unknown language \"{}\"",
                  printable(command_.language, 40));
    options_.language = *language;
    options_.answers = !command_.questions;
    options_.licences = command_.licences;
    options_.describe = [this](const task::Problem& problem) { return traces_.describe(problem); };
    for (const std::string& input : command_.inputs) KW_TRY_STATUS(read(input));
    KW_TRY_STATUS(finish_rows());
    if (counts_.samples == 0) {
      if (out_.beside() != nullptr) KW_TRY_STATUS(out_.beside()->close());
      return fail(
          ErrorCode::kInvalidArgument, "no sample in {}: {} rows were refused{}",
          join(command_.inputs, ", "), counts_.refused,
          counts_.first_error.empty() ? "" : ", the first because of " + counts_.first_error);
    }
    KW_TRY_STATUS(out_.close());
    KW_TRY_STATUS(services_.console.out(command_.json ? json_line(json_of_counts()) : summary()));
    return 0;
  }

 private:
  Status read(const std::string& input) {
    input_ = input;
    options_.dataset =
        command_.dataset.empty() ? fs::path(input).filename().string() : command_.dataset;
    if (options_.dataset.empty()) options_.dataset = fs::path(input).parent_path().filename();
    std::error_code ignored;
    const fs::path path(input);
    if (!fs::exists(path, ignored)) return fail(ErrorCode::kNotFound, "{}: no such file", input);
    if (fs::is_directory(path, ignored)) return read_folder(path);
    if (path.extension() == ".parquet") return read_parquet(path);
    if (path.extension() == ".jsonl" || path.extension() == ".ndjson") return read_lines(path);
    return read_problems(input, {});
  }

  Status read_lines(const fs::path& path) {
    KW_TRY(data::LineReader reader, data::LineReader::open(path));
    for (std::string_view line;;) {
      KW_TRY(bool more, reader.next(line));
      if (!more) return {};
      if (!trim(line).empty()) KW_TRY_STATUS(add_line(reader.number(), line));
    }
  }

  Status read_parquet(const fs::path& path) {
    KW_TRY(ParquetReader reader, ParquetReader::open(path, services_));
    std::uint64_t number = 0;
    for (std::string_view line;;) {
      KW_TRY(bool more, reader.next(line));
      if (!more) return {};
      KW_TRY_STATUS(add_line(++number, line));
    }
  }

  // A folder holds Parquet files, lines, or problems with their solutions.
  Status read_folder(const fs::path& folder) {
    KW_TRY(auto tables, text::files_with_extension(folder, ".parquet", true));
    for (const fs::path& table : tables) KW_TRY_STATUS(read(table.string()));
    if (!tables.empty()) return {};
    std::vector<task::Candidate> solutions;
    std::error_code ignored;
    const fs::path of_solutions = folder / "solutions";
    if (!command_.questions && fs::is_directory(of_solutions, ignored)) {
      KW_TRY(solutions, task::load_candidates(of_solutions));
    }
    return read_problems(folder.string(), solutions);
  }

  Status read_problems(const std::string& argument, const std::vector<task::Candidate>& solutions) {
    KW_TRY(auto loaded, task::load_each_problem(argument, {}));
    std::map<std::string, std::vector<const task::Candidate*>> by_problem;
    for (const task::Candidate& solution : solutions)
      by_problem[solution.definition].push_back(&solution);
    for (const task::LoadedProblem& one : loaded) {
      const std::string where = one.origin.empty() ? one.name : one.origin;
      if (!one.problem) {
        KW_TRY_STATUS(finish_rows());
        KW_TRY_STATUS(refuse(where, one.problem.error()));
        continue;
      }
      const task::Problem& problem = *one.problem;
      const std::size_t in_files = data::workloads_in_files(problem);
      auto found = by_problem.find(one.name);
      if (found == by_problem.end()) {
        KW_TRY_STATUS(
            add({where,
                 [problem, options = options_] { return data::question_about(problem, options); },
                 in_files}));
        continue;
      }
      for (const task::Candidate* solution : found->second)
        KW_TRY_STATUS(add({where + ", " + solution->name,
                           [problem, solution = *solution, options = options_] {
                             return data::answer_to(problem, solution, options);
                           },
                           solution == found->second.front() ? in_files : 0}));
    }
    return {};
  }

  Status add_line(std::uint64_t number, std::string_view line) {
    return add({fmt::format("{}:{}", input_, number),
                [line = std::string(line), number, options = options_]() -> Result<data::Sample> {
                  KW_TRY(const Json row, parse_json(line));
                  return data::sample_of_row(row, number, options);
                }});
  }

  // Rows that need processes are made some at a time, on `jobs` threads.
  bool needs_processes() const {
    return command_.trace || options_.language == task::Language::kCpp;
  }

  Status add(Row row) {
    rows_.push_back(std::move(row));
    const std::size_t most =
        needs_processes() ? kRowsAJob * static_cast<std::size_t>(command_.jobs) : 1;
    return rows_.size() < most ? Status() : finish_rows();
  }

  void make(Row& row) {
    row.sample = row.make();
    if (!command_.trace || !*row.sample || !(*row.sample)->problem) return;
    row.traced = traces_.label(**row.sample);
  }

  Status finish_rows() {
    if (rows_.size() == 1) {
      make(rows_.front());
    } else if (!rows_.empty()) {
      os::TaskGroup group(command_.jobs, services_.stop, "interrupted");
      for (Row& row : rows_) group.post([this, &row] { make(row); });
      const Status finished = group.finish({});
      if (!finished && finished.error().code() != ErrorCode::kCancelled) return finished;
    }
    if (services_.stop.stop_requested()) return fail(ErrorCode::kCancelled, "interrupted");
    for (Row& row : std::exchange(rows_, {})) KW_TRY_STATUS(take(row));
    return {};
  }

  Status take(Row& row) {
    KW_CHECK(row.sample);
    Result<data::Sample>& sample = *row.sample;
    if (!sample) return refuse(row.where, sample.error());
    ++counts_.samples;
    counts_.workloads_in_files += row.workloads_in_files;
    if (sample->answered()) ++counts_.answered;
    if (command_.trace && sample->problem) KW_TRY_STATUS(note_trace(row));
    return out_.out().append_line(data::to_line(*sample));
  }

  Status note_trace(const Row& row) {
    if (row.traced) {
      ++counts_.traced;
      return {};
    }
    const Error& error = row.traced.error();
    if (error.code() == ErrorCode::kCancelled || error.code() == ErrorCode::kIsolationTooWeak)
      return row.traced;
    ++counts_.untraced[kind_of(error.message())];
    return {};
  }

  Status refuse(const std::string& where, const Error& error) {
    ImportCounts& c = counts_;
    ++c.refused;
    const std::string reason = kind_of(error.message());
    if (c.reasons.size() < 200 || c.reasons.contains(reason)) ++c.reasons[reason];
    if (c.first_error.empty()) c.first_error = where + ": " + error.message();
    data::OutputFile* rejected = out_.beside();
    if (c.refused <= kShownErrors)
      services_.console.err(fmt::format("{}: {}\n", where, printable(error.message(), 300)));
    if (c.refused == kShownErrors + 1)
      services_.console.err(rejected != nullptr
                                ? "further rows are in the file of refused ones\n"
                                : "further rows are only counted; --rejected FILE has all\n");
    if (rejected == nullptr) return {};
    const Json line = {{"row", where}, {"error", error.message()}};
    return rejected->append_line(line.dump(-1, ' ', false, Json::error_handler_t::replace));
  }

  Json json_of_counts() const {
    Json out = {{"samples", counts_.samples},
                {"answered", counts_.answered},
                {"refused", counts_.refused},
                {"reasons", counts_.reasons},
                {"workloads_in_files", counts_.workloads_in_files},
                {"out", command_.out}};
    if (command_.trace) {
      out["traced"] = counts_.traced;
      out["untraced"] = counts_.untraced;
    }
    return out;
  }

  std::string summary() const {
    const ImportCounts& c = counts_;
    std::string out = fmt::format("samples   {}, {} with an answer\n", c.samples, c.answered);
    if (c.refused > 0) out += fmt::format("refused   {}\n", c.refused);
    for (const auto& [reason, count] : c.reasons)
      out += fmt::format("  {:>8}  {}\n", count, reason);
    if (c.workloads_in_files > 0)
      out += fmt::format("left out  {} workloads with inputs in files\n", c.workloads_in_files);
    if (command_.trace) out += fmt::format("traced    {}\n", c.traced);
    for (const auto& [reason, count] : c.untraced)
      out += fmt::format("  {:>8}  have no operators: {}\n", count, reason);
    return out + fmt::format("written   {}\n", command_.out);
  }

  const DataImportCommand& command_;
  const Services& services_;
  data::OutputPair out_;
  data::ImportOptions options_;
  TraceLabels traces_;
  std::string input_;
  std::deque<Row> rows_;
  ImportCounts counts_;
};

}  // namespace

Result<int> run_data_import(const DataImportCommand& command, const Services& services) {
  KW_TRY(data::OutputPair out,
         data::OutputPair::create(command.out, command.rejected, existing(command.replace)));
  return ImportRun(command, services, std::move(out)).run();
}

}  // namespace kw::front
