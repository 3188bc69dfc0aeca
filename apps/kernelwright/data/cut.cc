#include "kernelwright/data/cut.h"

#include <algorithm>
#include <array>
#include <map>
#include <optional>
#include <utility>

#include "base/text.h"
#include "data/benchmark.h"
#include "data/dedup.h"
#include "data/files.h"
#include "data/map_samples.h"
#include "data/split.h"
#include "kernelwright/cli/settings.h"
#include "kernelwright/data/session.h"
#include "kernelwright/problems/folder.h"
#include "os/file.h"
#include "task/problem_source.h"

namespace kw::front {
namespace fs = std::filesystem;
namespace {

Result<data::ComparedBy> parse_by(const std::string& name) {
  if (name == "problem") return data::ComparedBy::kProblem;
  if (name == "answer") return data::ComparedBy::kAnswer;
  if (name == "both") return data::ComparedBy::kBoth;
  return fail(ErrorCode::kInvalidArgument, "--by: expected problem, answer or both, not \"{}\"",
              printable(name, 40));
}

std::string line_of(const Json& value) {
  return value.dump(-1, ' ', false, Json::error_handler_t::replace) + "\n";
}

// Benchmark problems of an argument, with their graphs where these are wanted.
class BenchmarkReader {
 public:
  BenchmarkReader(const DataDecontaminateCommand& command, const Services& services)
      : command_(command), services_(services) {}

  Status read(data::Benchmark& benchmark) {
    for (const std::string& argument : command_.against) {
      KW_TRY(std::string path, locate_problem(services_, argument));
      KW_TRY(auto loaded, task::load_each_problem(path, {}));
      for (const task::LoadedProblem& one : loaded) {
        if (!one.problem)  // one that is passed over might be shown in training
          return tl::unexpected(Error(one.problem.error()).with_context(one.name));
        KW_TRY(auto graph, graph_of(*one.problem));
        benchmark.add(*one.problem, graph ? &*graph : nullptr);
      }
    }
    benchmark.finish();
    return {};
  }

 private:
  Result<std::optional<writer::Graph>> graph_of(const task::Problem& problem) {
    std::optional<writer::Graph> out;
    if (!command_.trace) return out;
    if (!judge_) {
      KW_TRY(judge_, services_.start_judge({}));
    }
    auto graph = judge_->trace({problem, "", 120, 0}, services_.stop);
    if (!graph && graph.error().code() == ErrorCode::kCancelled)
      return tl::unexpected(std::move(graph).error());
    if (graph) out = std::move(*graph);
    return out;
  }

