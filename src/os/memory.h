// Memory files shared between processes, and mappings of them.
#pragma once
#include <cstddef>
#include <filesystem>
#include <span>
#include <string>
#include <utility>

#include "base/result.h"
#include "os/fd.h"

namespace kw::os {

// One mmap, unmapped on destruction.
class Mapping {
 public:
  Mapping() = default;
  Mapping(Mapping&& other) noexcept
      : data_(std::exchange(other.data_, nullptr)), bytes_(std::exchange(other.bytes_, 0)) {}
  Mapping& operator=(Mapping&& other) noexcept;
  Mapping(const Mapping&) = delete;
  Mapping& operator=(const Mapping&) = delete;
  ~Mapping();

  std::byte* data() const { return data_; }
  std::size_t size() const { return bytes_; }
  std::span<std::byte> bytes() const { return {data_, bytes_}; }
  bool valid() const { return data_ != nullptr; }

  // Shared mapping of the first `bytes` of fd, populated at once.
  static Result<Mapping> shared(int fd, std::size_t bytes, bool writable);
  // The same bytes to begin with; what is written here stays here.
  static Result<Mapping> copy_on_write(int fd, std::size_t bytes);
  // A whole file, read-only, read from disk where it is touched. A file that is cut while it is
  // mapped makes its reader fault. kNotFound, kPermissionDenied.
  static Result<Mapping> file(const std::filesystem::path& path);
  // The same of an open file. kInvalidArgument: empty, or not a file.
  static Result<Mapping> whole(int fd);
  // Zeros, in huge pages where the system gives them. kResourceExhausted.
  static Result<Mapping> anonymous(std::size_t bytes);

 private:
  Mapping(std::byte* data, std::size_t bytes) : data_(data), bytes_(bytes) {}
  std::byte* data_ = nullptr;
  std::size_t bytes_ = 0;
};

// A memory file of a fixed size (F_SEAL_SHRINK | F_SEAL_GROW), so that nobody can make a reader of
// it fault.
Result<UniqueFd> make_memory_file(const std::string& name, std::size_t bytes);

// From now on only existing mappings can write (F_SEAL_FUTURE_WRITE), and no seal can be added. Map
// it writable first.
Status seal_against_new_writers(int fd);
// No seal can be added any more (F_SEAL_SEAL): the holder of the descriptor cannot freeze the owner
// out.
Status seal_seals(int fd);

// A memory file with this content, sealed against every change.
Result<UniqueFd> make_sealed_file(const std::string& name, std::string_view content);

}  // namespace kw::os
