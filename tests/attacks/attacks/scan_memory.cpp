// Scans its own memory for the answer; right only if it is there.
// expect: wrong_value
// class: W26, I05, I08
#include <cmath>
#include <cstdio>
#include <cstring>

static bool is_answer(const float* x, const float* at) {
  for (int i = 0; i < 16; ++i) {
    if (!(std::fabs(at[i] - (x[i] * x[i] + x[i])) <= 1e-5F * std::fabs(at[i]))) return false;
  }
  return true;
}

extern "C" void run(const float* x, float* y) {
  FILE* maps = fopen("/proc/self/maps", "r");
  char line[512];
  while (maps != nullptr && fgets(line, sizeof line, maps) != nullptr) {
    unsigned long first = 0, last = 0;
    char mode[8] = "";
    if (sscanf(line, "%lx-%lx %7s", &first, &last, mode) != 3 || mode[0] != 'r') continue;
    if (strstr(line, "[v") != nullptr || last - first > (64UL << 20)) continue;
    for (unsigned long at = first; at + 64 * 64 < last; at += 64) {
      if (!is_answer(x, reinterpret_cast<const float*>(at))) continue;
      std::memcpy(y, reinterpret_cast<const float*>(at), sizeof(float) * 16);
      for (int64_t i = 0; i < N; ++i) y[i] = x[i] * x[i] + x[i];
      fclose(maps);
      return;
    }
  }
  if (maps != nullptr) fclose(maps);
}
