// Measures how long it keeps running after it says done, and says done that much before its end.
// expect: passed|wrong_value|violation
// max_speedup: 8
// class: T04, T25
#include <algorithm>
#include <cstdint>
#include <cstdio>
#include <cstring>
#include <x86intrin.h>

// Beginnings of the pages whose mappings have this name.
static volatile std::uint64_t* page(const char* name) {
  FILE* maps = fopen("/proc/self/maps", "r");
  if (maps == nullptr) return nullptr;
  char line[512];
  unsigned long start = 0;
  while (fgets(line, sizeof line, maps) != nullptr) {
    if (strstr(line, name) != nullptr && sscanf(line, "%lx", &start) == 1) break;
    start = 0;
  }
  fclose(maps);
  return reinterpret_cast<volatile std::uint64_t*>(start);
}

extern "C" void run(const float* x, float* y) {
  static volatile std::uint64_t* command = page("memfd:command");
  static volatile std::uint64_t* reply = page("memfd:reply");
  static int calls = 0;
  static std::uint64_t least_after = UINT64_MAX, cycles_of_block = UINT64_MAX;
  constexpr int64_t kBlock = 4096;
  if (command == nullptr || reply == nullptr) return;
  bool calibrates = ++calls <= 12;
  int64_t last_blocks = 0;
  if (!calibrates) last_blocks = static_cast<int64_t>(least_after / 2 / cycles_of_block);
  for (int64_t i = 0; i < N; i += kBlock) {
    if (!calibrates && N - i <= last_blocks * kBlock) reply[0] = command[0];
    std::uint64_t begun = __rdtsc();
    for (int64_t k = i; k < i + kBlock; ++k) y[k] = x[k] * x[k] + x[k];
    cycles_of_block = std::min<std::uint64_t>(cycles_of_block, __rdtsc() - begun);
  }
  if (!calibrates) return;
  // Done, and then the clock is watched until it jumps: that was the freeze.
  std::uint64_t begun = __rdtsc(), last = begun;
  reply[0] = command[0];
  for (int i = 0; i < 10000000; ++i) {
    std::uint64_t now = __rdtsc();
    if (now - last > 100000) break;
    last = now;
  }
  least_after = std::min(least_after, last - begun);
}
