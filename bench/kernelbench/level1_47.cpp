// Sum over the middle dimension, row by row.
extern "C" void run(const float* x, float* out) {
  for (int64_t b = 0; b < x_0; ++b) {
    float* to = out + b * x_2;
    for (int64_t j = 0; j < x_2; ++j) to[j] = 0;
    for (int64_t i = 0; i < x_1; ++i) {
      const float* row = x + (b * x_1 + i) * x_2;
      for (int64_t j = 0; j < x_2; ++j) to[j] += row[j];
    }
  }
}
