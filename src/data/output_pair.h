// Outputs that appear together: a file with a second file beside it, and a folder of files.
#pragma once
#include <filesystem>
#include <optional>

#include "base/result.h"
#include "data/files.h"
#include "os/fd.h"

namespace kw::data {

// A data set and the list of the rows that are not in it. The list is renamed before the data set,
// so a data set that exists has its list. Only one thread may use it.
class OutputPair {
 public:
  enum class Existing { kRefused, kReplaced, kGoneOnWith };

  // beside: empty for none. A second file without its first was left by a run that was killed
  // between the two names: it is replaced where the first one's partial file is there too, and with
  // kGoneOnWith in any case. Otherwise as OutputFile::create().
  static Result<OutputPair> create(const std::filesystem::path& path,
                                   const std::filesystem::path& beside, Existing existing);

  OutputFile& out() { return out_; }
  OutputFile* beside() { return beside_ ? &*beside_ : nullptr; }  // nullptr: none
  Status close();

 private:
  OutputPair(OutputFile out, std::optional<OutputFile> beside)
      : out_(std::move(out)), beside_(std::move(beside)) {}

  OutputFile out_;
  std::optional<OutputFile> beside_;
};

// A folder with a temporary name until close(): it appears whole or not at all. Only one thread may
// use it.
class OutputFolder {
 public:
  // kAlreadyExists for a folder that is not empty, a file, or where another run writes it.
  static Result<OutputFolder> create(const std::filesystem::path& path);
  OutputFolder(OutputFolder&& other) noexcept;
  OutputFolder& operator=(OutputFolder&& other) noexcept;
  ~OutputFolder();

  const std::filesystem::path& path() const { return path_; }
  // Files are written into this folder.
  const std::filesystem::path& partial() const { return partial_; }
  Status close();  // syncs, renames

 private:
  OutputFolder(std::filesystem::path path, std::filesystem::path partial, os::UniqueFd lock)
      : path_(std::move(path)), partial_(std::move(partial)), lock_(std::move(lock)) {}

  std::filesystem::path path_, partial_;
  os::UniqueFd lock_;
};

}  // namespace kw::data
