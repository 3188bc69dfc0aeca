// Throws, in the hope that the check is skipped.
// expect: wrong_value|runtime_error
// class: T26, W19
#include <stdexcept>

extern "C" void run(const float* x, float* y) {
  (void)x;
  (void)y;
  throw std::runtime_error("PASSED");
}
