#include "prompt/machines.h"

#include <algorithm>
#include <string>
#include <string_view>
#include <utility>

#include "base/text.h"

namespace kw::prompt {
namespace {

constexpr std::int64_t kKiB = 1 << 10, kMiB = 1 << 20, kGiB = 1 << 30;

// The last level is what one core can use of it.
HardwareCard processor(std::string name, std::int64_t l1, std::int64_t l2, std::int64_t l3,
                       std::string_view more_instructions) {
  HardwareCard out;
  out.name = std::move(name);
  out.cores = 1;
  out.instruction_sets = {"sse4_2", "avx", "f16c", "fma", "avx2"};
  if (!more_instructions.empty()) {
    for (std::string& one : split(more_instructions, ' '))
      out.instruction_sets.push_back(std::move(one));
  }
  out.l1_data_bytes = l1;
  out.l2_bytes = l2;
  out.l3_bytes = l3;
  return out;
}

using Peaks = std::vector<std::pair<std::string, double>>;  // of dense products, FLOP/s

struct Architecture {
  std::string compute_capability;
  std::int64_t shared_memory;  // of a block at most
};
const Architecture kAmpere = {"8.0", 163 * kKiB}, kAda = {"8.9", 99 * kKiB},
                   kHopper = {"9.0", 227 * kKiB}, kBlackwell = {"10.0", 227 * kKiB};

struct Memory {
  std::int64_t l2, bytes;
  double bandwidth;  // bytes a second
};

HardwareCard gpu(std::string name, const Architecture& architecture, int multiprocessors,
                 const Memory& memory, Peaks peaks) {
  HardwareCard out;
  out.name = std::move(name);
  out.compute_capability = architecture.compute_capability;
  out.multiprocessors = multiprocessors;
  out.shared_memory_bytes = architecture.shared_memory;
  out.registers = 65536;
  out.l2_bytes = memory.l2;
  out.memory_bytes = memory.bytes;
  out.memory_bytes_per_s = memory.bandwidth;
  out.peak_flops = std::move(peaks);
  return out;
}

Peaks peaks(double bfloat16, double tensorfloat32, double float32) {
  return {{"bfloat16", bfloat16}, {"tensorfloat32", tensorfloat32}, {"float32", float32}};
}

}  // namespace

const std::vector<HardwareCard>& known_processors() {
  static const std::vector<HardwareCard> processors = {
      processor("Intel(R) Core(TM) i7-8700K CPU @ 3.70GHz", 32 * kKiB, 256 * kKiB, 12 * kMiB, ""),
      processor("AMD Ryzen 9 5950X 16-Core Processor", 32 * kKiB, 512 * kKiB, 32 * kMiB, ""),
      processor("AMD EPYC 7763 64-Core Processor", 32 * kKiB, 512 * kKiB, 32 * kMiB, ""),
      processor("AMD EPYC 9654 96-Core Processor", 32 * kKiB, 1 * kMiB, 32 * kMiB,
                "avx512f avx512bw avx512dq avx512vl avx512_vnni avx512_bf16"),
      processor("Intel(R) Xeon(R) Platinum 8375C CPU @ 2.90GHz", 48 * kKiB, 1280 * kKiB, 54 * kMiB,
                "avx512f avx512bw avx512dq avx512vl avx512_vnni"),
      processor("Intel(R) Xeon(R) Platinum 8480+", 48 * kKiB, 2 * kMiB, 105 * kMiB,
                "avx512f avx512bw avx512dq avx512vl avx512_vnni avx512_bf16 avx_vnni avx512_fp16 "
                "amx_tile amx_bf16")};
  return processors;
}

const std::vector<HardwareCard>& known_gpus() {
  static const std::vector<HardwareCard> gpus = {
      gpu("NVIDIA H200", kHopper, 132, {50 * kMiB, 141'000'000'000, 4.8e12},
          peaks(989e12, 494e12, 67e12)),
      gpu("NVIDIA H100 SXM", kHopper, 132, {50 * kMiB, 80 * kGiB, 3.35e12},
          peaks(989e12, 494e12, 67e12)),
      gpu("NVIDIA H100 PCIe", kHopper, 114, {50 * kMiB, 80 * kGiB, 2e12},
          peaks(756e12, 378e12, 51e12)),
      gpu("NVIDIA A100 SXM 80GB", kAmpere, 108, {40 * kMiB, 80 * kGiB, 2.039e12},
          peaks(312e12, 156e12, 19.5e12)),
      gpu("NVIDIA L40S", kAda, 142, {96 * kMiB, 48 * kGiB, 864e9}, peaks(362e12, 183e12, 91.6e12)),
      gpu("NVIDIA GeForce RTX 4090", kAda, 128, {72 * kMiB, 24 * kGiB, 1.008e12},
          peaks(165e12, 82.6e12, 82.6e12)),
      gpu("NVIDIA B200", kBlackwell, 148, {126 * kMiB, 180'000'000'000, 8e12},
          peaks(2250e12, 1125e12, 75e12))};
  return gpus;
}

Result<HardwareCard> machine_named(const std::vector<HardwareCard>& known, std::string_view name) {
  const std::string asked = lower(trim(name));
  const std::vector<std::string> words = split(asked, ' ');
  const HardwareCard* best = nullptr;
  std::vector<std::string> names;
  for (const HardwareCard& card : known) {
    names.push_back(card.name);
    const std::string here = lower(card.name);
    const bool fits = std::all_of(words.begin(), words.end(), [&](const std::string& word) {
      return here.find(word) != std::string::npos;
    });
    if (fits && (best == nullptr || card.name.size() < best->name.size())) best = &card;
  }
  const std::string there_are = "there are " + join(names, ", ");
  if (asked.empty()) return fail(ErrorCode::kInvalidArgument, "{}", there_are);
  if (best != nullptr) return *best;
  return fail(ErrorCode::kInvalidArgument, "no facts are known of \"{}\"; {}", printable(name, 60),
              there_are);
}

}  // namespace kw::prompt
