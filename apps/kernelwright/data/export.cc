#include "kernelwright/data/export.h"

#include <optional>
#include <utility>
#include <vector>

#include "base/check.h"
#include "base/text.h"
#include "data/data_card.h"
#include "data/export_row.h"
#include "data/output_pair.h"
#include "data/split.h"
#include "data/stats.h"
#include "kernelwright/data/parquet.h"
#include "kernelwright/json_line.h"
#include "os/file.h"

namespace kw::front {
namespace fs = std::filesystem;
namespace {

using data::ExportedPart;

// The parts of a split's folder. A file is all train.
Result<std::vector<std::pair<std::string, fs::path>>> parts_of(const std::string& in) {
  std::vector<std::pair<std::string, fs::path>> out;
  std::error_code ignored;
  if (!fs::is_directory(in, ignored)) {
    out.emplace_back("train", in);
    return out;
  }
  for (std::size_t i = 0; i < data::kParts; ++i) {
    const std::string name(to_string(static_cast<data::Part>(i)));
    const fs::path file = fs::path(in) / (name + ".jsonl");
    if (fs::is_regular_file(file, ignored)) out.emplace_back(name, file);
  }
  if (out.empty())
    return fail(ErrorCode::kNotFound, "{}: no train.jsonl or other part of a split", in);
  return out;
}

// One part, as lines or as Parquet by its name.
class TableWriter {
 public:
  static Result<TableWriter> create(const fs::path& path, const Services& services) {
    TableWriter out;
    out.path_ = path;
    if (path.extension() == ".parquet") {
      KW_TRY(ParquetWriter made, ParquetWriter::create(path, data::export_schema(), services));
      out.parquet_.emplace(std::move(made));
    } else {
      KW_TRY(data::OutputFile made, data::OutputFile::create(path, false));
      out.lines_.emplace(std::move(made));
    }
    return out;
  }

  Status append(const Json& row) {
    if (parquet_) return parquet_->append(row);
    KW_CHECK(lines_);
    return lines_->append_line(row.dump(-1, ' ', false, Json::error_handler_t::replace));
  }

  Status close(std::uint64_t rows) {
    if (lines_) return lines_->close();
    KW_CHECK(parquet_);
    KW_TRY(const std::uint64_t written, parquet_->close());
    if (written == rows) return {};
    return fail(ErrorCode::kDataLoss, "{} has {} rows of {}", path_.string(), written, rows);
  }

 private:
  TableWriter() = default;
  fs::path path_;
  std::optional<ParquetWriter> parquet_;
  std::optional<data::OutputFile> lines_;  // the one or the other
};

class ExportRun {
 public:
  ExportRun(const DataExportCommand& command, const Services& services)
      : command_(command), services_(services) {}

  Result<int> run() {
    if (command_.format != "jsonl" && command_.format != "parquet")
      return fail(ErrorCode::kInvalidArgument, "--format: expected jsonl or parquet, not \"{}\"",
                  printable(command_.format, 40));
    KW_TRY(auto parts, parts_of(command_.in));
    KW_TRY(data::OutputFolder folder, data::OutputFolder::create(command_.out));
    std::error_code error;
    fs::create_directory(folder.partial() / "data", error);
    if (error)
      return fail(ErrorCode::kPermissionDenied, "cannot make a folder in {}: {}",
                  folder.partial().string(), error.message());
    std::vector<ExportedPart> written;
    for (const auto& [name, file] : parts) {
      KW_TRY(ExportedPart part, write(name, file, folder.partial()));
      if (part.samples > 0) written.push_back(std::move(part));
    }
    if (written.empty())
      return fail(ErrorCode::kInvalidArgument,
                  "{}: all {} samples are without an answer (data teach gives answers, "
                  "--unanswered takes them as they are)",
                  command_.in, unanswered_);
    const data::Stats stats = collector_.finish();
    const std::string name = command_.name.empty()
                                 ? fs::weakly_canonical(folder.path(), error).filename().string()
                                 : command_.name;
    KW_TRY_STATUS(os::write_file_atomic(folder.partial() / "README.md",
                                        data::data_card(name, stats, written)));
    KW_TRY_STATUS(folder.close());
    return print(stats, written);
  }

 private:
  Result<ExportedPart> write(const std::string& name, const fs::path& file,
                             const fs::path& folder) {
    ExportedPart out{name, fmt::format("data/{}.{}", name, command_.format), 0};
    std::optional<TableWriter> table;  // of a part without rows there is no file
    KW_TRY_STATUS(
        data::for_each_sample(file, [&](const data::Sample& sample, std::string_view) -> Status {
          if (sample.pending)
            return fail(ErrorCode::kInvalidArgument,
                        "{}: sample {} waits for its question, which data filter writes: filter "
                        "before exporting",
                        file.string(), sample.id);
          if (!sample.answered() && !command_.unanswered) {
            ++unanswered_;
            return {};
          }
          if (!table) {
            KW_TRY(TableWriter made, TableWriter::create(folder / out.file, services_));
            table.emplace(std::move(made));
          }
          collector_.add(sample);
          ++out.samples;
          return table->append(data::export_row(sample));
        }));
    if (table) KW_TRY_STATUS(table->close(out.samples));
    return out;
  }

  Result<int> print(const data::Stats& stats, const std::vector<ExportedPart>& parts) {
    if (command_.json) {
      Json files = Json::array();
      for (const ExportedPart& part : parts)
        files.push_back({{"split", part.name}, {"file", part.file}, {"samples", part.samples}});
      KW_TRY_STATUS(services_.console.out(json_line({{"samples", stats.samples},
                                                     {"unanswered", unanswered_},
                                                     {"files", files},
                                                     {"out", command_.out}})));
      return 0;
    }
    std::string text;
    for (const ExportedPart& part : parts)
      text += fmt::format("{:<24} {} samples\n", part.file, part.samples);
    if (unanswered_ > 0)
      text += fmt::format("left out                 {} samples without an answer\n", unanswered_);
    KW_TRY_STATUS(services_.console.out(
        text +
        fmt::format("README.md                the data card\nwritten   {}\n", command_.out)));
    return 0;
  }

  const DataExportCommand& command_;
  const Services& services_;
  data::StatsCollector collector_;
  std::uint64_t unanswered_ = 0;  // left out
};

}  // namespace

Result<int> run_data_export(const DataExportCommand& command, const Services& services) {
  return ExportRun(command, services).run();
}

}  // namespace kw::front
