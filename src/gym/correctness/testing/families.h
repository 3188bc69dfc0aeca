// Kernels in many variants for tests of the check: a float64 reference, a trusted float32
// implementation, honest variants (another order of summation, approximated exponentials) and
// dishonest ones (lower precision, dropped terms, wrong constants).
#pragma once
#include <cstddef>
#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "task/problem.h"

namespace kw::gym::testing {

using Floats = std::vector<float>;
using Doubles = std::vector<double>;
using Shape = std::vector<std::int64_t>;

struct Variant {
  std::string name;
  std::function<Floats(const std::vector<Floats>&)> run;
};

// One set of input distributions of a family.
struct Inputs {
  std::string name;
  std::vector<task::InputPolicy> policies;
};

// One problem at one size. Every honest variant must pass on all inputs; every dishonest one must
// fail on at least one of them.
struct Family {
  std::string name;
  std::vector<Shape> shapes;  // of the inputs
  Shape output;
  std::int64_t reduction_length = 0;
  std::vector<Inputs> inputs;
  std::function<Doubles(const std::vector<Doubles>&)> exact;
  std::function<Floats(const std::vector<Floats>&)> trusted;
  std::vector<Variant> honest;
  std::vector<Variant> dishonest;
};

// low_bits: mantissas that are too narrow for the dtype under test ({10, 7} for float32; {3} for
// bfloat16). With `coarse` only dishonest variants that differ by more than a percent or so are
// given, for narrow dtypes.
std::vector<Family> families(const std::vector<int>& low_bits, bool coarse);

// Rounds to a narrower mantissa: 10 bits are tf32 (and float16, but for its exponent), 7 bfloat16,
// 3 float8_e4m3fn.
float round_mantissa(float value, int bits);

}  // namespace kw::gym::testing
