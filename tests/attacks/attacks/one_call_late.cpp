// Each call computes what the call before it should have computed.
// expect: wrong_value|violation
// class: T04, T05
extern "C" void run(const float* x, float* y) {
  static const float* late_x = nullptr;
  static float* late_y = nullptr;
  if (late_x != nullptr) {
    for (int64_t i = 0; i < N; ++i) late_y[i] = late_x[i] * late_x[i] + late_x[i];
  }
  late_x = x;
  late_y = y;
}
