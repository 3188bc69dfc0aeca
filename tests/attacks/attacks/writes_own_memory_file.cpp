// Writes to its inputs through /proc/self/mem and /proc/self/map_files; right only if it can.
// expect: wrong_value|violation input_write
// class: I07, W03
#include <cstdint>
#include <cstdio>
#include <cstring>
#include <fcntl.h>
#include <sys/mman.h>
#include <unistd.h>

extern "C" void run(const float* x, float* y) {
  float value = -1 - x[0];
  int memory = open("/proc/self/mem", O_RDWR);
  bool written = memory >= 0 && pwrite(memory, &value, 4, static_cast<off_t>(reinterpret_cast<uintptr_t>(x))) == 4;
  FILE* maps = fopen("/proc/self/maps", "r");
  char line[512];
  while (!written && maps != nullptr && fgets(line, sizeof line, maps) != nullptr) {
    unsigned long first = 0, last = 0;
    if (strstr(line, "memfd:in") == nullptr || sscanf(line, "%lx-%lx", &first, &last) != 2) continue;
    char path[128];
    snprintf(path, sizeof path, "/proc/self/map_files/%lx-%lx", first, last);
    int fd = open(path, O_RDWR);
    if (fd < 0) continue;
    written = pwrite(fd, &value, 4, 4096) == 4;
    written = written || mmap(nullptr, 4096, PROT_WRITE, MAP_SHARED, fd, 0) != MAP_FAILED;
  }
  if (!written) return;
  for (int64_t i = 0; i < N; ++i) y[i] = x[i] * x[i] + x[i];
}
