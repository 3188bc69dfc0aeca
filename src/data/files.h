// Data sets on disk: lines in without holding the file in memory, lines out that are there whole or
// not at all.
#pragma once
#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <functional>
#include <string>
#include <string_view>

#include "base/result.h"
#include "data/sample.h"
#include "os/fd.h"

namespace kw::data {

inline constexpr std::size_t kMaxLine = 64ULL << 20U;

// Reads a file line by line. Only one thread may use it. Memory: a block and the longest line.
class LineReader {
 public:
  // kNotFound, kInvalidArgument for a folder or another device than a pipe; messages name the path.
  static Result<LineReader> open(const std::filesystem::path& path);
  // Over an open pipe or file; name: for messages.
  LineReader(os::UniqueFd fd, std::string name) : fd_(std::move(fd)), name_(std::move(name)) {}

  // False at the end. The line has no "\n", and stands until the next call. kInvalidArgument for a
  // line over kMaxLine.
  Result<bool> next(std::string_view& line);
  std::uint64_t number() const { return number_; }  // number of the last line, from 1
  std::uint64_t bytes() const { return bytes_; }    // read so far
  const std::string& name() const { return name_; }
  std::string where() const;  // "FILE:LINE"

 private:
  os::UniqueFd fd_;
  std::string name_;
  std::string buffer_;
  std::size_t begin_ = 0;
  bool end_ = false;
  std::uint64_t number_ = 0, bytes_ = 0;
};

// Calls visit for every sample of a data set, in order; empty lines are passed over. The first
// error, of a row ("FILE:LINE: ...") or of visit, ends it. kInvalidArgument for a file without
// samples.
Status for_each_sample(const std::filesystem::path& path,
                       const std::function<Status(Sample sample, std::string_view line)>& visit);

// A file with a temporary name until close(): readers see the old content or the whole new one.
// After an error neither name is left. Only one thread may use it.
class OutputFile {
 public:
  // kAlreadyExists when something is there, unless replace, or another run writes it; kNotFound
  // without its folder.
  static Result<OutputFile> create(const std::filesystem::path& path, bool replace);
  // Keeps what an unfinished run left, and is itself kept when it is not closed.
  static Result<OutputFile> go_on(const std::filesystem::path& path);
  OutputFile(OutputFile&& other) noexcept;
  OutputFile& operator=(OutputFile&& other) noexcept;
  ~OutputFile();

  Status append(std::string_view text);
  Status append_line(std::string_view line);
  Status flush();
  Status sync();  // waits until appended lines are on the disk
  // Drops everything behind the first `bytes`; nothing may have been appended.
  Status cut(std::uint64_t bytes);
  Status close();  // writes the rest, syncs, renames
  std::uint64_t bytes() const { return bytes_; }
  const std::filesystem::path& path() const { return path_; }
  const std::filesystem::path& partial() const { return partial_; }  // its name until close()

 private:
  OutputFile(std::filesystem::path path, std::filesystem::path partial, os::UniqueFd fd)
      : path_(std::move(path)), partial_(std::move(partial)), fd_(std::move(fd)) {}
  static Result<OutputFile> open(const std::filesystem::path& path, bool replace);

  std::filesystem::path path_, partial_;
  os::UniqueFd fd_;
  bool kept_ = false;  // when it is not closed
  std::string buffer_;
  std::uint64_t bytes_ = 0;
};

}  // namespace kw::data
