// Kernels that make a block of outputs a program, a lane each.
#include "base/check.h"
#include "writer/fusion/fusion.h"
#include "writer/loops/scalar.h"
#include "writer/triton/accumulator.h"
#include "writer/triton/launch.h"

namespace kw::writer::triton {

using task::DType;

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

namespace {

std::vector<Loop> loops_over(const Shape& shape, const std::string& prefix) {
  std::vector<Loop> out;
  for (std::size_t d = 0; d < shape.size(); ++d)
    out.push_back({fmt::format("{}{}", prefix, d), shape[d]});
  return out;
}

// One axis of BLOCK lanes over the flattened loops.
class Block {
 public:
  Block(const Program& program, const std::string& name, const std::vector<Loop>& loops)
      : kernel(program, name), printer(kernel), total_(count_of(loops)) {
    axis = kernel.add_axis("BLOCK");
    kernel.line("at = tl.program_id(0).to(tl.int64) * BLOCK + tl.arange(0, BLOCK)");
    kernel.fresh("at");
    kernel.format("{} = at < {}", kernel.fresh("mask"), kernel.size(total_));
    kernel.set_mask(axis, {"mask", axis});
    kernel.bind(Flat{"at", "i", loops, axis});
  }

  void open(const Loop& loop, const std::string& name) {
    if (loop.extent.constant() == 1) return;
    const std::string step = kernel.fresh("step"), variable = kernel.fresh(name);
    const std::size_t scope =
        kernel.open(fmt::format("for {} in range(0, {}):", step, kernel.size(loop.extent)));
    kernel.format("{} = tl.cast({}, tl.int64)", variable, step);
    kernel.bind(loop, {variable, 0, kAtom, scope});
    ++opened_;
  }
  void close() {
    for (; opened_ > 0; --opened_) kernel.close();
  }

  void store(BufferId out, Text at, const Text& value, const std::string& mask = "mask") {
    if (at.axes == 0) at = {"tl.zeros([BLOCK], tl.int64) + " + wrapped(at, kProduct), axis, kSum};
    kernel.format("tl.store({} + {}, {}, mask={})", kernel.pointer(out), wrapped(at, kProduct),
                  value.text, mask);
  }

  Launch launch(int block) {
    Launch out = finished(kernel, printer);
    out.grid = fmt::format("triton.cdiv({}, {})", total_.python(), block);
    out.grid_sizes = {total_};
    out.constants = {{"BLOCK", fmt::format("{}", block)}};
    out.tiling = fmt::format("BLOCK={}", block);
    return out;
  }

  KernelText kernel;
  ScalarPrinter printer;
  unsigned axis = 0;

