// Counts of what dedup and decontaminate took out of a data set, from the lists that they write
// beside it.
#pragma once
#include <cstdint>
#include <filesystem>
#include <map>
#include <string>

#include "base/json.h"
#include "base/result.h"

namespace kw::data {

// Counts by name; of tenths "0.80 to 0.85": shares in steps of 0.05, 1 by itself.
using RemovalCounts = std::map<std::string, std::uint64_t>;

struct DedupRemovals {  // from `data dedup --removed`
  std::uint64_t rows = 0;
  RemovalCounts reasons, similarities;  // similarities: of near ones
};

struct BenchmarkRemovals {  // from `data decontaminate --report`
  std::uint64_t rows = 0;
  RemovalCounts rules, problems, overlaps;  // overlaps: of the rule shingles
};

// Errors name FILE:LINE. A file without lines is no error: nothing was taken out.
Result<DedupRemovals> read_dedup_removals(const std::filesystem::path& path);
Result<BenchmarkRemovals> read_benchmark_removals(const std::filesystem::path& path);

Json to_json(const DedupRemovals& removals);
Json to_json(const BenchmarkRemovals& removals);
std::string to_text(const DedupRemovals& removals);
std::string to_text(const BenchmarkRemovals& removals);

}  // namespace kw::data
