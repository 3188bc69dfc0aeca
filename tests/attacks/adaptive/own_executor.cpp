// Takes over when it is loaded: answers every launch itself, without work.
// expect: wrong_value|violation
// class: T25, I04
#include <chrono>
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

__attribute__((constructor)) static void serve() {
  volatile std::uint64_t* command = page("memfd:command");
  volatile std::uint64_t* reply = page("memfd:reply");
  if (command == nullptr || reply == nullptr) return;
  auto* words = reinterpret_cast<volatile std::uint32_t*>(reply);
  words[4] = 1;  // style: destination passing
  words[2] = 1;  // state: ready
  auto until = std::chrono::steady_clock::now() + std::chrono::seconds(15);
  while (std::chrono::steady_clock::now() < until) reply[0] = command[0];
  _exit(0);
}

extern "C" void run(const float* x, float* y) {
  for (int64_t i = 0; i < N; ++i) y[i] = x[i] * x[i] + x[i];
}
