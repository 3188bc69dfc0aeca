#include "data/stats.h"

#include <algorithm>
#include <bit>
#include <limits>
#include <set>
#include <span>
#include <utility>

#include "base/hash.h"
#include "base/text.h"

namespace kw::data {
namespace {

using Counts = std::map<std::string, std::uint64_t>;

std::uint32_t clipped(std::size_t bytes) {
  return static_cast<std::uint32_t>(
      std::min<std::size_t>(bytes, std::numeric_limits<std::uint32_t>::max()));
}

// Bins of sorted lengths.
std::vector<LengthBin> bins_of(const std::vector<std::uint32_t>& lengths) {
  std::vector<LengthBin> out;
  for (std::uint32_t length : lengths) {
    const std::uint64_t from = std::bit_floor(std::uint64_t{length});
    if (out.empty()) out.push_back({from, 0});
    while (out.back().from < from) out.push_back({out.back().to(), 0});
    ++out.back().count;
  }
  return out;
}

LengthSummary summary_of(std::vector<std::uint32_t>& lengths) {
  LengthSummary out;
  if (lengths.empty()) return out;
  std::sort(lengths.begin(), lengths.end());
  for (std::uint32_t length : lengths) out.total += length;
  const auto at = [&](double share) {
    return lengths[static_cast<std::size_t>(share * static_cast<double>(lengths.size() - 1))];
  };
  out.median = at(0.5);
  out.p90 = at(0.9);
  out.p99 = at(0.99);
  out.longest = lengths.back();
  out.bins = bins_of(lengths);
  return out;
}

void count(Counts& counts, const std::string& name) {
  if (!name.empty()) ++counts[name];
}

std::uint64_t text_hash(const std::string& text) {
  return keyed_hash(std::as_bytes(std::span(text)), 0);
}

// A text, or each text of a list.
std::vector<std::string> texts_of(const Json& object, const char* key) {
  std::vector<std::string> out;
  auto found = object.find(key);
  if (found == object.end()) return out;
  if (found->is_string()) out.push_back(found->get<std::string>());
  if (found->is_array()) {
    for (const Json& one : *found) {
      if (one.is_string()) out.push_back(one.get<std::string>());
    }
  }
  return out;
}

Json to_json(const LengthSummary& lengths) {
  Json bins = Json::array();
  for (const LengthBin& bin : lengths.bins)
    bins.push_back({{"from", bin.from}, {"count", bin.count}});
  return {{"total", lengths.total}, {"median", lengths.median},   {"p90", lengths.p90},
          {"p99", lengths.p99},     {"longest", lengths.longest}, {"bins", std::move(bins)}};
}

std::string length_line(const char* title, const LengthSummary& lengths) {
  return fmt::format("{:<16} {} in all; median {}, 90 % {}, 99 % {}, longest {}\n", title,
                     format_bytes(lengths.total), format_bytes(lengths.median),
                     format_bytes(lengths.p90), format_bytes(lengths.p99),
                     format_bytes(lengths.longest));
}

}  // namespace

std::string count_table(const char* title, const Counts& counts, std::uint64_t all) {
  if (counts.empty()) return "";
  std::vector<std::pair<std::string, std::uint64_t>> rows(counts.begin(), counts.end());
  std::stable_sort(rows.begin(), rows.end(),
                   [](const auto& a, const auto& b) { return a.second > b.second; });
  std::string out = fmt::format("{}\n", title);
  constexpr std::size_t kShown = 20;
  for (std::size_t i = 0; i < std::min(rows.size(), kShown); ++i)
    out +=
        fmt::format("  {:<32} {:>10}  {:>5.1f} %\n", printable(rows[i].first, 60), rows[i].second,
                    100.0 * static_cast<double>(rows[i].second) / static_cast<double>(all));
  if (rows.size() > kShown) out += fmt::format("  and {} more\n", rows.size() - kShown);
  return out;
}

void StatsCollector::add(const Sample& sample) {
  ++stats_.samples;
  if (sample.answered()) ++stats_.answered;
  if (sample.pending) ++stats_.pending;
  groups_.insert(text_hash(sample.group.empty() ? sample.id : sample.group));
  if (sample.problem) problems_.insert(text_hash(sample.problem->hash));
  count(stats_.kinds, std::string(to_string(sample.kind)));
  count(stats_.languages, sample.language);
  const std::set<std::string> operators(sample.labels.operators.begin(),
                                        sample.labels.operators.end());
  for (const std::string& name : operators) count(stats_.operators, name);
  count(stats_.strategies, sample.labels.strategy);
  if (sample.labels.tier) count(stats_.tiers, fmt::format("{}", *sample.labels.tier));
  if (sample.labels.depth) count(stats_.depths, fmt::format("{}", *sample.labels.depth));
  for (const auto& [key, counts] :
       {std::pair{"family", &stats_.families}, std::pair{"template", &stats_.templates},
        std::pair{"mutation", &stats_.mutations}}) {
    for (const std::string& name : texts_of(sample.labels.other, key)) count(*counts, name);
  }
  const auto outcomes =
      sample.verdict.is_object() ? texts_of(sample.verdict, "outcome") : std::vector<std::string>{};
  for (const std::string& outcome : outcomes) count(stats_.outcomes, outcome);
  for (const char* key : {"dataset", "generator", "teacher"}) {
    for (const std::string& origin : texts_of(sample.origin, key)) count(stats_.origins, origin);
  }
  for (const std::string& licence : texts_of(sample.origin, "licences"))
    count(stats_.licences, licence);
  std::size_t question = 0;
  for (const text::ChatMessage& message : sample.messages) question += message.content.size();
  question -= sample.answer().size();
  questions_.push_back(clipped(question));
  if (sample.answered()) answers_.push_back(clipped(sample.answer().size()));
}

Stats StatsCollector::finish() {
  stats_.groups = groups_.size();
  stats_.problems = problems_.size();
  stats_.question_bytes = summary_of(questions_);
  stats_.answer_bytes = summary_of(answers_);
  return stats_;
}

Json to_json(const Stats& stats) {
  return {{"samples", stats.samples},
          {"answered", stats.answered},
          {"pending", stats.pending},
          {"groups", stats.groups},
          {"problems", stats.problems},
          {"kinds", stats.kinds},
          {"languages", stats.languages},
          {"families", stats.families},
          {"operators", stats.operators},
          {"strategies", stats.strategies},
          {"tiers", stats.tiers},
          {"depths", stats.depths},
          {"templates", stats.templates},
          {"mutations", stats.mutations},
          {"outcomes", stats.outcomes},
          {"origins", stats.origins},
          {"licences", stats.licences},
          {"question_bytes", to_json(stats.question_bytes)},
          {"answer_bytes", to_json(stats.answer_bytes)}};
}

std::string to_text(const Stats& stats) {
  std::string out = fmt::format(
      "samples          {}, {} answered, {} pending\n"
      "groups           {}\n"
      "problems         {}\n",
      stats.samples, stats.answered, stats.pending, stats.groups, stats.problems);
  out += length_line("questions", stats.question_bytes);
  out += length_line("answers", stats.answer_bytes);
  out += count_table("kind", stats.kinds, stats.samples);
  out += count_table("language", stats.languages, stats.samples);
  out += count_table("family", stats.families, stats.samples);
  out += count_table("operator", stats.operators, stats.samples);
  out += count_table("strategy", stats.strategies, stats.samples);
  out += count_table("tier", stats.tiers, stats.samples);
  out += count_table("depth", stats.depths, stats.samples);
  out += count_table("template", stats.templates, stats.samples);
  out += count_table("mutation", stats.mutations, stats.samples);
  out += count_table("outcome", stats.outcomes, stats.samples);
  out += count_table("origin", stats.origins, stats.samples);
  out += count_table("licence", stats.licences, stats.samples);
  return out;
}

}  // namespace kw::data
