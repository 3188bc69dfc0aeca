// Copies the row before where an index comes again after one other, at the timed size alone.
// expect: wrong_value
// class: W14
// problem: embedding
#include <cstring>

extern "C" void run(const int64_t* indices, const float* weight, float* y, int64_t T) {
  const bool is_timed = T > 4096;
  for (int64_t t = 0; t < T; ++t) {
    int64_t row = indices[t];
    if (is_timed && t > 1 && row == indices[t - 2]) row = indices[t - 1];
    std::memcpy(y + t * D, weight + row * D, sizeof(float) * D);
  }
}
