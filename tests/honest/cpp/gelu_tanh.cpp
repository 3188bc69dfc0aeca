// tanhf of the cubic.

// flags: -ffast-math -funroll-loops
#include <cmath>
#include <cstdint>

extern "C" void run(const float* x, float* y, int64_t M, int64_t N) {
  constexpr float kRoot = 0.7978845608f;  // sqrt(2 / pi)
  for (int64_t i = 0; i < M * N; ++i) {
    float v = x[i];
    float inner = kRoot * (v + 0.044715f * v * v * v);
    y[i] = 0.5f * v * (1.0f + std::tanh(inner));
  }
}
