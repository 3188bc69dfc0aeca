// Copies the row before again where its index comes again.
// expect: passed
// looks like: a row taken for another
// problem: embedding
#include <cstring>

extern "C" void run(const int64_t* indices, const float* weight, float* y, int64_t T) {
  for (int64_t t = 0; t < T; ++t) {
    const bool again = t > 1 && indices[t] == indices[t - 2];
    const float* row = again ? y + (t - 2) * D : weight + indices[t] * D;
    std::memcpy(y + t * D, row, sizeof(float) * D);
  }
}
