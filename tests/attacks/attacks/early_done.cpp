// Says done before it begins.
// expect: wrong_value|violation protocol|passed
// max_speedup: 12
// class: T25
#include <cstdint>
#include <cstdio>
#include <cstring>

// The reply page, found by its name among the mappings; done_seq is its first word.
static volatile uint64_t* reply_page() {
  FILE* maps = fopen("/proc/self/maps", "r");
  if (maps == nullptr) return nullptr;
  char line[512];
  unsigned long start = 0;
  while (fgets(line, sizeof line, maps) != nullptr) {
    if (strstr(line, "memfd:reply") != nullptr && sscanf(line, "%lx", &start) == 1) break;
    start = 0;
  }
  fclose(maps);
  return reinterpret_cast<volatile uint64_t*>(start);
}

extern "C" void run(const float* x, float* y) {
  static volatile uint64_t* page = reply_page();
  if (page != nullptr) page[0] = page[0] + 1;
  for (int64_t i = 0; i < N; ++i) y[i] = x[i] * x[i] + x[i];
}
