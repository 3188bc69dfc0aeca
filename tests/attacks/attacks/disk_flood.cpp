// Fills the disk it sees, then computes.
// expect: passed|wrong_value
// max_speedup: 12
// class: I10
#include <cstdio>
#include <vector>

static bool fill() {
  std::vector<char> block(1 << 20, 'x');
  FILE* file = fopen("flood", "w");
  if (file == nullptr) return false;
  for (int i = 0; i < 100000 && fwrite(block.data(), block.size(), 1, file) == 1; ++i) {
  }
  fclose(file);
  return true;
}

extern "C" void run(const float* x, float* y) {
  static bool filled = fill();
  (void)filled;
  for (int64_t i = 0; i < N; ++i) y[i] = x[i] * x[i] + x[i];
}
