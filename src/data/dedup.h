// Takes out samples that say what an earlier one says.
#pragma once
#include <cstdint>
#include <filesystem>

#include "base/result.h"
#include "data/features.h"
#include "data/files.h"

namespace kw::data {

struct DedupOptions {
  ComparedBy by = ComparedBy::kBoth;
  double threshold = 0.85;  // Jaccard similarity of token shingles; 0: equal ones only
};

struct DedupCounts {
  std::uint64_t rows = 0, kept = 0, bytes = 0;
  std::uint64_t same = 0;  // equal but for names, comments, docstrings and layout
  std::uint64_t near = 0;
};

// The first of equal samples stays, in the order of the file. removed, where it is not null, gets a
// line {"id", "reason": "same" or "near", "as": id of the one that stays, "similarity"} for each
// that goes. Uses all cores. Memory: about 70 bytes a kept row, and 500 more with a threshold.
Result<DedupCounts> dedup(const std::filesystem::path& in, const DedupOptions& options,
                          OutputFile& out, OutputFile* removed);

}  // namespace kw::data
