#include "gym/compile/cuda_toolchain.h"

#include <sys/stat.h>
#include <unistd.h>

#include "base/hash.h"
#include "base/json.h"

namespace kw::gym {
namespace fs = std::filesystem;
namespace {

const std::vector<fs::path> kSystemFolders = {"/usr/lib/x86_64-linux-gnu",
                                              "/usr/lib/aarch64-linux-gnu", "/usr/lib64"};

fs::path nvrtc_of(const fs::path& folder) {
  for (const char* name : {"libnvrtc.so.13", "libnvrtc.so.12"})
    if (::access((folder / name).c_str(), R_OK) == 0) return folder / name;
  return {};
}

fs::path find_nvrtc(const std::vector<fs::path>& folders) {
  for (const fs::path& folder : folders) {
    for (const fs::path& each : folder.empty() ? kSystemFolders : std::vector<fs::path>{folder})
      if (fs::path found = nvrtc_of(each); !found.empty()) return found;
  }
  return {};
}

Json stamp(const fs::path& path) {
  struct stat info{};
  if (path.empty() || ::stat(path.c_str(), &info) != 0) return nullptr;
  return {path.string(), info.st_size, info.st_mtim.tv_sec, info.st_mtim.tv_nsec};
}

}  // namespace

Result<CudaToolchain> resolve_cuda(const std::vector<fs::path>& library_folders,
                                   const std::vector<fs::path>& toolkits) {
  CudaToolchain out;
  out.nvrtc = find_nvrtc(library_folders);
  for (const fs::path& toolkit : toolkits) {
    auto program = [&](const char* name) {
      const fs::path path = toolkit / "bin" / name;
      return ::access(path.c_str(), X_OK) == 0 ? path.string() : std::string();
    };
    if (out.nvcc.empty()) out.nvcc = program("nvcc");
    if (out.ptxas.empty()) out.ptxas = program("ptxas");
    const bool headers = ::access((toolkit / "include/cuda_fp16.h").c_str(), R_OK) == 0;
    if (out.include.empty() && headers) out.include = toolkit / "include";
  }
  // NVRTC's package for Python may stand beside headers of the same version.
  const fs::path beside = out.nvrtc.parent_path().parent_path() / "include";
  if (!out.nvrtc.empty() && ::access((beside / "cuda_fp16.h").c_str(), R_OK) == 0)
    out.include = beside;
  if (out.nvrtc.empty() && out.nvcc.empty() && out.ptxas.empty())
    return fail(ErrorCode::kUnsupported,
                "no CUDA compiler: neither NVRTC (libnvrtc.so.13), nor nvcc, nor ptxas; install "
                "nvidia-cuda-nvrtc, or name its folder in KW_CUDA_LIBRARIES");
  out.identity = sha256_hex(canonical_json(Json{stamp(out.nvrtc), stamp(out.nvcc), stamp(out.ptxas),
                                                stamp(out.include / "cuda_fp16.h")}));
  return out;
}

}  // namespace kw::gym
