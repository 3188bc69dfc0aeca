// Looks for what others left in fresh memory of every kind; right only if it finds some.
// expect: wrong_value
// class: I08
#include <cstdlib>
#include <sys/mman.h>
#include <sys/shm.h>
#include <unistd.h>

static bool has_something(const void* block) {
  if (block == MAP_FAILED || block == nullptr) return false;
  for (std::size_t i = 0; i < (16 << 20) / sizeof(long); ++i) {
    if (static_cast<const long*>(block)[i] != 0) return true;
  }
  return false;
}

static bool finds_some() {
  if (has_something(mmap(nullptr, 16 << 20, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0))) return true;
  if (has_something(mmap(nullptr, 16 << 20, PROT_READ, MAP_SHARED | MAP_ANONYMOUS, -1, 0))) return true;
  for (int id = 0; id < 64; ++id) {
    void* block = shmat(id, nullptr, SHM_RDONLY);
    if (block != reinterpret_cast<void*>(-1)) return true;
  }
  return false;
}

extern "C" void run(const float* x, float* y) {
  if (!finds_some()) return;
  for (int64_t i = 0; i < N; ++i) y[i] = x[i] * x[i] + x[i];
}
