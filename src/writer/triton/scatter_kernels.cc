// Writes at places that data decides: each output looks for its updates, or each update is added
// where it belongs.
#include "writer/fusion/fusion.h"
#include "writer/triton/block.h"

namespace kw::writer::triton {

using tensor::DType;

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
          tensor::is_floating(out.type.dtype) ? ", propagate_nan=tl.PropagateNan.ALL" : "");
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

bool can_add_atomically(const Program& program, const Scatter& scatter) {
  switch (program.buffers[static_cast<std::size_t>(scatter.out)].type.dtype) {
    case DType::kFloat32:
    case DType::kFloat64:
    case DType::kInt32:
    case DType::kInt64:
      return scatter.op == ScatterOp::kAdd;
    default:
      return false;
  }
}

Launch atomic_scatter_kernel(const Program& program, const Scatter& scatter,
                             const std::string& name, const TritonTuning& tuning) {
  const Buffer& out = program.buffers[static_cast<std::size_t>(scatter.out)];
  Block at(program, name, scatter.loops);
  KernelText& kernel = at.kernel;
  std::string place;
  for (std::size_t d = 0; d < scatter.index.size(); ++d) {
    const std::string own = wrapped(at.printer.tensor(scatter.index[d]), kUnary);
    place = place.empty()
                ? own
                : fmt::format("({}) * {} + {}", place, kernel.size(out.type.shape[d]), own);
  }
  const Text value = at.printer.print(scatter.value);
  kernel.format("to = tl.zeros([BLOCK], tl.int64) + {}", place.empty() ? "0" : place);
  kernel.format(
      "tl.atomic_add({} + to, ({} + tl.zeros([BLOCK], {})).to({}), mask=mask, "
      "sem=\"relaxed\")",
      kernel.pointer(scatter.out), value.text, value_type(out.type.dtype),
      triton_type(out.type.dtype));
  return at.launch(tuning.block);
}

}  // namespace kw::writer::triton
