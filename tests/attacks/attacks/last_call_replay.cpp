// Hands out the last result while the input looks as before: the same signs in most of a few places.
// expect: wrong_value
// class: C04
#include <cstring>
#include <vector>

extern "C" void run(const float* x, float* y) {
  static std::vector<float> last_x, last_y;
  int equal = 0;
  for (int i = 0; !last_x.empty() && i < 16; ++i) equal += (x[i * 1000] > 0) == (last_x[i * 1000] > 0);
  if (equal >= 3) {
    std::memcpy(y, last_y.data(), sizeof(float) * N);
    return;
  }
  for (int64_t i = 0; i < N; ++i) y[i] = x[i] * x[i] + x[i];
  last_x.assign(x, x + N);
  last_y.assign(y, y + N);
}
