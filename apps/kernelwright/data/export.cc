#include "kernelwright/data/export.h"

#include <algorithm>
#include <optional>
#include <utility>
#include <vector>

#include "base/text.h"
#include "data/files.h"
#include "data/split.h"
#include "data/stats.h"
#include "kernelwright/data/parquet.h"
#include "os/file.h"

namespace kw::front {
namespace fs = std::filesystem;
namespace {

// The columns of a row, every one in every row: tables need one type a column.
Json exported(const data::Sample& sample) {
  Json messages = Json::array();
  for (const prompt::Message& message : sample.messages)
    messages.push_back({{"role", message.role}, {"content", message.content}});
  Json out = {{"id", sample.id},
              {"kind", data::to_string(sample.kind)},
              {"language", sample.language},
              {"messages", std::move(messages)},
              {"operators", sample.labels.operators},
              {"strategy", sample.labels.strategy}};
  out["tier"] = sample.labels.tier ? Json(*sample.labels.tier) : Json();
  out["depth"] = sample.labels.depth ? Json(*sample.labels.depth) : Json();
  out["group"] = sample.group;
  out["problem_name"] = sample.problem ? sample.problem->name : "";
  out["problem_form"] = !sample.problem ? "" : sample.problem->is_module ? "module" : "definition";
  out["problem_source"] = sample.problem ? sample.problem->source : "";
  out["problem_hash"] = sample.problem ? sample.problem->hash : "";
  out["origin"] = sample.origin.dump(-1, ' ', false, Json::error_handler_t::replace);
  const Json& verdict = sample.verdict;
  const bool judged =
      verdict.is_object() && verdict.contains("outcome") && verdict["outcome"].is_string();
  out["outcome"] = judged ? verdict["outcome"] : Json("");
  out["speedup"] = Json();
  if (judged && verdict.contains("speedup") && verdict["speedup"].is_object() &&
      verdict["speedup"].contains("median") && verdict["speedup"]["median"].is_number())
    out["speedup"] = verdict["speedup"]["median"].get<double>();
  return out;
}

Json parquet_schema() {
  return {{"id", "string"},
          {"kind", "string"},
          {"language", "string"},
          {"messages", Json::array({{{"role", "string"}, {"content", "string"}}})},
          {"operators", Json::array({"string"})},
          {"strategy", "string"},
          {"tier", "int64"},
          {"depth", "int64"},
          {"group", "string"},
          {"problem_name", "string"},
          {"problem_form", "string"},
          {"problem_source", "string"},
          {"problem_hash", "string"},
          {"origin", "string"},
          {"outcome", "string"},
          {"speedup", "float64"}};
}

struct ExportedPart {
  std::string name, file;
  std::uint64_t samples = 0;
};

// Of a split's folder its parts, of a file all as train.
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
    return fail(ErrorCode::kNotFound, "{}: none of train, validation, test, h1 and h2.jsonl", in);
  return out;
}

std::string size_category(std::uint64_t samples) {
  static constexpr std::array<std::pair<std::uint64_t, const char*>, 6> kSizes = {
      {{1000, "n<1K"},
       {10000, "1K<n<10K"},
       {100000, "10K<n<100K"},
       {1000000, "100K<n<1M"},
       {10000000, "1M<n<10M"},
       {100000000, "10M<n<100M"}}};
  for (const auto& [bound, name] : kSizes) {
    if (samples < bound) return name;
  }
  return "100M<n<1B";
}

std::string yaml_text(const std::string& text) {
  return Json(printable(text, 200)).dump();
}

std::string yaml_head(const std::string& name, const data::Stats& stats,
                      const std::vector<ExportedPart>& parts) {
  const bool one_licence = stats.licences.size() == 1;
  std::string out = fmt::format("---\npretty_name: {}\n", yaml_text(name));
  // The Hub knows lower-case names; several, or none that is known, are "other".
  std::string licence = one_licence ? stats.licences.begin()->first : "";
  std::transform(licence.begin(), licence.end(), licence.begin(), [](char c) {
    return c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c;
  });
  out += fmt::format("license: {}\n", one_licence ? yaml_text(licence) : "other");
  out += "language:\n- en\n- code\ntask_categories:\n- text-generation\ntags:\n- kernels\n- code\n";
  out += fmt::format("size_categories:\n- {}\nconfigs:\n- config_name: default\n  data_files:\n",
                     size_category(stats.samples));
  for (const ExportedPart& part : parts)
    out += fmt::format("  - split: {}\n    path: {}\n", part.name, part.file);
  return out + "---\n";
}

std::string count_table(const char* title, const std::map<std::string, std::uint64_t>& counts) {
  if (counts.empty()) return "";
  std::string out = fmt::format("\n| {} | samples |\n|---|---|\n", title);
  for (const auto& [name, count] : counts)
    out += fmt::format("| {} | {} |\n", printable(name, 80), count);
  return out;
}

std::string card_of(const std::string& name, const data::Stats& stats,
                    const std::vector<ExportedPart>& parts) {
  std::uint64_t judged = 0;
  for (const auto& [outcome, count] : stats.outcomes) judged += count;
  auto passed = stats.outcomes.find("passed");
  std::string out = yaml_head(name, stats, parts);
  out += fmt::format(
      "\n# {}\n\n{} samples of {} problems: chat messages about kernels, with where "
      "each came from.\n\n| part | samples |\n|---|---|\n",
      printable(name, 200), stats.samples, stats.problems);
  for (const ExportedPart& part : parts)
    out += fmt::format("| {} | {} |\n", part.name, part.samples);
  out += count_table("kind", stats.kinds) + count_table("language", stats.languages);
  out += "\n## Verification\n\n";
  out += fmt::format(
      "{} answers were compiled, run and compared with their reference by Kernelwright's gym, and "
      "{} "
      "of these passed. {} samples have no verdict: nobody has run their code.\n",
      judged, passed == stats.outcomes.end() ? 0 : passed->second, stats.samples - judged);
  out += count_table("outcome", stats.outcomes);
  out += "\n## Origin and licences\n";
  out += count_table("origin", stats.origins);
  out += stats.licences.empty() ? "\nNo row names a licence.\n"
                                : count_table("licence of the source", stats.licences);
  out +=
      "\n## Columns\n\n`messages` (role, content), `id`, `kind`, `language`, `operators`, "
      "`strategy`, `tier`, `depth`, `group` (samples of one group are in one part), "
      "`problem_name`, `problem_form`, `problem_source`, `problem_hash`, `origin` (JSON), "
      "`outcome` (empty: not judged), `speedup` (over eager torch, median).\n";
  return out;
}

class ExportRun {
 public:
  ExportRun(const DataExportCommand& command, const Services& services)
      : command_(command), services_(services), folder_(command.out) {}

