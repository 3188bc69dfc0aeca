// bound_reductions: a reduction of what a condition lets in runs over that alone.
#include <limits>

#include "writer/loops/scalar.h"
#include "writer/nest/nest.h"

namespace kw::writer {
namespace {

// What leaves an accumulator as it is.
bool is_neutral(const ScalarRef& value, ReduceOp op) {
  const auto* constant = std::get_if<Scalar::Constant>(&value->node);
  if (constant == nullptr || !tensor::is_floating(value->dtype)) return false;
  constexpr double kInfinity = std::numeric_limits<double>::infinity();
  switch (op) {
    case ReduceOp::kSum:
      return constant->number == 0;
    case ReduceOp::kMax:
      return constant->number == -kInfinity;
    case ReduceOp::kMin:
      return constant->number == kInfinity;
    default:
      return false;
  }
}

// The terms that remain; loops end where the others do.
std::vector<ScalarRef> bounded(const std::vector<ScalarRef>& terms,
                               const std::vector<NestLoop*>& loops) {
  const auto depends = [&](const IntExpr& expr) {
    for (const NestLoop* loop : loops) {
      if (expr.contains(loop->variable)) return true;
    }
    return false;
  };
  const auto takes = [&](const ScalarRef& term) {
    const auto* call = std::get_if<Scalar::Call>(&term->node);
    if (call == nullptr || call->op != ScalarOp::kLess) return false;
    const auto a = index_of(call->arguments[0]), b = index_of(call->arguments[1]);
    if (!a || !b || depends(*b)) return false;
    for (NestLoop* loop : loops) {
      if (!(a->coefficient(loop->variable) == std::optional(IntExpr(1)))) continue;
      const IntExpr rest = a->substitute({{loop->variable, IntExpr()}});
      if (depends(rest)) continue;
      loop->extent = IntExpr::call(IntFunction::kMin, loop->extent, *b - rest);
      return true;
    }
    return false;
  };
  std::vector<ScalarRef> out;
  for (const ScalarRef& term : terms) {
    if (!takes(term)) out.push_back(term);
  }
  return out;
}

void bound(Reduction& found) {
  const auto* call = std::get_if<Scalar::Call>(&found.step->value->node);
  if (call == nullptr || call->op != ScalarOp::kSelect ||
      !is_neutral(call->arguments[2], found.declare->op))
    return;
  const ScalarRef value = call->arguments[1], neutral = call->arguments[2];
  ScalarRef condition = boolean(true);
  for (const ScalarRef& term : bounded(conjuncts(call->arguments[0]), found.reduced))
    condition = logical_and(condition, term);
  found.step->value = select(condition, value, neutral);
}

}  // namespace

void bound_reductions(Nest& nest) {
  for_each_reduction(nest, bound);
}

}  // namespace kw::writer
