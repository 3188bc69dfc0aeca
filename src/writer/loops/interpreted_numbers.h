// Numbers of the interpreter, and what operators and reductions make of them.
#pragma once
#include <cstdint>
#include <string>

#include "writer/loops/loops.h"

namespace kw::writer {

struct Number {  // the one that the dtype asks for
  double real = 0;
  std::int64_t whole = 0;
};

// A number of the dtype: reals are rounded to it if `rounding` says so, integers wrap.
Number real_number(tensor::DType dtype, Rounding rounding, double value);
Number whole_number(tensor::DType dtype, std::int64_t value);
Number cast_real(tensor::DType dtype, Rounding rounding, double value);

// Computes an operator of reals; the result has `dtype`, or is a test. b is ignored where the
// operator takes one argument.
Number of_reals(ScalarOp op, tensor::DType dtype, Rounding rounding, double a, double b);
// Computes an operator of integers without wrapping the result. A failure says why there is no
// result.
std::int64_t of_wholes(ScalarOp op, std::int64_t a, std::int64_t b, std::string& failure);
// The quotient or the remainder of a floored division.
std::int64_t divided(bool quotient, std::int64_t a, std::int64_t b, std::string& failure);

// A reduction or scan so far. Sums stay in float64 until the end.
struct RunningReduction {
  ReduceOp op = ReduceOp::kSum;
  bool floating = true, last_of_equal = false;
  std::int64_t count = 0, best = 0;
  Number value = {};

  void start();
  void take(const Number& x);
  Number result(tensor::DType dtype, Rounding rounding) const;

 private:
  bool better(const Number& x) const;
};
constexpr bool gives_place(ReduceOp op) {
  return op == ReduceOp::kArgMin || op == ReduceOp::kArgMax;
}

}  // namespace kw::writer
