// KernelRunner: runs our own kernels (cuda/kernels) on tensors in a GPU's memory. The seam between
// what they are told and the GPU: tests run the same kernels on the processor
// (testing/emulated_kernels.h).
#pragma once
#include <cstddef>
#include <filesystem>
#include <string>
#include <string_view>

#include "base/result.h"

namespace kw::gym {

struct KernelShape {
  unsigned blocks = 1, threads = 1;
  unsigned shared_bytes = 0;  // dynamic
};

// Blocks or pieces that so much is cut into.
constexpr std::size_t pieces_of(std::size_t size, std::size_t piece) {
  return (size + piece - 1) / piece;
}

// One thread, on which the GPU's context is current.
class KernelRunner {
 public:
  virtual ~KernelRunner() = default;
  // task: what the kernel's one parameter is; the caller's again when this returns. The kernel runs
  // in the order of what is asked of the memory (device_bytes.h), and may still be queued then.
  virtual Status run(std::string_view kernel, const KernelShape& shape, const void* task) = 0;
};

// Machine code of all our kernels for the architecture ("sm_90a"), kept in the folder.
// kUnsupported: there is no NVRTC.
Result<std::string> compile_kernels(const std::string& architecture,
                                    const std::filesystem::path& folder);

}  // namespace kw::gym
