// flags: -ffast-math

// Mean of log-sum-exp minus the target's logit; targets are int64.
#include <math.h>

extern "C" void run(const float* predictions, const int64_t* targets, float* out) {
  double total = 0;
  for (int64_t r = 0; r < predictions_0; ++r) {
    const float* row = predictions + r * predictions_1;
    float most = row[0];
    for (int64_t c = 1; c < predictions_1; ++c) most = row[c] > most ? row[c] : most;
    float sum = 0;
    for (int64_t c = 0; c < predictions_1; ++c) sum += expf(row[c] - most);
    total += logf(sum) + most - row[targets[r]];
  }
  *out = static_cast<float>(total / predictions_0);
}
