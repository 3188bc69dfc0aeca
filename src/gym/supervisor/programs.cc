// Finding our own files: beside the running program in a build folder, as the launcher script and
// the bundle lay them out.
#include "gym/supervisor/programs.h"

#include <algorithm>
#include <cstdlib>

#include <unistd.h>

#include "os/file.h"

namespace kw::gym {
namespace {

namespace fs = std::filesystem;

// NAME in the folder of the programs, or in lib/ beside it.
Result<fs::path> find_beside(const fs::path& folder, const std::string& name) {
  for (const fs::path& candidate : {folder / name, folder.parent_path() / "lib" / name}) {
    std::error_code ignored;
    if (fs::exists(candidate, ignored)) return fs::canonical(candidate, ignored);
  }
  return fail(ErrorCode::kNotFound,
              "{} is not built: run ./kernelwright once, or cmake --build build/dev",
              (folder / name).string());
}

// The folder above that holds python/zygote.py: the checkout or the bundle.
fs::path find_checkout(fs::path folder) {
  std::error_code ignored;
  for (; folder.has_relative_path(); folder = folder.parent_path()) {
    if (fs::exists(folder / "python" / "zygote.py", ignored)) return folder;
  }
  return {};
}

std::string on_path(const std::string& name) {
  const char* path =
      std::getenv("PATH");  // NOLINT(concurrency-mt-unsafe): read before threads start
  std::string rest = path != nullptr ? path : "/usr/local/bin:/usr/bin:/bin";
  for (std::size_t at = 0; at <= rest.size();) {
    std::size_t end = std::min(rest.find(':', at), rest.size());
    std::string candidate = rest.substr(at, end - at) + "/" + name;
    if (::access(candidate.c_str(), X_OK) == 0) return candidate;
    at = end + 1;
  }
  return {};
}

}  // namespace

Result<Programs> find_programs(const GymOptions& options) {
  Programs programs;
  fs::path folder =
      options.programs_folder.empty() ? os::program_folder() : options.programs_folder;
  KW_TRY(programs.launcher, find_beside(folder, "kernelwright-launcher"));
  KW_TRY(programs.checker, find_beside(folder, "kernelwright-checker"));
  KW_TRY(programs.executor, find_beside(folder, "kernelwright-executor"));
  KW_TRY(programs.compiler, find_beside(folder, "kernelwright-compiler"));
  if (auto found = find_beside(folder, "kernelwright-gpu-executor"))
    programs.gpu_executor = std::move(*found);
  KW_TRY(programs.arena_library, find_beside(folder, "libkw_arena.so"));
  KW_TRY(programs.sandbox_leaf_library, find_beside(folder, "libkw_sandbox_leaf.so"));
  fs::path checkout = find_checkout(folder);
  programs.python_folder =
      options.python_folder.empty() ? checkout / "python" : options.python_folder;
  std::error_code ignored;
  const char* chosen =
      std::getenv("KW_PYTHON");  // NOLINT(concurrency-mt-unsafe): read before threads start
  if (!options.python.empty()) {
    programs.python = options.python;
  } else if (chosen != nullptr && chosen[0] != '\0') {
    programs.python = chosen;
  } else if (fs::exists(checkout / ".venv" / "bin" / "python", ignored)) {
    programs.python = checkout / ".venv" / "bin" / "python";
  } else {
    programs.python = on_path("python3");
  }
  return programs;
}

}  // namespace kw::gym
