#include <limits>

#include <fmt/format.h>

#include "writer/fusion/fusion.h"
#include "writer/loops/scalar.h"
#include "writer/nest/nest.h"

namespace kw::writer {
namespace {

constexpr std::int64_t kFewRows = 256;

ScalarRef identity_of(ReduceOp op, tensor::DType dtype) {
  constexpr double kInfinity = std::numeric_limits<double>::infinity();
  switch (op) {
    case ReduceOp::kSum:
      return number(dtype, 0);
    case ReduceOp::kProd:
      return number(dtype, 1);
    case ReduceOp::kMin:
      return number(dtype, kInfinity);
    case ReduceOp::kMax:
      return number(dtype, -kInfinity);
    case ReduceOp::kAny:
      return boolean(false);
    case ReduceOp::kAll:
      return boolean(true);
    default:
      return nullptr;
  }
}

bool should_split(const Program& program, const Stage& stage, std::int64_t chunk) {
  if (stage.reduced.empty() || identity_of(stage.op, stage.accumulator) == nullptr) return false;
  if (!tensor::is_floating(stage.accumulator) && stage.accumulator != tensor::DType::kBool &&
      stage.op != ReduceOp::kSum && stage.op != ReduceOp::kProd)
    return false;
  const auto rows = count_of(stage.loops).evaluate(program.sizes);
  const auto terms = count_of(stage.reduced).evaluate(program.sizes);
  return rows && terms && *rows <= kFewRows && *terms >= 4 * chunk;
}

}  // namespace

void split_reductions(Program& program, std::int64_t chunk) {
  std::vector<Step> steps;
  int number_of = 0;
  for (const Step& step : program.steps) {
    const auto* stage = std::get_if<Stage>(&step);
    if (stage == nullptr || !should_split(program, *stage, chunk)) {
      steps.push_back(step);
      continue;
    }
    const IntExpr terms = count_of(stage->reduced);
    const IntExpr chunks = IntExpr::call(IntFunction::kFloorDiv, terms + chunk - 1, chunk);
    const std::string name = fmt::format("chunk{}", number_of++);
    const Loop which{name, chunks}, inside{name + "_r", chunk}, over{name + "_s", chunks};
    IntRanges ranges = ranges_of(program);
    ranges.loop(which.variable, which.extent);
    ranges.loop(inside.variable, inside.extent);
    const IntExpr flat = IntExpr::symbol(which.variable) * chunk + IntExpr::symbol(inside.variable);

    Stage part = *stage;
    part.label += ": parts";
    part.epilogue = nullptr;
    part.loops.push_back(which);
    part.reduced = {inside};
    const ScalarRef body =
        simplified(substitute(stage->body, variables_of(flat, stage->reduced, ranges)), ranges);
    part.body = select(binary(ScalarOp::kLess, index_number(flat), index_number(terms)), body,
                       identity_of(stage->op, stage->accumulator));
    TensorType type{stage->accumulator, {}};
    for (const Loop& loop : part.loops) type.shape.push_back(loop.extent);
    part.out = static_cast<BufferId>(program.buffers.size());
    program.buffers.push_back({Buffer::Kind::kScratch, name, type});

    Stage whole = *stage;
    whole.reduced = {over};
    std::vector<ScalarRef> index;
    for (const Loop& loop : stage->loops)
      index.push_back(
          index_number(loop.extent.constant() == 1 ? IntExpr() : IntExpr::symbol(loop.variable)));
    index.push_back(index_number(IntExpr::symbol(over.variable)));
    whole.body = load(part.out, stage->accumulator, std::move(index));
    steps.emplace_back(std::move(part));
    steps.emplace_back(std::move(whole));
  }
  program.steps = std::move(steps);
}

}  // namespace kw::writer
