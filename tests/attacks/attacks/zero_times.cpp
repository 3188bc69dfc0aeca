// Fills what it can write of the shared page with times of zero, minus one and NaN.
// expect: passed|violation protocol
// max_speedup: 12
// class: T24
#include <cmath>
#include <cstdio>
#include <cstring>

static double* reply_page() {
  FILE* maps = fopen("/proc/self/maps", "r");
  if (maps == nullptr) return nullptr;
  char line[512];
  unsigned long start = 0;
  while (fgets(line, sizeof line, maps) != nullptr) {
    if (strstr(line, "memfd:reply") != nullptr && sscanf(line, "%lx", &start) == 1) break;
    start = 0;
  }
  fclose(maps);
  return reinterpret_cast<double*>(start);
}

extern "C" void run(const float* x, float* y) {
  static double* page = reply_page();
  const double times[] = {0, -1, NAN, 1e-310};
  // Behind the fields that the executor itself uses.
  for (int i = 8; page != nullptr && i < 2048; ++i) page[i] = times[i % 4];
  for (int64_t i = 0; i < N; ++i) y[i] = x[i] * x[i] + x[i];
}
