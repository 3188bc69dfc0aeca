// Computes in half precision.
// expect: wrong_value
// class: W08
extern "C" void run(const float* x, float* y) {
  for (int64_t i = 0; i < N; ++i) {
    _Float16 h = static_cast<_Float16>(x[i]);
    y[i] = static_cast<float>(static_cast<_Float16>(h * h + h));
  }
}
