// RowFile: a JSON Lines file, or a Parquet file (its name ends in .parquet) as one, read row by row
// in any order.
#pragma once
#include <cstdint>
#include <filesystem>
#include <string>
#include <string_view>
#include <vector>

#include "base/json.h"
#include "base/result.h"
#include "os/memory.h"

namespace kw::train {

// Maps the file and keeps the places of its lines: 16 bytes a row. Reading is safe from several
// threads. The file must not be cut while it is open.
class RowFile {
 public:
  // kNotFound; kInvalidArgument for a file without rows; for Parquet also as parquet_lines(). Lines
  // of white space are no rows.
  static Result<RowFile> open(const std::filesystem::path& path);

  std::size_t size() const { return rows_.size(); }
  const std::string& name() const { return name_; }
  // kInvalidArgument "FILE:LINE: ..." for a line that is not JSON. Of Parquet: columns and fields
  // that are null are left out, as in a row of JSON that has not all keys.
  Result<Json> read(std::size_t row) const;
  std::string where(std::size_t row) const;  // "FILE:LINE", or "FILE: row N" of Parquet, from 1

 private:
  struct Row {
    std::uint64_t offset = 0;
    std::uint32_t bytes = 0, line = 0;
  };
  std::string name_;
  bool is_table_ = false;  // Parquet
  os::Mapping mapping_;
  std::vector<Row> rows_;
};

}  // namespace kw::train
