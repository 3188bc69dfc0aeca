// kernelwright cache size|clean: what is stored on this machine, and removing it.
#pragma once
#include <cstdint>
#include <filesystem>

#include "base/result.h"
#include "kernelwright/cli/options.h"
#include "kernelwright/services.h"

namespace kw::front {

struct FolderSize {
  std::uint64_t bytes = 0, files = 0;
};

// Everything below the folder, links not followed. Nothing when it does not exist.
FolderSize folder_size(const std::filesystem::path& folder);

Result<int> run_cache_size(const CacheSizeCommand& command, const Services& services);
// Empties the cache folder (builds, admissions); with `evidence` the stored evidence too. A gym
// that runs meanwhile builds again.
Result<int> run_cache_clean(const CacheCleanCommand& command, const Services& services);

}  // namespace kw::front
