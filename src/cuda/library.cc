// Python's folders are found by their names: no Python is started.
#include "cuda/library.h"

#include <algorithm>
#include <cstdlib>

#include <dlfcn.h>
#include <unistd.h>

#include "base/text.h"

namespace kw::cuda {
namespace {

namespace fs = std::filesystem;

std::string environment(const char* name) {
  const char* value = std::getenv(name);  // NOLINT(concurrency-mt-unsafe): never written
  return value == nullptr ? "" : value;
}

// The program as the shell would find it. Links are not followed: a virtual environment's python
// is a link out of it.
fs::path find_program(const std::string& name) {
  if (name.find('/') != std::string::npos) return name;
  for (const std::string& folder : split(environment("PATH"), ':')) {
    fs::path candidate = fs::path(folder) / name;
    if (!folder.empty() && ::access(candidate.c_str(), X_OK) == 0) return candidate;
  }
  return {};
}

std::vector<fs::path> subfolders(const fs::path& folder, std::string_view prefix = "") {
  std::vector<fs::path> out;
  std::error_code error;
  for (fs::directory_iterator i(folder, error), end; !error && i != end; i.increment(error)) {
    if (i->path().filename().string().starts_with(prefix) && i->is_directory(error))
      out.push_back(i->path());
  }
  std::sort(out.begin(), out.end());
  return out;
}

void add_python_folders(std::vector<fs::path>& out) {
  const std::string chosen = environment("KW_PYTHON");
  const fs::path python = find_program(chosen.empty() ? "python3" : chosen);
  if (python.empty()) return;
  const fs::path prefix = python.parent_path().parent_path();
  for (const fs::path& library : subfolders(prefix / "lib", "python3"))
    for (const char* packages : {"site-packages", "dist-packages"})
      for (const fs::path& package : subfolders(library / packages / "nvidia"))
        if (std::error_code error; fs::is_directory(package / "lib", error))
          out.push_back(package / "lib");
}

// NVRTC opens its builtins by name; where they lie beside it, it need not find them itself.
void open_companions(const fs::path& folder, const std::string& name) {
  if (!name.starts_with("libnvrtc.so")) return;
  std::error_code error;
  for (fs::directory_iterator i(folder, error), end; !error && i != end; i.increment(error))
    if (i->path().filename().string().starts_with("libnvrtc-builtins.so"))
      ::dlopen(i->path().c_str(), RTLD_NOW | RTLD_GLOBAL);
}

}  // namespace

std::vector<fs::path> cuda_library_folders() {
  std::vector<fs::path> out;
  for (const std::string& folder : split(environment("KW_CUDA_LIBRARIES"), ':'))
    if (!folder.empty()) out.emplace_back(folder);
  out.emplace_back();  // the loader's own
  out.emplace_back("/usr/local/cuda/lib64");
  out.emplace_back("/usr/local/nvidia/lib64");  // where containers get the host's driver
  add_python_folders(out);
  return out;
}

Result<Library> Library::open(const std::string& purpose, const std::vector<std::string>& names) {
  std::string reason;
  for (const fs::path& folder : cuda_library_folders()) {
    for (const std::string& name : names) {
      const fs::path path = folder / name;
      if (!folder.empty()) {
        if (::access(path.c_str(), R_OK) != 0) continue;
        open_companions(folder, name);
      }
      if (void* handle = ::dlopen(path.c_str(), RTLD_NOW | RTLD_LOCAL))
        return Library(handle, path.string());
      // glibc keeps it for each thread. NOLINTNEXTLINE(concurrency-mt-unsafe)
      const char* why = ::dlerror();
      if (!folder.empty() || reason.empty()) reason = why == nullptr ? "" : why;
    }
  }
  return fail(ErrorCode::kUnsupported,
              "no {} ({}): install it, or name its folder in KW_CUDA_LIBRARIES; {}", purpose,
              join(names, ", "), reason);
}

void* Library::symbol(const char* name) const {
  return ::dlsym(handle_, name);
}

}  // namespace kw::cuda
