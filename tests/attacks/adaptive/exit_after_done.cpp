// Computes, says done and ends its process before it can be frozen.
// expect: runtime_error|wrong_value|violation
// class: T25, T26, I12
#include <cstdint>
#include <cstdio>
#include <cstring>
#include <unistd.h>

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
  for (int64_t i = 0; i < N; ++i) y[i] = x[i] * x[i] + x[i];
  page("memfd:reply")[0] = page("memfd:command")[0];
  _exit(0);
}
