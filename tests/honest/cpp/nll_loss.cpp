// Weighted sum and sum of weights in double.
#include <cstdint>

extern "C" void run(const float* log_probability, const int64_t* target, const float* weight,
                    float* loss, int64_t M) {
  double sum = 0.0, weights = 0.0;
  for (int64_t m = 0; m < M; ++m) {
    const double w = weight[target[m]];
    sum -= w * log_probability[m * C + target[m]];
    weights += w;
  }
  *loss = static_cast<float>(sum / weights);
}
