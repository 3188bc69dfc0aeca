#include "kernelwright/data/stats_page.h"

#include <algorithm>
#include <map>
#include <numeric>
#include <utility>

#include "base/text.h"

namespace kw::front {
namespace {

using report::Distribution;
using Counts = std::map<std::string, std::uint64_t>;

Distribution by_count(std::string title, std::string description, const Counts& counts) {
  Distribution out{std::move(title), std::move(description), {}};
  for (const auto& [name, count] : counts)
    out.counts.emplace_back(name, static_cast<std::int64_t>(count));
  std::stable_sort(out.counts.begin(), out.counts.end(),
                   [](const auto& a, const auto& b) { return a.second > b.second; });
  return out;
}

// Names are whole numbers.
Distribution by_number(std::string title, std::string description, const Counts& counts) {
  std::map<long long, std::int64_t> sorted;
  for (const auto& [name, count] : counts)
    sorted[std::stoll(name)] += static_cast<std::int64_t>(count);
  Distribution out{std::move(title), std::move(description), {}};
  for (const auto& [number, count] : sorted) out.counts.emplace_back(std::to_string(number), count);
  return out;
}

Distribution by_length(std::string title, std::string description,
                       const data::LengthSummary& lengths) {
  Distribution out{std::move(title), std::move(description), {}};
  for (const data::LengthBin& bin : lengths.bins) {
    out.counts.emplace_back(
        bin.from == 0 ? "empty"
                      : fmt::format("{} to {}", format_bytes(bin.from), format_bytes(bin.to())),
        static_cast<std::int64_t>(bin.count));
  }
  return out;
}

report::LengthCurve curve(std::string name, const data::LengthSummary& lengths) {
  report::LengthCurve out{std::move(name), {}};
  double all = 0, below = 0;
  for (const data::LengthBin& bin : lengths.bins) all += static_cast<double>(bin.count);
  for (const data::LengthBin& bin : lengths.bins) {
    if (out.shares.empty() && bin.from > 0)
      out.shares.emplace_back(static_cast<double>(bin.from), 0);
    below += static_cast<double>(bin.count);
    out.shares.emplace_back(static_cast<double>(bin.to()), below / all);
  }
  return out;
}

std::string sum_of(const data::LengthSummary& lengths) {
  return fmt::format("{}, median {}", format_bytes(lengths.total), format_bytes(lengths.median));
}

report::DistributionSection length_section(const data::Stats& stats) {
  report::DistributionSection out{"Lengths", {}, {}};
  if (!stats.question_bytes.bins.empty())
    out.lengths.push_back(curve("questions", stats.question_bytes));
  if (!stats.answer_bytes.bins.empty()) out.lengths.push_back(curve("answers", stats.answer_bytes));
  out.distributions = {
      by_length("Questions", "Samples by the bytes of all messages before the answer.",
                stats.question_bytes),
      by_length("Answers", "Samples by the bytes of the answer.", stats.answer_bytes)};
  return out;
}

Distribution in_order(std::string title, std::string description, const Counts& counts) {
  Distribution out{std::move(title), std::move(description), {}};
  for (const auto& [name, count] : counts)
    out.counts.emplace_back(name, static_cast<std::int64_t>(count));
  return out;
}

report::DistributionSection dedup_section(const data::DedupRemovals& removals) {
  return {"Taken out as duplicates",
          {},
          {by_count("Reasons", "same: equal but for names, comments and layout; near: alike.",
                    removals.reasons),
           in_order("Similarity", "Of near duplicates: the share of token runs in both.",
                    removals.similarities)},
          static_cast<std::int64_t>(removals.rows)};
}

report::DistributionSection benchmark_section(const data::BenchmarkRemovals& removals) {
  return {"Taken out as a benchmark's",
          {},
          {by_count("Rules", "What the sample shows of a problem.", removals.rules),
           by_count("Problems", "Of the benchmark.", removals.problems),
           in_order("Overlap", "Of the rule shingles: the share of the problem's token runs.",
                    removals.overlaps)},
          static_cast<std::int64_t>(removals.rows)};
}

}  // namespace

report::DistributionPage stats_page(const StatsOfData& all, const std::string& name) {
  const data::Stats& stats = all.samples;
  report::DistributionPage out;
  out.title = name;
  out.all = static_cast<std::int64_t>(stats.samples);
  out.facts = {
      {"samples", std::to_string(stats.samples)},   {"answered", std::to_string(stats.answered)},
      {"pending", std::to_string(stats.pending)},   {"groups", std::to_string(stats.groups)},
      {"problems", std::to_string(stats.problems)}, {"questions", sum_of(stats.question_bytes)},
      {"answers", sum_of(stats.answer_bytes)}};
  out.sections = {length_section(stats),
                  {"Kinds",
                   {},
                   {by_count("Kinds", "What the answer was asked to do.", stats.kinds),
                    by_count("Languages", "Of the answer's kernel.", stats.languages),
                    by_count("Templates", "Of the question.", stats.templates)}},
                  {"Problems",
                   {},
                   {by_count("Families", "What the problem begins with.", stats.families),
                    by_count("Operators", "Samples that have the operator.", stats.operators),
                    by_number("Depth", "Operators on the longest path.", stats.depths),
                    by_number("Tiers", "Difficulty.", stats.tiers)}},
                  {"Answers",
                   {},
                   {by_count("Strategies", "How the kernel was written.", stats.strategies),
                    by_count("Outcomes", "What data filter found.", stats.outcomes),
                    by_count("Mutations", "What was made wrong in an earlier answer, for a repair.",
                             stats.mutations)}},
                  {"Origins",
                   {},
                   {by_count("Origins", "Data set, generator or teacher.", stats.origins),
                    by_count("Licences", "Of the source.", stats.licences)}}};
  if (all.dedup) out.sections.push_back(dedup_section(*all.dedup));
  if (all.benchmarks) out.sections.push_back(benchmark_section(*all.benchmarks));
  out.method =
      "Shares are of all samples in the file, of what was taken out of all that was. A sample "
      "counts once in each of its operators, and in each of "
      "its licences; a sample that does not say something is missing there.";
  return out;
}

}  // namespace kw::front
