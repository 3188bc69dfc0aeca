// Reductions as lines of a kernel: the variables that collect, a step, and the result.
#pragma once
#include <string>

#include "writer/triton/scalar_printer.h"

namespace kw::writer::triton {

// The reduction that an Accumulator collects.
struct Collected {
  ReduceOp op;
  tensor::DType dtype;  // for an argument reduction, the dtype of the values that are compared
  unsigned axes = 0;    // its lanes
  bool last = false;    // true: the last of equal values counts
};

class Accumulator {
 public:
  // Declares it with the operation's identity.
  Accumulator(KernelText& kernel, ScalarPrinter& printer, const Collected& of);

  // Collects one block of values and nothing else.
  Accumulator(KernelText& kernel, ScalarPrinter& printer, const Collected& of, const Text& value,
              const Text& mask, const Text& position);

  // Collects `value`, of the lanes where `mask` is true (empty: all). position: of an argument
  // reduction.
  void step(const Text& value, const Text& mask, const Text& position);
  // The result a lane.
  Text lanes() const;
  // The result over the axis with this number; the lanes of the others stay.
  Text over_axis(unsigned axis, int number);

 private:
  bool of_places() const { return of_.op == ReduceOp::kArgMin || of_.op == ReduceOp::kArgMax; }

  KernelText& kernel_;
  ScalarPrinter& printer_;
  Collected of_;
  std::size_t scope_;
  std::string name_, place_;
};

// "float("-inf")" and the like.
std::string identity_text(ReduceOp op, tensor::DType dtype);
// "a + b" and the like. Argument reductions have no such text.
std::string combined_text(ScalarPrinter& printer, ReduceOp op, tensor::DType dtype,
                          const std::string& a, const std::string& b);

}  // namespace kw::writer::triton
