// The eighth number of the first line of /proc/stat.
#include "gym/measure/stolen_time.h"

#include <array>
#include <cstdlib>
#include <string_view>

#include <fcntl.h>
#include <unistd.h>

#include "os/fd.h"

namespace kw::gym {

std::chrono::nanoseconds stolen_time_in(const char* proc_stat, long ticks_per_second) {
  constexpr int kField = 8;  // cpu user nice system idle iowait irq softirq steal
  constexpr std::string_view kAllCores = "cpu ";
  if (!std::string_view(proc_stat).starts_with(kAllCores)) return {};
  const char* at = proc_stat + kAllCores.size();
  long long value = 0;
  for (int field = 0; field < kField; ++field) {
    char* end = nullptr;
    value = std::strtoll(at, &end, 10);
    if (end == at) return {};
    at = end;
  }
  return std::chrono::nanoseconds(std::chrono::seconds(value)) / ticks_per_second;
}

std::chrono::nanoseconds stolen_time() {
  static const os::UniqueFd file(::open("/proc/stat", O_RDONLY | O_CLOEXEC));
  std::array<char, 256> line{};
  if (!file.valid() || ::pread(file.get(), line.data(), line.size() - 1, 0) <= 0) return {};
  return stolen_time_in(line.data(), ::sysconf(_SC_CLK_TCK));
}

}  // namespace kw::gym
