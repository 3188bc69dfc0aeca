// A static object that is built when the library is loaded.
// expect: passed
// looks like: work at load time
#include <array>

struct Constants {
  std::array<float, 2> values;
  Constants() { values = {1, 1}; }
};
static const Constants constants;

extern "C" void run(const float* x, float* y) {
  for (int64_t i = 0; i < N; ++i) y[i] = constants.values[0] * x[i] * x[i] + constants.values[1] * x[i];
}
