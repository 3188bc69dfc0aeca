// Reports a fault on an input that there was not.
// expect: runtime_error|violation
// class: I12
#include <csignal>
#include <cstdint>
#include <cstdio>
#include <cstring>

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
  words[5] = SIGSEGV;
  words[8] = 1;
  raise(SIGKILL);
}
