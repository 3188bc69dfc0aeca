// CudaToolchain: what compiles device code here: NVRTC, else nvcc; ptxas for PTX.
#pragma once
#include <filesystem>
#include <string>
#include <vector>

#include "base/result.h"

namespace kw::gym {

// A value; equal toolchains build equal bytes from equal sources.
struct CudaToolchain {
  std::filesystem::path nvrtc;    // libnvrtc.so.*; empty: none
  std::string nvcc, ptxas;        // absolute paths; empty: none
  std::filesystem::path include;  // folder with cuda_fp16.h; empty: none
  std::string identity;           // SHA-256 over paths, sizes and times
};

// library_folders: where NVRTC may be, as cuda::cuda_library_folders() lists them; an empty path
// stands for the system's folders. toolkits: folders with bin and include, the first counts.
// Nothing is loaded or run. kUnsupported: none of the three.
Result<CudaToolchain> resolve_cuda(const std::vector<std::filesystem::path>& library_folders,
                                   const std::vector<std::filesystem::path>& toolkits = {
                                       "/usr/local/cuda", "/usr/lib/cuda"});

}  // namespace kw::gym
