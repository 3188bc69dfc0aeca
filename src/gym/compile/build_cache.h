// BuildCache: shared objects by the hash of everything that goes into them. Format:
// docs/formats/build_cache.md.
#pragma once
#include <cstdint>
#include <filesystem>
#include <mutex>
#include <optional>
#include <string>
#include <string_view>

#include "base/result.h"
#include "os/fd.h"

namespace kw::gym {

// Only the supervisor fills it, with artefacts that it has validated. Identical candidates share a
// build, never a time. Several supervisors may use one folder at once: an entry appears by rename
// and is never changed, and every reader checks its SHA-256. Any thread may call.
class BuildCache {
 public:
  static constexpr std::uint64_t kDefaultCapBytes = 2ULL << 30U;

  // The folder is made when first needed. Normally os::cache_home() / "builds".
  explicit BuildCache(std::filesystem::path folder, std::uint64_t cap_bytes = kDefaultCapBytes);

  // The artefact as a memory file sealed against every change, or nothing. A damaged entry counts
  // as missing: it is removed and the loss logged. `key`: 64 hex digits.
  Result<std::optional<os::UniqueFd>> find(std::string_view key);

  // Stores the artefact; an entry with this key is replaced. When the folder holds more than the
  // cap, the least recently used entries go until it holds nine tenths of it; an artefact larger
  // than that is not kept.
  Status insert(std::string_view key, std::string_view artifact);

  struct Size {
    std::uint64_t bytes = 0, entries = 0;
  };
  Result<Size> size() const;
  // Removes every entry and the files that crashed writers left; returns what was removed.
  Result<Size> clean();

  const std::filesystem::path& folder() const { return folder_; }

 private:
  std::filesystem::path path_of(std::string_view key) const;
  void evict();

  std::filesystem::path folder_;
  std::uint64_t cap_bytes_;
  std::mutex mutex_;
  // Inserted since the folder was last measured; measuring lists every entry, so it is done only
  // when the cap may have been reached.
  std::optional<std::uint64_t> estimated_bytes_;
  std::uint64_t inserts_since_measured_ = 0;
};

}  // namespace kw::gym
