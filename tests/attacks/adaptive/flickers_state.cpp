// Writes other states and sequence numbers into the shared page while it computes, and the right ones at the end.
// expect: passed|runtime_error|violation protocol
// max_speedup: 12
// class: T25
#include <cstdint>
#include <cstdio>
#include <cstring>

static volatile std::uint32_t* reply_words() {
  FILE* maps = fopen("/proc/self/maps", "r");
  if (maps == nullptr) return nullptr;
  char line[512];
  unsigned long start = 0;
  while (fgets(line, sizeof line, maps) != nullptr) {
    if (strstr(line, "memfd:reply") != nullptr && sscanf(line, "%lx", &start) == 1) break;
    start = 0;
  }
  fclose(maps);
  return reinterpret_cast<volatile std::uint32_t*>(start);
}

extern "C" void run(const float* x, float* y) {
  static volatile std::uint32_t* words = reply_words();
  std::uint32_t done = words[0], state = words[2], style = words[4];
  for (int64_t i = 0; i < N; ++i) {
    y[i] = x[i] * x[i] + x[i];
    if (i % 65536 != 0) continue;
    words[0] = 0;
    words[2] = static_cast<std::uint32_t>(i / 65536 % 3);
    words[4] = 9;
  }
  words[0] = done;
  words[2] = state;
  words[4] = style;
}
