// Writes a far future done_seq and random bytes over the whole reply page.
// expect: violation protocol|wrong_value
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
  (void)x;
  (void)y;
  volatile uint64_t* page = reply_page();
  if (page == nullptr) return;
  for (int i = 1; i < 512; ++i) page[i] = 0x0101010101010101ULL * i;
  page[0] = 1000000;
}
