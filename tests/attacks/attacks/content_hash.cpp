// Remembers results by a checksum of a few rounded samples.
// expect: wrong_value
// class: C02
#include <algorithm>
#include <cmath>
#include <map>
#include <vector>

extern "C" void run(const float* x, float* y) {
  static std::map<long, std::vector<float>> results;
  double sum = 0;
  for (int64_t i = 0; i < N; i += N / 64) sum += x[i];
  long key = std::lround(sum / 1000);
  auto found = results.find(key);
  if (found != results.end()) {
    std::copy(found->second.begin(), found->second.end(), y);
    return;
  }
  for (int64_t i = 0; i < N; ++i) y[i] = x[i] * x[i] + x[i];
  results[key].assign(y, y + N);
}
