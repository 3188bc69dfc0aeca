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

// As values of the dtype: reals rounded to it where that is asked for, whole numbers wrapped.
Number real_number(task::DType dtype, Rounding rounding, double value);
Number whole_number(task::DType dtype, std::int64_t value);
Number cast_real(task::DType dtype, Rounding rounding, double value);

// b is not looked at where the operator takes one argument. Of reals: a result of `dtype`, or a
// test.
Number of_reals(ScalarOp op, task::DType dtype, Rounding rounding, double a, double b);
// Not wrapped yet. A failure says why there is no result.
std::int64_t of_wholes(ScalarOp op, std::int64_t a, std::int64_t b, std::string& failure);
// Of floored division: the quotient, or the remainder.
std::int64_t divided(bool quotient, std::int64_t a, std::int64_t b, std::string& failure);

// A reduction or scan so far. Sums stay in float64 until the end.
struct RunningReduction {
  ReduceOp op = ReduceOp::kSum;
  bool floating = true, last_of_equal = false;
  std::int64_t count = 0, best = 0;
  Number value = {};

  void start();
  void take(const Number& x);
  Number result(task::DType dtype, Rounding rounding) const;

 private:
  bool better(const Number& x) const;
};
constexpr bool gives_place(ReduceOp op) {
  return op == ReduceOp::kArgMin || op == ReduceOp::kArgMax;
}

}  // namespace kw::writer
