#include "data/removal_stats.h"

#include <algorithm>
#include <cmath>
#include <functional>
#include <utility>
#include <vector>

#include "base/text.h"
#include "data/files.h"
#include "data/stats.h"

namespace kw::data {
namespace {

std::string step_of(double share) {
  constexpr int kSteps = 20;
  const int step = static_cast<int>(std::floor(std::clamp(share, 0.0, 1.0) * kSteps + 1e-9));
  if (step == kSteps) return "1";
  return fmt::format("{:.2f} to {:.2f}", step / double{kSteps}, (step + 1) / double{kSteps});
}

Status for_each_line(const std::filesystem::path& path,
                     const std::function<Status(ObjectReader& line)>& visit) {
  KW_TRY(LineReader reader, LineReader::open(path));
  for (std::string_view text;;) {
    KW_TRY(const bool more, reader.next(text));
    if (!more) return {};
    if (trim(text).empty()) continue;
    const Status visited = [&]() -> Status {
      KW_TRY(const Json value, parse_json(text));
      KW_TRY(ObjectReader line, ObjectReader::make(value, ""));
      return visit(line);
    }();
    if (!visited) return tl::unexpected(Error(visited.error()).with_context(reader.where()));
  }
}

}  // namespace

Result<DedupRemovals> read_dedup_removals(const std::filesystem::path& path) {
  DedupRemovals out;
  KW_TRY_STATUS(for_each_line(path, [&out](ObjectReader& line) -> Status {
    KW_TRY(const std::string reason, line.string("reason"));
    KW_TRY(const double similarity, line.number("similarity"));
    ++out.rows;
    ++out.reasons[reason];
    if (reason == "near") ++out.similarities[step_of(similarity)];
    return {};
  }));
  return out;
}

Result<BenchmarkRemovals> read_benchmark_removals(const std::filesystem::path& path) {
  BenchmarkRemovals out;
  KW_TRY_STATUS(for_each_line(path, [&out](ObjectReader& line) -> Status {
    KW_TRY(const std::string rule, line.string("rule"));
    KW_TRY(const std::string problem, line.string("problem"));
    KW_TRY(const double overlap, line.number("overlap"));
    ++out.rows;
    ++out.rules[rule];
    ++out.problems[problem];
    if (rule == "shingles") ++out.overlaps[step_of(overlap)];
    return {};
  }));
  return out;
}

Json to_json(const DedupRemovals& removals) {
  return {{"rows", removals.rows},
          {"reasons", removals.reasons},
          {"similarities", removals.similarities}};
}

Json to_json(const BenchmarkRemovals& removals) {
  return {{"rows", removals.rows},
          {"rules", removals.rules},
          {"problems", removals.problems},
          {"overlaps", removals.overlaps}};
}

std::string to_text(const DedupRemovals& removals) {
  return fmt::format("taken out by dedup {}\n", removals.rows) +
         count_table("reason", removals.reasons, removals.rows) +
         count_table("similarity of near ones", removals.similarities, removals.rows);
}

std::string to_text(const BenchmarkRemovals& removals) {
  return fmt::format("taken out by decontaminate {}\n", removals.rows) +
         count_table("rule", removals.rules, removals.rows) +
         count_table("problem", removals.problems, removals.rows) +
         count_table("overlap of shingles", removals.overlaps, removals.rows);
}

}  // namespace kw::data
