// Counts over a data set, for people, data cards and reports.
#pragma once
#include <cstdint>
#include <map>
#include <string>
#include <unordered_set>
#include <vector>

#include "base/json.h"
#include "data/sample.h"

namespace kw::data {

// Lengths from `from` to below the next power of two; the first bin holds 0 alone.
struct LengthBin {
  std::uint64_t from = 0, count = 0;

  std::uint64_t to() const { return from == 0 ? 1 : 2 * from; }
};

struct LengthSummary {
  std::uint64_t total = 0;
  std::uint32_t median = 0, p90 = 0, p99 = 0, longest = 0;
  std::vector<LengthBin> bins;  // without a gap, from the shortest to the longest
};

struct Stats {
  std::uint64_t samples = 0, answered = 0, pending = 0, groups = 0, problems = 0;
  // A sample counts in each of its operators once, and in each of its licences; "" is left out.
  std::map<std::string, std::uint64_t> kinds, languages, families, operators, strategies, tiers,
      depths, templates, mutations, outcomes, origins, licences;
  LengthSummary question_bytes, answer_bytes;
};
Json to_json(const Stats& stats);
std::string to_text(const Stats& stats);  // the most common 20 of each
// One table of the text: the most common 20 with their shares of all; "" without counts.
std::string count_table(const char* title, const std::map<std::string, std::uint64_t>& counts,
                        std::uint64_t all);

// Memory: 8 bytes a sample, and hashes of groups and problems.
class StatsCollector {
 public:
  void add(const Sample& sample);
  Stats finish();

 private:
  Stats stats_;
  std::vector<std::uint32_t> questions_, answers_;
  std::unordered_set<std::uint64_t> groups_, problems_;  // hashes
};

}  // namespace kw::data
