// Parquet files as JSON Lines over a descriptor.
#pragma once
#include <filesystem>

#include "base/json.h"
#include "base/result.h"

namespace kw::parquet_files {

// Writes every row as a line. Memory: a row group's columns, as far as Parquet's pages need it.
Status read_rows(const std::filesystem::path& path, int to);

// Lines until the end of input become a file with this schema (type_of() of an object), written
// beside its name and renamed. The number of rows.
Result<std::int64_t> write_rows(int from, const std::filesystem::path& path, const Json& schema);

}  // namespace kw::parquet_files
