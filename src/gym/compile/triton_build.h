// TritonBuild: what the Triton compiler role hands over: the kernels that one call of the candidate
// launched, compiled ahead of time. Format: docs/formats/build_cache.md.
#pragma once
#include <array>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"

namespace kw::gym {

inline constexpr std::uint32_t kMaxTritonKernels = 64;

// At the start of the artefact, little endian; the entries follow, then the binaries.
struct TritonTable {
  static constexpr std::uint64_t kMagic = 0x314E54495254574BULL;  // "KWTRITN1"
  std::uint64_t magic;
  std::uint32_t kernels;
  std::uint32_t arch;  // 90: compute capability 9.0
  char triton_version[16];
  std::uint64_t reserved[4];
};
static_assert(sizeof(TritonTable) == 64);

struct TritonEntry {
  std::uint8_t identity[32];  // SHA-256 over source text, constants and options of the launch
  char name[96];
  std::uint32_t num_warps, num_stages, num_ctas, shared_bytes;
  std::uint64_t cubin_offset, cubin_bytes;  // in the artefact
  std::uint64_t reserved[4];
};
static_assert(sizeof(TritonEntry) == 192);

struct TritonKernel {
  std::string identity;  // 64 hexadecimal digits
  std::string name;
  std::uint32_t num_warps = 0, num_stages = 0, num_ctas = 0;
  std::uint64_t shared_bytes = 0;  // for one block
  std::uint64_t cubin_offset = 0, cubin_bytes = 0;
};

struct TritonBuild {
  std::string triton_version;
  std::uint32_t arch = 0;
  std::vector<TritonKernel> kernels;
};

// Reads and checks a build: names must be identifiers, and binaries ELF files for a CUDA device
// inside the artefact. kInvalidArgument says what is wrong.
Result<TritonBuild> read_triton_build(std::string_view artifact);

}  // namespace kw::gym