  const DataDecontaminateCommand& command_;
  const Services& services_;
  std::unique_ptr<Judge> judge_;
};

struct Removed {
  std::uint64_t samples = 0;
  std::map<std::string, std::map<std::string, std::uint64_t>> by_problem;  // then by rule
};

std::string markdown_of(const DataDecontaminateCommand& command, const Json& summary,
                        const Removed& removed) {
  std::string out = fmt::format(
      "# Decontamination of {}\n\nAgainst {}: {} problems.\n\n| | |\n|---|---|\n| samples read | "
      "{} "
      "|\n| taken out | {} |\n| kept | {} |\n",
      command.in, join(command.against, ", "), summary["problems"].dump(), summary["rows"].dump(),
      summary["removed"].dump(), summary["kept"].dump());
  out += fmt::format(
      "\n`source`: the problem's source is the same but for names, comments and layout. `graph`: "
      "the same operators on the same sizes. `shingles`: at least {:.0f} % of the problem's own "
      "runs "
      "of {} tokens are shown. {} problems have no graph, and {} too few runs of their own.\n",
      100 * command.overlap, data::kShingle, summary["problems_without_graph"].dump(),
      summary["problems_without_shingles"].dump());
  if (removed.by_problem.empty()) return out;
  out += "\n| problem | source | graph | shingles |\n|---|---|---|---|\n";
  for (const auto& [problem, rules] : removed.by_problem) {
    const auto count = [&](const char* rule) {
      auto found = rules.find(rule);
      return found == rules.end() ? 0 : found->second;
    };
    out += fmt::format("| {} | {} | {} | {} |\n", printable(problem, 120), count("source"),
                       count("graph"), count("shingles"));
  }
  return out;
}

}  // namespace

Result<int> run_data_dedup(const DataDedupCommand& command, const Services& services) {
  data::DedupOptions options;
  KW_TRY(options.by, parse_by(command.by));
  if (command.threshold != 0) KW_TRY_STATUS(check_range("--threshold", command.threshold, 0.3, 1));
  options.threshold = command.threshold;
  KW_TRY(data::OutputFile out, data::OutputFile::create(command.out, command.replace));
  KW_TRY(auto removed, optional_output(command.removed, command.replace));
  const auto begun = services.now();
  KW_TRY(data::DedupCounts counts,
         data::dedup(command.in, options, out, removed ? &*removed : nullptr));
  if (removed) KW_TRY_STATUS(removed->close());
  KW_TRY_STATUS(out.close());
  const double seconds = std::chrono::duration<double>(services.now() - begun).count();
  if (command.json) {
    const Json summary = {{"rows", counts.rows}, {"kept", counts.kept},   {"same", counts.same},
                          {"near", counts.near}, {"bytes", counts.bytes}, {"seconds", seconds}};
    KW_TRY_STATUS(services.console.out(line_of(summary)));
    return 0;
  }
  services.console.err(fmt::format("{} in {:.1f} s\n", format_bytes(counts.bytes), seconds));
  KW_TRY_STATUS(services.console.out(
      fmt::format("samples   {}\n  same    {}\n  near    {}\nkept      {}\nwritten   {}\n",
                  counts.rows, counts.same, counts.near, counts.kept, command.out)));
  return 0;
}

Result<int> run_data_decontaminate(const DataDecontaminateCommand& command,
                                   const Services& services) {
  if (command.against.empty())
    return fail(ErrorCode::kInvalidArgument, "--against: name a benchmark");
  KW_TRY_STATUS(check_range("--overlap", command.overlap, 0.05, 1));
  data::Benchmark benchmark(command.overlap);
  KW_TRY(data::OutputFile out, data::OutputFile::create(command.out, command.replace));
  KW_TRY(auto report, optional_output(command.report, command.replace));
  KW_TRY_STATUS(BenchmarkReader(command, services).read(benchmark));
  std::uint64_t rows = 0;
  Removed removed;
  using Match = std::optional<data::Benchmark::Match>;
  KW_TRY_STATUS(data::map_samples<Match>(
      command.in, [&](const data::Sample& sample) { return benchmark.match(sample); },
      [&](const std::string& id, std::string_view line, const Match& match) -> Status {
        if (services.stop.stop_requested()) return fail(ErrorCode::kCancelled, "interrupted");
        ++rows;
        if (!match) return out.append_line(line);
        ++removed.samples;
        ++removed.by_problem[match->problem][std::string(to_string(match->rule))];
        if (!report) return {};
        const Json entry = {{"id", id},
                            {"problem", match->problem},
                            {"rule", to_string(match->rule)},
                            {"overlap", match->overlap}};
        return report->append_line(entry.dump());
      }));
  const Json summary = {{"rows", rows},
                        {"removed", removed.samples},
                        {"kept", rows - removed.samples},
                        {"problems", benchmark.size()},
                        {"problems_without_graph", benchmark.without_graph()},
                        {"problems_without_shingles", benchmark.without_shingles()},
                        {"overlap", command.overlap},
                        {"by_problem", removed.by_problem}};
  if (report) KW_TRY_STATUS(report->close());
  if (!command.markdown.empty())
    KW_TRY_STATUS(os::write_file_atomic(command.markdown, markdown_of(command, summary, removed)));
  KW_TRY_STATUS(out.close());
  if (command.json) {
    KW_TRY_STATUS(services.console.out(line_of(summary)));
    return 0;
  }
  std::string text = fmt::format("samples   {}\ntaken out {}\n", rows, removed.samples);
  for (const auto& [problem, rules] : removed.by_problem) {
    for (const auto& [rule, count] : rules)
      text += fmt::format("  {:<8} {:>6}  {}\n", rule, count, printable(problem, 80));
  }
  text += fmt::format("kept      {}\nwritten   {}\n", rows - removed.samples, command.out);
  KW_TRY_STATUS(services.console.out(text));
  return 0;
}

Result<int> run_data_split(const DataSplitCommand& command, const Services& services) {
  data::SplitOptions options;
  KW_TRY(options.seed, parse_seed(command.seed));
  KW_TRY_STATUS(check_range("--validation", command.validation, 0, 0.9));
  KW_TRY_STATUS(check_range("--test", command.test, 0, 0.9));
  KW_TRY_STATUS(check_range("--held-out", command.adjacencies, 0, 1));
  KW_TRY_STATUS(check_range("--most-common", command.most_common, 0, 1));
  KW_TRY_STATUS(check_range("--deeper-than", command.deeper_than, 0, 1e6));
  if (command.validation + command.test >= 1)
    return fail(ErrorCode::kInvalidArgument, "--validation and --test leave nothing to train on");
  options.validation = command.validation;
  options.test = command.test;
  options.adjacencies = command.adjacencies;
  options.most_common = command.most_common;
  options.deeper_than = command.deeper_than;
  std::error_code made;
  fs::create_directories(command.out, made);
  if (made)
    return fail(ErrorCode::kPermissionDenied, "cannot make the folder {}: {}", command.out,
                made.message());
  KW_TRY(data::SplitReport report, data::split_dataset(command.in, command.out, options));
  Json summary = to_json(report);
  summary["options"] = {{"seed", options.seed},
                        {"validation", options.validation},
                        {"test", options.test},
                        {"held_out", options.adjacencies},
                        {"most_common", options.most_common},
                        {"deeper_than", options.deeper_than}};
  KW_TRY_STATUS(
      os::write_file_atomic(fs::path(command.out) / "split.json", summary.dump(1) + "\n"));
  if (command.json) {
    KW_TRY_STATUS(services.console.out(line_of(summary)));
    return 0;
  }
  std::string text;
  for (std::size_t i = 0; i < data::kParts; ++i)
    text += fmt::format("{:<11} {:>9} samples {:>9} groups\n",
                        to_string(static_cast<data::Part>(i)), report.samples[i], report.groups[i]);
  text += fmt::format("held out    {} of {} operator adjacencies", report.held_out.size(),
                      report.kinds_of_adjacencies);
  if (report.without_operators > 0)
    text += fmt::format("; {} samples name no operators", report.without_operators);
  text += fmt::format(
      "\nverified    {} held-out adjacencies in train, {} deeper graphs in train, {} groups in two "
      "parts\nwritten     {}\n",
      report.held_out_in_train, report.too_deep_in_train, report.shared_groups, command.out);
  KW_TRY_STATUS(services.console.out(text));
  return 0;
}

}  // namespace kw::front
