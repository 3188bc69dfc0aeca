// Parquet files through kernelwright-parquet, a program of its own: this one links no Arrow.
#pragma once
#include <cstdint>
#include <filesystem>
#include <optional>
#include <string_view>

#include "base/json.h"
#include "data/files.h"
#include "kernelwright/services.h"
#include "os/child_program.h"

namespace kw::front {

// Rows as lines. One thread.
class ParquetReader {
 public:
  // kUnsupported with what to do where the program was not built.
  static Result<ParquetReader> open(const std::filesystem::path& path, const Services& services);
  // False at the end. Errors are those of the program: a file that is no Parquet, a type that JSON
  // has not.
  Result<bool> next(std::string_view& line);

 private:
  ParquetReader(os::ChildProgram child, data::LineReader lines)
      : child_(std::move(child)), lines_(std::move(lines)) {}
  os::ChildProgram child_;
  data::LineReader lines_;
};

// A file that is there whole, after close(), or not at all. One thread.
class ParquetWriter {
 public:
  // schema: {"column": "string" | "int64" | "float64" | "bool" | [TYPE] | {"field": TYPE}, ...}
  static Result<ParquetWriter> create(const std::filesystem::path& path, const Json& schema,
                                      const Services& services);
  Status append(const Json& row);
  Result<std::uint64_t> close();  // the number of rows

 private:
  ParquetWriter(os::ChildProgram child, os::UniqueFd socket)
      : child_(std::move(child)), socket_(std::move(socket)) {}
  Status flush();
  Result<std::string> reply();

  os::ChildProgram child_;
  os::UniqueFd socket_;
  std::string buffer_;
};

}  // namespace kw::front
