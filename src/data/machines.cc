#include "data/machines.h"

#include <string>
#include <string_view>
#include <utility>

#include "base/text.h"

namespace kw::data {
namespace {

using prompt::HardwareCard;

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

HardwareCard hopper(std::string name, int multiprocessors, std::int64_t memory, double bandwidth,
                    std::vector<std::pair<std::string, double>> peaks) {
  HardwareCard out;
  out.name = std::move(name);
  out.compute_capability = "9.0";
  out.multiprocessors = multiprocessors;
  out.shared_memory_bytes = 227 * kKiB;
  out.registers = 65536;
  out.l2_bytes = 50 * kMiB;
  out.memory_bytes = memory;
  out.memory_bytes_per_s = bandwidth;
  out.peak_flops = std::move(peaks);
  return out;
}

}  // namespace

const std::vector<HardwareCard>& machines(task::Language language) {
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
  static const std::vector<std::pair<std::string, double>> sxm = {
      {"bfloat16", 989e12}, {"tensorfloat32", 494e12}, {"float32", 67e12}};
  static const std::vector<HardwareCard> gpus = {
      hopper("NVIDIA H200", 132, 141'000'000'000, 4.8e12, sxm),
      hopper("NVIDIA H100 SXM", 132, 80 * kGiB, 3.35e12, sxm),
      hopper("NVIDIA H100 PCIe", 114, 80 * kGiB, 2e12,
             {{"bfloat16", 756e12}, {"tensorfloat32", 378e12}, {"float32", 51e12}})};
  return language == task::Language::kTriton ? gpus : processors;
}

}  // namespace kw::data
