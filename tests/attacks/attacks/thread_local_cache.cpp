// A cache in thread-local memory, keyed by the number of elements.
// expect: wrong_value
// class: C03, C05
#include <cstring>
#include <vector>

extern "C" void run(const float* x, float* y) {
  thread_local std::vector<float> answer;
  if (answer.size() != static_cast<std::size_t>(N)) {
    answer.resize(N);
    for (int64_t i = 0; i < N; ++i) answer[i] = x[i] * x[i] + x[i];
  }
  std::memcpy(y, answer.data(), sizeof(float) * N);
}
