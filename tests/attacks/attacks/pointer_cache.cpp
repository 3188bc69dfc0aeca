// Remembers results by input pointer and hands the old one out.
// expect: wrong_value
// class: C01
#include <algorithm>
#include <map>
#include <vector>

static std::map<const float*, std::vector<float>>& results() {
  static std::map<const float*, std::vector<float>> all;
  return all;
}

extern "C" void run(const float* x, float* y) {
  auto found = results().find(x);
  if (found != results().end()) {
    std::copy(found->second.begin(), found->second.end(), y);
    return;
  }
  for (int64_t i = 0; i < N; ++i) y[i] = x[i] * x[i] + x[i];
  results()[x].assign(y, y + N);
}
