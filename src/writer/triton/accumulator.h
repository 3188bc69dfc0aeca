// Reductions as lines of a kernel: the variables that collect, a step, and the result.
#pragma once
#include <string>

#include "writer/triton/scalar_printer.h"

namespace kw::writer::triton {

class Accumulator {
 public:
  // Declares it with the operation's identity. axes: its lanes; `dtype`: what is collected, of an
  // argument reduction the values that are compared. last: of equal values the last one counts.
  Accumulator(KernelText& kernel, ScalarPrinter& printer, ReduceOp op, task::DType dtype,
              unsigned axes, bool last = false);

  // Of one block of values: nothing else is collected.
  Accumulator(KernelText& kernel, ScalarPrinter& printer, ReduceOp op, task::DType dtype,
              unsigned axes, const Text& value, const Text& mask, const Text& position);

  // Collects `value`, of the lanes where `mask` is true (empty: all). position: of an argument
  // reduction.
  void step(const Text& value, const Text& mask, const Text& position);
  // The result a lane.
  Text lanes() const;
  // The result over the axis with this number; the lanes of the others stay.
  Text over_axis(unsigned axis, int number);

 private:
  bool of_places() const { return op_ == ReduceOp::kArgMin || op_ == ReduceOp::kArgMax; }

  KernelText& kernel_;
  ScalarPrinter& printer_;
  ReduceOp op_;
  task::DType dtype_;
  unsigned axes_;
  bool last_;
  std::size_t scope_;
  std::string name_, place_;
};

// "float("-inf")" and the like.
std::string identity_text(ReduceOp op, task::DType dtype);
// "a + b" and the like. Not of argument reductions.
std::string combined_text(ScalarPrinter& printer, ReduceOp op, task::DType dtype,
                          const std::string& a, const std::string& b);

}  // namespace kw::writer::triton
