#include "kernelwright/data/decontaminate.h"

#include <map>
#include <memory>
#include <optional>
#include <utility>

#include "base/text.h"
#include "data/benchmark.h"
#include "data/features.h"
#include "data/map_samples.h"
#include "data/output_pair.h"
#include "kernelwright/cli/settings.h"
#include "kernelwright/data/session.h"
#include "kernelwright/json_line.h"
#include "kernelwright/problems/folder.h"
#include "kernelwright/traced_graph.h"
#include "os/file.h"
#include "task/problem_source.h"

namespace kw::front {
namespace {

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
    auto graph = traced_graph(*judge_, {.problem = problem, .workload = ""}, services_.stop);
    if (!graph && graph.error().code() == ErrorCode::kCancelled)
      return tl::unexpected(std::move(graph).error());
    if (graph) out = std::move(*graph);
    return out;
  }

  const DataDecontaminateCommand& command_;
  const Services& services_;
  std::unique_ptr<gym::Judge> judge_;
};

struct Removed {
  std::uint64_t rows = 0, samples = 0;  // rows: all that were read
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
  for (const auto& one : removed.by_problem) {
    const auto& rules = one.second;
    const auto count = [&rules](const char* rule) {
      auto found = rules.find(rule);
      return found == rules.end() ? 0 : found->second;
    };
    out += fmt::format("| {} | {} | {} | {} |\n", printable(one.first, 120), count("source"),
                       count("graph"), count("shingles"));
  }
  return out;
}

// Every sample through the benchmark: what it shows is taken out.
Result<Removed> take_out(const DataDecontaminateCommand& command, const Services& services,
                         const data::Benchmark& benchmark, data::OutputPair& out) {
  Removed removed;
  using Match = std::optional<data::Benchmark::Match>;
  KW_TRY(const std::uint64_t bytes,
         data::map_samples<Match>(
             command.in, [&](const data::Sample& sample) { return benchmark.match(sample); },
             [&](const std::string& id, std::string_view line, const Match& match) -> Status {
               if (services.stop.stop_requested())
                 return fail(ErrorCode::kCancelled, "interrupted");
               ++removed.rows;
               if (!match) return out.out().append_line(line);
               ++removed.samples;
               ++removed.by_problem[match->problem][std::string(to_string(match->rule))];
               if (out.beside() == nullptr) return {};
               const Json entry = {{"id", id},
                                   {"problem", match->problem},
                                   {"rule", to_string(match->rule)},
                                   {"overlap", match->overlap}};
               return out.beside()->append_line(entry.dump());
             }));
  static_cast<void>(bytes);
  return removed;
}

std::string text_of(const DataDecontaminateCommand& command, const Removed& removed) {
  std::string out = fmt::format("samples   {}\ntaken out {}\n", removed.rows, removed.samples);
  for (const auto& [problem, rules] : removed.by_problem) {
    for (const auto& [rule, count] : rules)
      out += fmt::format("  {:<9} {:>6}  {}\n", rule, count, printable(problem, 80));
  }
  return out +
         fmt::format("kept      {}\nwritten   {}\n", removed.rows - removed.samples, command.out);
}

}  // namespace

Result<int> run_data_decontaminate(const DataDecontaminateCommand& command,
                                   const Services& services) {
  if (command.against.empty())
    return fail(ErrorCode::kInvalidArgument, "--against: name a benchmark");
  KW_TRY_STATUS(check_ranges(command, OptionNames::kFlags));
  data::Benchmark benchmark(command.overlap);
  KW_TRY(data::OutputPair out,
         data::OutputPair::create(command.out, command.report, existing(command.replace)));
  KW_TRY_STATUS(BenchmarkReader(command, services).read(benchmark));
  KW_TRY(const Removed removed, take_out(command, services, benchmark, out));
  const Json summary = {{"rows", removed.rows},
                        {"removed", removed.samples},
                        {"kept", removed.rows - removed.samples},
                        {"problems", benchmark.size()},
                        {"problems_without_graph", benchmark.without_graph()},
                        {"problems_without_shingles", benchmark.without_shingles()},
                        {"overlap", command.overlap},
                        {"by_problem", removed.by_problem}};
  if (!command.markdown.empty())
    KW_TRY_STATUS(os::write_file_atomic(command.markdown, markdown_of(command, summary, removed)));
  KW_TRY_STATUS(out.close());
  KW_TRY_STATUS(
      services.console.out(command.json ? json_line(summary) : text_of(command, removed)));
  return 0;
}

}  // namespace kw::front