 private:
  IntExpr total_;
  int opened_ = 0;
};

DType collected(const Stage& stage) {
  const bool places = stage.op == ReduceOp::kArgMin || stage.op == ReduceOp::kArgMax;
  return places ? stage.body->dtype : stage.accumulator;
}

// A float32 sum of so many terms one after the other has lost too much, or has stopped growing.
bool needs_double(const Program& program, const Stage& stage) {
  constexpr std::int64_t kManyTerms = 1024;
  const auto terms = count_of(stage.reduced).evaluate(program.sizes);
  return stage.op == ReduceOp::kSum && collected(stage) == DType::kFloat32 && terms &&
         *terms >= kManyTerms;
}

}  // namespace

Launch block_kernel(const Program& program, const Stage& stage, const std::string& name,
                    const TritonTuning& tuning) {
  Block at(program, name, stage.loops);
  const Text place{"at", at.axis};
  if (stage.reduced.empty()) {
    const Text value = at.printer.print(stage.body);
    at.store(stage.out, place, value);
    return at.launch(tuning.block);
  }
  const bool is_wide = needs_double(program, stage);
  Accumulator sum(at.kernel, at.printer, stage.op, is_wide ? DType::kFloat64 : collected(stage),
                  at.axis);
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

Launch scan_kernel(const Program& program, const Scan& scan, const std::string& name,
                   const TritonTuning& tuning) {
  const Stage& stage = scan.stage;
  std::vector<Loop> others = stage.loops;
  others.erase(others.begin() + static_cast<std::ptrdiff_t>(scan.axis));
  Block at(program, name, others);
  const Loop& axis = stage.loops[scan.axis];
  Accumulator sum(at.kernel, at.printer, stage.op, collected(stage), at.axis, true);
  IntExpr place;
  for (const Loop& loop : stage.loops)
    place = place * loop.extent +
            (loop.extent.constant() == 1 ? IntExpr() : IntExpr::symbol(loop.variable));
  const std::string step = at.kernel.fresh("step"), along = at.kernel.fresh("k");
  const std::string extent = at.kernel.size(axis.extent);
  const std::size_t scope = at.kernel.open(fmt::format("for {} in range(0, {}):", step, extent));
  at.kernel.format("{} = tl.cast({}, tl.int64)", along,
                   scan.reversed ? fmt::format("{} - 1 - {}", extent, step) : step);
  at.kernel.bind(axis, {along, 0, kAtom, scope});
  const Text value = at.printer.tensor(stage.body);
  sum.step(value, {}, at.kernel.integer(IntExpr::symbol(axis.variable)));
  Text result = sum.lanes();
  result.scope = at.kernel.scope();
  at.printer.set_reduced(result);
  at.store(stage.out, at.kernel.integer(place),
           stage.epilogue ? at.printer.print(stage.epilogue) : result);
  at.kernel.close();
  return at.launch(tuning.outputs);
}

Launch sort_kernel(const Program& program, const Sort& sort, const std::string& name,
                   const TritonTuning& tuning) {
  const Buffer& in = program.buffers[static_cast<std::size_t>(sort.in)];
  const std::vector<Loop> loops = loops_over(in.type.shape, "@s");
  Block at(program, name, loops);
  KernelText& kernel = at.kernel;
  const IntExpr length = in.type.shape.back();
  const IntExpr kept = sort.first ? *sort.first : length;
  const std::string pointer = kernel.pointer(sort.in);
  const bool floating = task::is_floating(in.type.dtype);
  const std::string cast =
      value_type(in.type.dtype) == triton_type(in.type.dtype) ? "" : ".to(tl.float32)";
  kernel.format("row = at // {}", kernel.size(length));
  kernel.format("place = at - row * {}", kernel.size(length));
  kernel.format("x = tl.load({} + at, mask=mask, other=0){}", pointer, cast);
  kernel.line("rank = tl.zeros([BLOCK], tl.int64)");
  kernel.open(fmt::format("for other in range(0, {}):", kernel.size(length)));
  kernel.format("y = tl.load({} + row * {} + other, mask=mask, other=0){}", pointer,
                kernel.size(length), cast);
  const char* sign = sort.descending ? ">" : "<";
  if (floating) {
    // NaN is the greatest.
    const char* greater = sort.descending ? "y" : "x";
    const char* smaller = sort.descending ? "x" : "y";
    kernel.format("before = (y {0} x) | (({1} != {1}) & ({2} == {2}))", sign, greater, smaller);
    kernel.line("equal = (y == x) | ((x != x) & (y != y))");
  } else {
    kernel.format("before = y {} x", sign);
    kernel.line("equal = y == x");
  }
  kernel.line("rank += (before | (equal & (other < place))).to(tl.int64)");
  kernel.close();
  const std::string mask = "mask & (rank < " + kernel.size(kept) + ")";
  const Text to{fmt::format("row * {} + rank", kernel.size(kept)), at.axis, kSum};
  at.store(sort.values, to, {"x"}, mask);
  at.store(sort.indices, to, {"place"}, mask);
  return at.launch(tuning.outputs);
}

Launch scatter_kernel(const Program& program, const Scatter& scatter, const std::string& name,
                      const TritonTuning& tuning) {
  const Buffer& out = program.buffers[static_cast<std::size_t>(scatter.out)];
  const std::vector<Loop> places = loops_over(out.type.shape, "@o");
  Block at(program, name, places);
  KernelText& kernel = at.kernel;
  // A dimension whose index is a loop's variable needs no search: that loop has one iteration here.
  std::set<std::string> fixed;
  std::vector<bool> searched(scatter.index.size(), true);
  Text inside;
  for (std::size_t d = 0; d < scatter.index.size(); ++d) {
    const auto* index = std::get_if<Scalar::Index>(&scatter.index[d]->node);
    if (index == nullptr) continue;
    for (const Loop& loop : scatter.loops) {
      if (index->expr != IntExpr::symbol(loop.variable) || !fixed.insert(loop.variable).second)
        continue;
      searched[d] = false;
      const Text own = kernel.integer(IntExpr::symbol(places[d].variable));
      kernel.bind(loop, own);
      if (loop.extent == out.type.shape[d]) continue;
      const Text below{fmt::format("{} < {}", own.text, kernel.size(loop.extent)), at.axis,
                       kComparison};
      inside = inside.text.empty()
                   ? below
                   : Text{fmt::format("({}) & ({})", inside.text, below.text), at.axis, kBitAnd};
    }
  }
  if (!inside.text.empty()) {
    kernel.format("{} = {}", kernel.fresh("inside"), inside.text);
    inside = {"inside", at.axis};
  }
  const Text* condition = inside.text.empty() ? nullptr : &inside;
  const std::string_view type = value_type(out.type.dtype);
  const bool narrow = type != triton_type(out.type.dtype);
  kernel.format("acc = tl.load({} + at, mask=mask, other=0){}", kernel.pointer(scatter.out),
                narrow ? ".to(tl.float32)" : "");
  int name_of = 0;
  for (const Loop& loop : scatter.loops) {
    if (!fixed.contains(loop.variable)) at.open(loop, fmt::format("j{}", name_of++));
  }
  Text match = inside;
  for (std::size_t d = 0; d < scatter.index.size(); ++d) {
    if (!searched[d] || out.type.shape[d].constant() == 1) continue;
    const Text index = at.printer.tensor(scatter.index[d], condition);
    const Text own = kernel.integer(IntExpr::symbol(places[d].variable));
    const std::string equal = fmt::format("({} == {})", wrapped(index, kBitOr), own.text);
    match.text = match.text.empty() ? equal : match.text + " & " + equal;
  }
  const Text value = at.printer.tensor(scatter.value, condition);
  std::string updated = wrapped(value, kUnary);
  switch (scatter.op) {
    case ScatterOp::kAssign:
      break;
    case ScatterOp::kAdd:
      updated = "acc + " + updated;
      break;
    case ScatterOp::kMultiply:
      updated = "acc * " + updated;
      break;
    case ScatterOp::kMin:
    case ScatterOp::kMax:
      updated = fmt::format(
          "tl.{}(acc, {}{})", scatter.op == ScatterOp::kMin ? "minimum" : "maximum", value.text,
          task::is_floating(out.type.dtype) ? ", propagate_nan=tl.PropagateNan.ALL" : "");
  }
  if (narrow)
    updated = fmt::format("({}).to({}).to(tl.float32)", updated, triton_type(out.type.dtype));
  kernel.format("acc = {}", match.text.empty()
                                ? updated
                                : fmt::format("tl.where({}, {}, acc)", match.text, updated));
  at.close();
  at.store(scatter.out, {"at", at.axis}, {"acc"});
  return at.launch(tuning.outputs);
}

}  // namespace kw::writer::triton
