#include "writer/nest/groups.h"

#include "writer/loops/scalar.h"

namespace kw::writer {
namespace {

// A number divides numbers alone: halves of 2 * W, as a transposed convolution has them, are no
// groups.
bool divides(const IntExpr& by, const IntExpr& extent) {
  const auto number = by.constant();
  if (number && (*number < 2 || !extent.constant())) return false;
  return IntExpr::call(IntFunction::kFloorDiv, extent, by) * by == extent;
}

void divisors_in(const IntExpr& expr, const std::vector<Loop>& loops,
                 std::map<std::string, IntExpr>& out) {
  for (const IntTerm& term : expr.sum()) {
    for (const IntFactor& factor : term.factors) {
      if (!factor.symbol.empty()) continue;
      divisors_in(factor.a, loops, out);
      if (factor.function != IntFunction::kFloorDiv) continue;
      for (const Loop& loop : loops) {
        if (factor.a == IntExpr::symbol(loop.variable) && divides(factor.b, loop.extent))
          out.emplace(loop.variable, factor.b);
      }
    }
  }
}

}  // namespace

Groups split_groups(const ScalarRef& value, const std::vector<Loop>& loops) {
  std::map<std::string, IntExpr> divisors;
  visit(value, [&](const Scalar& each) {
    const auto* index = std::get_if<Scalar::Index>(&each.node);
    if (index != nullptr) divisors_in(index->expr, loops, divisors);
  });
  Groups out;
  for (const Loop& loop : loops) {
    const auto found = divisors.find(loop.variable);
    if (found == divisors.end()) {
      out.loops.push_back(loop);
      continue;
    }
    const IntExpr& by = found->second;
    const Loop group{loop.variable + "g", IntExpr::call(IntFunction::kFloorDiv, loop.extent, by)};
    const Loop member{loop.variable + "m", by};
    out.loops.push_back(group);
    out.loops.push_back(member);
    out.places[loop.variable] =
        by * IntExpr::symbol(group.variable) + IntExpr::symbol(member.variable);
  }
  return out;
}

}  // namespace kw::writer
