// The README.md of an exported data set.
#pragma once
#include <cstdint>
#include <string>
#include <vector>

#include "data/stats.h"

namespace kw::data {

struct ExportedPart {
  std::string name, file;  // "train", "data/train.parquet"
  std::uint64_t samples = 0;
};

// With the YAML head that Hugging Face reads: parts, licence, size; then counts, how much was
// verified, origins, and the columns of export_row.h.
std::string data_card(const std::string& name, const Stats& stats,
                      const std::vector<ExportedPart>& parts);

}  // namespace kw::data
