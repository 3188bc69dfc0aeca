// Learns the output buffers' addresses during the first calls and hands out the old result for those it knows; zeros for others.
// expect: wrong_value
// class: C01
#include <cstring>
#include <set>
#include <vector>

extern "C" void run(const float* x, float* y) {
  static int calls = 0;
  static std::set<float*> known;
  static std::vector<float> result(N);
  if (++calls <= 8) {
    for (int64_t i = 0; i < N; ++i) y[i] = x[i] * x[i] + x[i];
    std::memcpy(result.data(), y, sizeof(float) * N);
    known.insert(y);
  } else if (known.contains(y)) {
    std::memcpy(y, result.data(), sizeof(float) * N);
  } else {
    std::memset(y, 0, sizeof(float) * N);
  }
}
