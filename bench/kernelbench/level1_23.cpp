// flags: -ffast-math

// Softmax of each row: maximum, exponentials, division.
#include <math.h>

extern "C" void run(const float* x, float* out) {
  for (int64_t r = 0; r < x_0; ++r) {
    const float* row = x + r * x_1;
    float* to = out + r * x_1;
    float most = row[0];
    for (int64_t c = 1; c < x_1; ++c) most = row[c] > most ? row[c] : most;
    float sum = 0;
    for (int64_t c = 0; c < x_1; ++c) {
      to[c] = expf(row[c] - most);
      sum += to[c];
    }
    float scale = 1 / sum;
    for (int64_t c = 0; c < x_1; ++c) to[c] *= scale;
  }
}
