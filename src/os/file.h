// Whole files with size limits, atomic replacement, temporary folders and the XDG folders.
#pragma once
#include <cstddef>
#include <filesystem>
#include <string>
#include <string_view>

#include "base/result.h"

namespace kw::os {

inline constexpr std::size_t kMaxTextFile = 64ULL << 20U;

// kNotFound, kInvalidArgument for a folder or device, kResourceExhausted over max_bytes; messages
// name the path.
Result<std::string> read_file(const std::filesystem::path& path,
                              std::size_t max_bytes = kMaxTextFile);
// Written beside the path, synced, then renamed over it: readers see the old or the new content.
Status write_file_atomic(const std::filesystem::path& path, std::string_view content);
// Appends and syncs one record; a crash leaves at most one cut line at the end.
Status append_line(const std::filesystem::path& path, std::string_view line);

// A folder of its own under the system's temporary folder, removed with everything in it on
// destruction.
class TempDir {
 public:
  static Result<TempDir> make(const std::string& prefix);
  TempDir(TempDir&& other) noexcept : path_(std::exchange(other.path_, {})) {}
  TempDir& operator=(TempDir&& other) noexcept;
  ~TempDir();
  const std::filesystem::path& path() const { return path_; }

 private:
  explicit TempDir(std::filesystem::path path) : path_(std::move(path)) {}
  std::filesystem::path path_;
};

std::filesystem::path cache_home();  // $XDG_CACHE_HOME/kernelwright, ~/.cache/kernelwright
std::filesystem::path data_home();   // $XDG_DATA_HOME/kernelwright, ~/.local/share/kernelwright

// The folder of the running program's executable.
std::filesystem::path program_folder();

}  // namespace kw::os
