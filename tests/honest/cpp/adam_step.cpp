// One pass over the five arrays, every quantity in float.
#include <cmath>
#include <cstdint>

extern "C" void run(const float* parameter, const float* gradient, const float* first,
                    const float* second, float rate, float beta1, float beta2, float* new_parameter,
                    float* new_first, float* new_second, int64_t N) {
  for (int64_t i = 0; i < N; ++i) {
    float g = gradient[i];
    float m = beta1 * first[i] + (1.0f - beta1) * g;
    float v = beta2 * second[i] + (1.0f - beta2) * g * g;
    new_first[i] = m;
    new_second[i] = v;
    new_parameter[i] = parameter[i] - rate * m / (std::sqrt(v) + 1e-8f);
  }
}
