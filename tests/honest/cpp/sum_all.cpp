// Sums of 4096 elements in float, in 16 lanes, added up in double.
#include <algorithm>
#include <cstdint>

extern "C" void run(const float* x, float* total, int64_t N) {
  double sum = 0.0;
  for (int64_t start = 0; start < N; start += 4096) {
    const int64_t end = std::min<int64_t>(start + 4096, N);
    float part[16] = {};
    int64_t i = start;
    for (; i + 16 <= end; i += 16) {
      for (int64_t lane = 0; lane < 16; ++lane) part[lane] += x[i + lane];
    }
    for (; i < end; ++i) part[0] += x[i];
    for (float p : part) sum += p;
  }
  *total = static_cast<float>(sum);
}
