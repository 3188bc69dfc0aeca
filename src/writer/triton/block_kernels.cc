// Kernels that make a block of outputs a program, a lane each.
#include "writer/fusion/fusion.h"
#include "writer/triton/accumulator.h"
#include "writer/triton/block.h"

namespace kw::writer::triton {

using tensor::DType;

Launch block_kernel(const Program& program, const Stage& stage, const std::string& name,
                    const TritonTuning& tuning) {
  Block at(program, name, stage.loops);
  const Text place{"at", at.axis};
  if (stage.reduced.empty()) {
    const Text value = at.printer.print(stage.body);
    at.store(stage.out, place, value);
    return at.launch(tuning.block);
  }
  const bool is_wide = needs_double(program, stage, stage.reduced);
  const DType dtype = is_wide ? DType::kFloat64 : collected(stage);
  Accumulator sum(at.kernel, at.printer, {.op = stage.op, .dtype = dtype, .axes = at.axis});
  IntExpr position;
  for (std::size_t r = 0; r < stage.reduced.size(); ++r) {
    const Loop& loop = stage.reduced[r];
    at.open(loop, fmt::format("r{}", r));
    position = position * loop.extent;
    if (loop.extent.constant() != 1) position = position + IntExpr::symbol(loop.variable);
  }
  const bool places = stage.op == ReduceOp::kArgMin || stage.op == ReduceOp::kArgMax;
  const Text value = at.printer.tensor(stage.body);
  sum.step(value, {}, places ? at.kernel.integer(position) : Text{});
  at.close();
  Text total = sum.lanes();
  if (is_wide) total.text += ".to(tl.float32)";
  at.printer.set_reduced(total);
  at.store(stage.out, place, stage.epilogue ? at.printer.print(stage.epilogue) : total);
  return at.launch(tuning.outputs);
}

}  // namespace kw::writer::triton
