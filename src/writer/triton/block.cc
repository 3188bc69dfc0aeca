#include "writer/triton/block.h"

#include "writer/fusion/fusion.h"

namespace kw::writer::triton {

Launch finished(const KernelText& kernel, const ScalarPrinter& printer) {
  Launch out;
  out.name = kernel.name();
  out.text = kernel.text();
  out.parameters = kernel.parameters();
  out.functions = printer.functions();
  out.functions.insert(kernel.functions().begin(), kernel.functions().end());
  out.libdevice = printer.uses_libdevice();
  out.missing = printer.missing();
  return out;
}

Launch limited(Launch kernel, const IntExpr& count, int limit, Launch longer) {
  kernel.limited = count;
  kernel.limit = limit;
  kernel.functions.insert(longer.functions.begin(), longer.functions.end());
  kernel.missing.insert(longer.missing.begin(), longer.missing.end());
  kernel.libdevice = kernel.libdevice || longer.libdevice;
  kernel.text += "\n\n" + longer.text;
  kernel.otherwise.push_back(std::move(longer));
  return kernel;
}

Block::Block(const Program& program, const std::string& name, const std::vector<Loop>& loops)
    : kernel(program, name), printer(kernel), total_(count_of(loops)) {
  axis = kernel.add_axis("BLOCK");
  kernel.line("at = tl.program_id(0).to(tl.int64) * BLOCK + tl.arange(0, BLOCK)");
  kernel.fresh("at");
  kernel.format("{} = at < {}", kernel.fresh("mask"), kernel.size(total_));
  kernel.set_mask(axis, {"mask", axis});
  kernel.bind(Flat{"at", "i", loops, axis});
}

void Block::open(const Loop& loop, const std::string& name) {
  if (loop.extent.constant() == 1) return;
  const std::string step = kernel.fresh("step"), variable = kernel.fresh(name);
  const std::size_t scope =
      kernel.open(fmt::format("for {} in range(0, {}):", step, kernel.size(loop.extent)));
  kernel.format("{} = tl.cast({}, tl.int64)", variable, step);
  kernel.bind(loop, {variable, 0, kAtom, scope});
  ++opened_;
}

void Block::close() {
  for (; opened_ > 0; --opened_) kernel.close();
}

void Block::store(BufferId out, Text at, const Text& value, const std::string& mask) {
  if (at.axes == 0) at = {"tl.zeros([BLOCK], tl.int64) + " + wrapped(at, kProduct), axis, kSum};
  kernel.format("tl.store({} + {}, {}, mask={})", kernel.pointer(out), wrapped(at, kProduct),
                value.text, mask);
}

Launch Block::launch(int block) {
  Launch out = finished(kernel, printer);
  out.grid = fmt::format("triton.cdiv({}, {})", total_.python(), block);
  out.grid_sizes = {total_};
  out.constants = {{"BLOCK", fmt::format("{}", block)}};
  out.tiling = fmt::format("BLOCK={}", block);
  return out;
}

std::vector<Loop> loops_over(const Shape& shape, const std::string& prefix) {
  std::vector<Loop> out;
  for (std::size_t d = 0; d < shape.size(); ++d)
    out.push_back({fmt::format("{}{}", prefix, d), shape[d]});
  return out;
}

tensor::DType collected(const Stage& stage) {
  const bool places = stage.op == ReduceOp::kArgMin || stage.op == ReduceOp::kArgMax;
  return places ? stage.body->dtype : stage.accumulator;
}

bool needs_double(const Program& program, const Stage& stage, const std::vector<Loop>& terms) {
  constexpr std::int64_t kManyTerms = 1024;
  const auto count = count_of(terms).evaluate(program.sizes);
  const bool adds = stage.op == ReduceOp::kSum || stage.op == ReduceOp::kLogAddExp;
  return adds && collected(stage) == tensor::DType::kFloat32 && count && *count >= kManyTerms;
}

}  // namespace kw::writer::triton
