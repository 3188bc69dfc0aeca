// Walks over a program's expressions.
#include "writer/fusion/fusion.h"
#include "writer/loops/scalar.h"

namespace kw::writer {
namespace {

void learn(IntRanges& ranges, const std::vector<Loop>& loops) {
  for (const Loop& loop : loops) ranges.loop(loop.variable, loop.extent);
}

void see_loads(const ScalarRef& value, const std::function<void(const Scalar::Load&)>& see) {
  visit(value, [&](const Scalar& each) {
    if (const auto* load = std::get_if<Scalar::Load>(&each.node)) see(*load);
  });
}

}  // namespace

IntRanges ranges_of(const Program& program) {
  IntRanges out;
  for (const Buffer& buffer : program.buffers) {
    if (buffer.kind == Buffer::Kind::kScalar) out.unbounded(buffer.name);
    for (const IntExpr& extent : buffer.type.shape) out.positive(extent);
  }
  for (const Step& step : program.steps) {
    if (const auto* stage = std::get_if<Stage>(&step)) {
      learn(out, stage->loops);
      learn(out, stage->reduced);
    } else if (const auto* scan = std::get_if<Scan>(&step)) {
      learn(out, scan->stage.loops);
    } else if (const auto* scatter = std::get_if<Scatter>(&step)) {
      learn(out, scatter->loops);
    }
  }
  return out;
}

std::vector<Loop> real_loops(const std::vector<Loop>& loops) {
  std::vector<Loop> out = loops;
  std::erase_if(out, [](const Loop& loop) { return loop.extent.constant() == 1; });
  return out;
}

void for_each_load(const Step& step, const std::function<void(const Scalar::Load&)>& see) {
  if (const auto* scatter = std::get_if<Scatter>(&step)) {
    for (const ScalarRef& index : scatter->index) see_loads(index, see);
    see_loads(scatter->value, see);
    return;
  }
  if (std::holds_alternative<Sort>(step)) return;
  const Stage& stage =
      std::holds_alternative<Scan>(step) ? std::get<Scan>(step).stage : std::get<Stage>(step);
  see_loads(stage.body, see);
  see_loads(stage.epilogue, see);
}

std::map<std::string, IntExpr> variables_of(const IntExpr& flat, const std::vector<Loop>& loops,
                                            const IntRanges& ranges) {
  std::map<std::string, IntExpr> out;
  IntExpr inner = 1;
  for (std::size_t i = loops.size(); i-- > 0; inner = inner * loops[i].extent) {
    const IntExpr outer = ranges.floor_div(flat, inner);
    out[loops[i].variable] = i == 0 ? outer : ranges.mod(outer, loops[i].extent);
  }
  return out;
}

}  // namespace kw::writer
