// Libraries that are looked for when they are first needed.
#pragma once
#include <filesystem>
#include <initializer_list>
#include <string>
#include <vector>

#include "base/result.h"

namespace kw::cuda {

// A library stays loaded until the process ends.
class Library {
 public:
  // The first of names that can be loaded: from the folders of KW_CUDA_LIBRARIES (separated by
  // colons), where the loader looks, /usr/local/cuda/lib64, /usr/local/nvidia/lib64, and the nvidia
  // packages of KW_PYTHON or python3. kUnsupported names what was looked for and why it failed.
  static Result<Library> open(const std::string& purpose, const std::vector<std::string>& names);
  // kUnsupported names the function: a library of another version.
  template <typename F>
  Status find(const char* name, F*& function) const {
    void* found = symbol(name);
    if (found == nullptr)
      return fail(ErrorCode::kUnsupported, "{} has no {}: another version is needed", path_, name);
    function = reinterpret_cast<F*>(found);
    return {};
  }
  const std::string& path() const { return path_; }

 private:
  Library(void* handle, std::string path) : handle_(handle), path_(std::move(path)) {}
  void* symbol(const char* name) const;
  void* handle_;
  std::string path_;
};

// Folders that may have CUDA's libraries, in the order in which they are searched.
std::vector<std::filesystem::path> cuda_library_folders();

}  // namespace kw::cuda
