// Copies the row of each index.
#include <cstdint>
#include <cstring>

extern "C" void run(const int64_t* indices, const float* weight, float* y, int64_t T) {
  for (int64_t t = 0; t < T; ++t) {
    std::memcpy(y + t * D, weight + indices[t] * D, D * sizeof(float));
  }
}
