#include "writer/nest/groups.h"

#include "writer/loops/scalar.h"

namespace kw::writer {
namespace {

void divisors_in(const IntExpr& expr, const std::vector<Loop>& loops,
                 std::map<std::string, std::int64_t>& out) {
  for (const IntTerm& term : expr.sum()) {
    for (const IntFactor& factor : term.factors) {
      if (!factor.symbol.empty()) continue;
      divisors_in(factor.a, loops, out);
      const auto by = factor.b.constant();
      if (factor.function != IntFunction::kFloorDiv || !by || *by < 2) continue;
      for (const Loop& loop : loops) {
        const auto extent = loop.extent.constant();
        if (extent && *extent % *by == 0 && factor.a == IntExpr::symbol(loop.variable))
          out.emplace(loop.variable, *by);
      }
    }
  }
}

}  // namespace

Groups split_groups(const ScalarRef& value, const std::vector<Loop>& loops) {
  std::map<std::string, std::int64_t> divisors;
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
    const IntExpr by = found->second;
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
