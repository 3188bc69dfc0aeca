// A run's folder, its only state: run.toml (resolved settings), events.jsonl, blobs/ab/abcd... (by
// SHA-256 of their bytes) and solutions/. docs/formats/run.md
#pragma once
#include <filesystem>
#include <string>
#include <string_view>

#include "base/result.h"
#include "os/journal.h"
#include "runlog/event.h"
#include "runlog/tree.h"

namespace kw::runlog {

// One thread appends; any thread reads blobs.
class RunFolder {
 public:
  // kAlreadyExists where there is a run.
  static Result<RunFolder> create(const std::filesystem::path& folder, const Json& settings);
  // Goes on with a run; a cut last line is dropped. kNotFound, kUnsupported for another schema,
  // kAlreadyExists when another process writes it. Errors name the line.
  static Result<RunFolder> resume(const std::filesystem::path& folder, Run& run);
  // For readers, also of a run that goes on: takes no lock and changes nothing.
  static Result<Run> read(const std::filesystem::path& folder);
  static Result<Json> read_settings(const std::filesystem::path& folder);

  // Synced before it returns. After an error nothing can be appended any more, and what was there
  // before is whole.
  Status append(const Event& event);

  // Written (or there already) when it returns, before any event that names it. The hash.
  Result<std::string> put(std::string_view bytes) const;
  // kDataLoss when the bytes do not have this hash.
  Result<std::string> get(const std::string& hash) const { return get(folder_, hash); }
  static Result<std::string> get(const std::filesystem::path& folder, const std::string& hash);

  const std::filesystem::path& path() const { return folder_; }

 private:
  RunFolder(std::filesystem::path folder, os::Journal journal)
      : folder_(std::move(folder)), journal_(std::move(journal)) {}

  std::filesystem::path folder_;
  os::Journal journal_;
};

}  // namespace kw::runlog
