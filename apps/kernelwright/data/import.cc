#include "kernelwright/data/import.h"

#include <map>
#include <optional>
#include <set>
#include <utility>

#include "base/text.h"
#include "data/files.h"
#include "data/import.h"
#include "kernelwright/data/parquet.h"
#include "kernelwright/data/session.h"
#include "task/candidate_source.h"
#include "task/problem_source.h"
#include "task/text_file.h"

namespace kw::front {
namespace fs = std::filesystem;
namespace {

constexpr int kShownErrors = 20;

class ImportRun {
 public:
  ImportRun(const DataImportCommand& command, const Services& services, data::OutputFile out)
      : command_(command), services_(services), out_(std::move(out)) {}

  Result<int> run() {
    auto language = task::language_from_string(command_.language);
    if (!language)
      return fail(ErrorCode::kInvalidArgument, "--language: unknown language \"{}\"",
                  printable(command_.language, 40));
    options_.language = *language;
    options_.answers = !command_.questions;
    options_.licences = command_.licences;
    KW_TRY(rejected_, optional_output(command_.rejected, command_.replace));
    for (const std::string& input : command_.inputs) KW_TRY_STATUS(read(input));
    if (rejected_) KW_TRY_STATUS(rejected_->close());
    if (samples_ == 0)
      return fail(ErrorCode::kInvalidArgument, "no sample in {}: {} rows were refused{}",
                  join(command_.inputs, ", "), refused_,
                  first_error_.empty() ? "" : ", the first because of " + first_error_);
    KW_TRY_STATUS(out_.close());
    KW_TRY_STATUS(services_.console.out(summary()));
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
      if (!trim(line).empty()) KW_TRY_STATUS(take_line(reader.number(), line));
    }
  }

  Status read_parquet(const fs::path& path) {
    KW_TRY(ParquetReader reader, ParquetReader::open(path, services_));
    std::uint64_t number = 0;
    for (std::string_view line;;) {
      KW_TRY(bool more, reader.next(line));
      if (!more) return {};
      KW_TRY_STATUS(take_line(++number, line));
    }
  }

  // Of a folder's own kind: Parquet files, lines, or problems with their solutions.
  Status read_folder(const fs::path& folder) {
    KW_TRY(auto tables, task::files_with_extension(folder, ".parquet", true));
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
    for (task::LoadedProblem& one : loaded) {
      const std::string where = one.origin.empty() ? one.name : one.origin;
      if (!one.problem) {
        KW_TRY_STATUS(refuse(where, one.problem.error()));
        continue;
      }
      auto found = by_problem.find(one.name);
      if (found == by_problem.end()) {
        KW_TRY_STATUS(take(where, data::question_about(*one.problem, options_)));
        continue;
      }
      for (const task::Candidate* solution : found->second)
        KW_TRY_STATUS(take(where + ", " + solution->name,
                           data::answer_to(*one.problem, *solution, options_)));
    }
    return {};
  }

  Status take_line(std::uint64_t number, std::string_view line) {
    auto row = parse_json(line);
    auto sample = row ? data::sample_of_row(*row, number, options_)
                      : Result<data::Sample>(tl::unexpected(row.error()));
    return take(fmt::format("{}:{}", input_, number), std::move(sample));
  }

  Status take(const std::string& where, Result<data::Sample> sample) {
    if (!sample) return refuse(where, sample.error());
    ++samples_;
    if (sample->answered()) ++answered_;
    return out_.append_line(data::to_line(*sample));
  }

  Status refuse(const std::string& where, const Error& error) {
    ++refused_;
    // The column or the licence, without what differs from row to row.
    std::string reason = error.message().substr(0, error.message().find(':'));
    if (reasons_.size() < 200 || reasons_.contains(reason)) ++reasons_[printable(reason, 80)];
    if (first_error_.empty()) first_error_ = where + ": " + error.message();
    if (refused_ <= kShownErrors)
      services_.console.err(fmt::format("{}: {}\n", where, printable(error.message(), 300)));
    if (refused_ == kShownErrors + 1)
      services_.console.err(rejected_ ? "further rows are in the file of refused ones\n"
                                      : "further rows are only counted; --rejected FILE has all\n");
    if (!rejected_) return {};
    const Json line = {{"row", where}, {"error", error.message()}};
    return rejected_->append_line(line.dump(-1, ' ', false, Json::error_handler_t::replace));
  }

  std::string summary() const {
    if (command_.json) {
      const Json out = {{"samples", samples_},
                        {"answered", answered_},
                        {"refused", refused_},
                        {"reasons", reasons_},
                        {"out", out_.path().string()}};
      return out.dump() + "\n";
    }
    std::string out = fmt::format("samples   {}, {} with an answer\n", samples_, answered_);
    if (refused_ > 0) out += fmt::format("refused   {}\n", refused_);
    for (const auto& [reason, count] : reasons_) out += fmt::format("  {:>8}  {}\n", count, reason);
    return out + fmt::format("written   {}\n", out_.path().string());
  }

  const DataImportCommand& command_;
  const Services& services_;
  data::OutputFile out_;
  std::optional<data::OutputFile> rejected_;
  data::ImportOptions options_;
  std::string input_, first_error_;
  std::uint64_t samples_ = 0, answered_ = 0, refused_ = 0;
  std::map<std::string, std::uint64_t> reasons_;
};

}  // namespace

Result<int> run_data_import(const DataImportCommand& command, const Services& services) {
  KW_TRY(data::OutputFile out, data::OutputFile::create(command.out, command.replace));
  return ImportRun(command, services, std::move(out)).run();
}

}  // namespace kw::front
