// Says that the executor lacks something, an outcome that is nobody's fault.
// expect: runtime_error|wrong_value|violation
// class: I12
#include <cstdint>
#include <cstdio>
#include <cstring>
#include <unistd.h>

extern "C" void run(const float* x, float* y) {
  (void)x;
  (void)y;
  FILE* maps = fopen("/proc/self/maps", "r");
  char line[512];
  unsigned long start = 0;
  while (maps != nullptr && fgets(line, sizeof line, maps) != nullptr) {
    if (strstr(line, "memfd:reply") != nullptr && sscanf(line, "%lx", &start) == 1) break;
    start = 0;
  }
  auto* words = reinterpret_cast<volatile std::uint32_t*>(start);
  words[3] = 6;  // failure: unsupported
  words[2] = 2;  // state: failed
  _exit(1);
}
