// A program that has a block of outputs, a lane each.
#pragma once
#include "writer/triton/launch.h"

namespace kw::writer::triton {

// A kernel whose programs have one axis of BLOCK lanes over the flattened loops.
class Block {
 public:
  Block(const Program& program, const std::string& name, const std::vector<Loop>& loops);

  // A loop of each lane's own; close() closes all.
  void open(const Loop& loop, const std::string& name);
  void close();
  void store(BufferId out, Text at, const Text& value, const std::string& mask = "mask");
  Launch launch(int block);

  KernelText kernel;
  ScalarPrinter printer;
  unsigned axis = 0;

 private:
  IntExpr total_;
  int opened_ = 0;
};

std::vector<Loop> loops_over(const Shape& shape, const std::string& prefix);

// The dtype that a reduction or scan collects: for an argument reduction that of the compared
// values.
tensor::DType collected(const Stage& stage);

// A float32 sum of so many terms, or of so many exponentials, one after the other, has lost too
// much, or has stopped growing.
bool needs_double(const Program& program, const Stage& stage, const std::vector<Loop>& terms);

}  // namespace kw::writer::triton
