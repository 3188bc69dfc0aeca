// Journal: a file of JSON Lines that only grows and outlives crashes.
#pragma once
#include <cstdint>
#include <filesystem>
#include <functional>
#include <string>
#include <string_view>

#include "base/result.h"
#include "os/fd.h"

namespace kw::os {

// Every line is synced; a lock keeps two runs apart. One thread at a time.
class Journal {
 public:
  using Visit = std::function<Status(const std::string& line)>;

  // Makes the file and the folders above it. visit is called for every whole line that is there;
  // its errors get "FILE:LINE" in front. A cut last line is dropped. kAlreadyExists when another
  // run holds the file.
  static Result<Journal> open(const std::filesystem::path& path, const Visit& visit);

  // The same lines, for readers: no lock, and the file stays as it is.
  static Status read(const std::filesystem::path& path, const Visit& visit);

  // After an error (a full disk) the file ends with the last whole line, and nothing can be
  // appended any more.
  Status append(std::string_view line);
  const std::filesystem::path& path() const { return path_; }

 private:
  Journal(std::filesystem::path path, UniqueFd lock, std::uint64_t bytes)
      : path_(std::move(path)), lock_(std::move(lock)), bytes_(bytes) {}

  std::filesystem::path path_;
  UniqueFd lock_;
  std::uint64_t bytes_ = 0;
  bool broken_ = false;
};

// kPermissionDenied when the file cannot be cut to this length.
Status cut_file(const std::filesystem::path& path, std::uint64_t bytes);

}  // namespace kw::os
