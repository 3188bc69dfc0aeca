// The rows of a Parquet file as lines of JSON, through kernelwright-parquet: this program links no
// Arrow.
#pragma once
#include <filesystem>

#include "base/result.h"
#include "os/memory.h"

namespace kw::train {

// A line a row, in the file's order, in a file without a name in the system's temporary folder
// (TMPDIR): it takes room there, and memory only while it is read. The other program reads row
// group by row group. Its path is KW_PARQUET's, or it lies beside this program; kUnsupported where
// it is not. kNotFound, kInvalidArgument for what is no Parquet or has no rows, kResourceExhausted
// where the folder is full.
Result<os::Mapping> parquet_lines(const std::filesystem::path& path);

}  // namespace kw::train