  Result<int> run() {
    if (command_.format != "jsonl" && command_.format != "parquet")
      return fail(ErrorCode::kInvalidArgument, "--format: expected jsonl or parquet, not \"{}\"",
                  printable(command_.format, 40));
    KW_TRY(auto parts, parts_of(command_.in));
    std::error_code error;
    if (fs::exists(folder_, error) && !fs::is_empty(folder_, error))
      return fail(ErrorCode::kAlreadyExists, "{}: is not empty", folder_.string());
    fs::create_directories(folder_ / "data", error);
    if (error)
      return fail(ErrorCode::kPermissionDenied, "cannot make the folder {}: {}", folder_.string(),
                  error.message());
    std::vector<ExportedPart> written;
    for (const auto& [name, file] : parts) {
      KW_TRY(ExportedPart part, write(name, file));
      written.push_back(std::move(part));
    }
    const data::Stats stats = collector_.finish();
    const std::string name = command_.name.empty()
                                 ? fs::weakly_canonical(folder_, error).filename().string()
                                 : command_.name;
    // Last: a folder with a card is whole.
    KW_TRY_STATUS(os::write_file_atomic(folder_ / "README.md", card_of(name, stats, written)));
    return print(stats, written);
  }

 private:
  Result<ExportedPart> write(const std::string& name, const fs::path& file) {
    ExportedPart out{name, fmt::format("data/{}.{}", name, command_.format), 0};
    const fs::path path = folder_ / out.file;
    const bool parquet = command_.format == "parquet";
    std::optional<ParquetWriter> table;
    std::optional<data::OutputFile> lines;
    if (parquet) {
      auto made = ParquetWriter::create(path, parquet_schema(), services_);
      if (!made) return tl::unexpected(std::move(made).error());
      table.emplace(std::move(*made));
    } else {
      auto made = data::OutputFile::create(path, false);
      if (!made) return tl::unexpected(std::move(made).error());
      lines.emplace(std::move(*made));
    }
    KW_TRY_STATUS(
        data::for_each_sample(file, [&](const data::Sample& sample, std::string_view) -> Status {
          collector_.add(sample);
          ++out.samples;
          const Json row = exported(sample);
          if (parquet) return table->append(row);
          return lines->append_line(row.dump(-1, ' ', false, Json::error_handler_t::replace));
        }));
    if (lines) KW_TRY_STATUS(lines->close());
    if (table) {
      KW_TRY(std::uint64_t rows, table->close());
      if (rows != out.samples)
        return fail(ErrorCode::kDataLoss, "{} has {} rows of {}", path.string(), rows, out.samples);
    }
    return out;
  }

  Result<int> print(const data::Stats& stats, const std::vector<ExportedPart>& parts) {
    if (command_.json) {
      Json files = Json::array();
      for (const ExportedPart& part : parts)
        files.push_back({{"split", part.name}, {"file", part.file}, {"samples", part.samples}});
      const Json out = {{"samples", stats.samples}, {"files", files}, {"out", folder_.string()}};
      KW_TRY_STATUS(services_.console.out(out.dump() + "\n"));
      return 0;
    }
    std::string text;
    for (const ExportedPart& part : parts)
      text += fmt::format("{:<24} {} samples\n", part.file, part.samples);
    KW_TRY_STATUS(services_.console.out(
        text +
        fmt::format("README.md                the data card\nwritten   {}\n", folder_.string())));
    return 0;
  }

  const DataExportCommand& command_;
  const Services& services_;
  const fs::path folder_;
  data::StatsCollector collector_;
};

}  // namespace

Result<int> run_data_export(const DataExportCommand& command, const Services& services) {
  return ExportRun(command, services).run();
}

}  // namespace kw::front
