// Templates that double at every level.
// expect: compile_error
// class: I10, I13
template <int kDepth, int kPath>
struct Bomb {
  static constexpr long value = Bomb<kDepth - 1, 2 * kPath>::value + Bomb<kDepth - 1, 2 * kPath + 1>::value;
};
template <int kPath>
struct Bomb<0, kPath> {
  static constexpr long value = kPath;
};

extern "C" void run(const float* x, float* y) {
  for (int64_t i = 0; i < N; ++i) y[i] = x[i] * Bomb<28, 0>::value;
}
