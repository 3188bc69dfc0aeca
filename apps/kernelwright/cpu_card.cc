// /proc/cpuinfo and sysconf.
#include "kernelwright/cpu_card.h"

#include <algorithm>
#include <array>

#include <unistd.h>

#include "base/text.h"
#include "os/file.h"

namespace kw::front {
namespace {

// The extensions that decide how a kernel is written, in the order in which they came.
constexpr std::array<std::string_view, 16> kShown = {
    "sse4_2",      "avx",      "f16c",     "fma",         "avx2",        "avx512f",
    "avx512bw",    "avx512dq", "avx512vl", "avx512_vnni", "avx512_bf16", "avx_vnni",
    "avx512_fp16", "amx_tile", "amx_bf16", "asimd"};

std::string_view value_of(std::string_view cpuinfo, std::string_view key) {
  for (std::size_t at = 0; at < cpuinfo.size();) {
    std::string_view line = cpuinfo.substr(at, cpuinfo.find('\n', at) - at);
    std::size_t colon = line.find(':');
    if (colon != std::string_view::npos && trim(line.substr(0, colon)) == key)
      return trim(line.substr(colon + 1));
    at += line.size() + 1;
  }
  return {};
}

std::int64_t at_least_zero(long value) {
  return std::max(value, 0L);
}

}  // namespace

prompt::HardwareCard card_of_cpuinfo(std::string_view cpuinfo) {
  prompt::HardwareCard card;
  card.name = printable(value_of(cpuinfo, "model name"), 120);
  std::string_view flags = value_of(cpuinfo, "flags");
  if (flags.empty()) flags = value_of(cpuinfo, "Features");
  std::vector<std::string> known = split(flags, ' ');
  for (std::string_view shown : kShown)
    if (std::find(known.begin(), known.end(), shown) != known.end())
      card.instruction_sets.emplace_back(shown);
  return card;
}

prompt::HardwareCard this_cpu(int threads) {
  auto cpuinfo = os::read_file("/proc/cpuinfo", 4U << 20U);
  prompt::HardwareCard card = card_of_cpuinfo(cpuinfo ? *cpuinfo : "");
  card.cores = threads;
  card.l1_data_bytes = at_least_zero(::sysconf(_SC_LEVEL1_DCACHE_SIZE));
  card.l2_bytes = at_least_zero(::sysconf(_SC_LEVEL2_CACHE_SIZE));
  card.l3_bytes = at_least_zero(::sysconf(_SC_LEVEL3_CACHE_SIZE));
  card.memory_bytes =
      at_least_zero(::sysconf(_SC_PHYS_PAGES)) * at_least_zero(::sysconf(_SC_PAGESIZE));
  return card;
}

}  // namespace kw::front
