#include "writer/cpp/size_names.h"

#include <algorithm>

#include <fmt/format.h>

namespace kw::writer {

SizeNames::SizeNames(const Nest& nest) {
  for (const Buffer& buffer : nest.program.buffers) {
    for (const IntExpr& size : buffer.type.shape) {
      for (const IntTerm& term : size.sum()) {
        if (term.coefficient != 1 || term.factors.size() != 1) continue;
        const IntFactor& factor = term.factors.front();
        if (!factor.symbol.empty() || factor.function != IntFunction::kFloorDiv) continue;
        const IntExpr quotient = factor.expr();
        if (!(size - quotient).constant()) continue;
        by_quotient_.try_emplace(quotient, Name{fmt::format("kw_n{}", by_quotient_.size()), size});
      }
    }
  }
}

IntExpr SizeNames::in(const IntExpr& expr) {
  if (by_quotient_.empty()) return expr;
  std::set<std::string> used;
  IntExpr out = renamed(expr, used);
  if (used.empty() || out.terms() > expr.terms()) return expr;
  used_.merge(used);
  return out;
}

std::vector<std::pair<std::string, IntExpr>> SizeNames::used() const {
  std::vector<std::pair<std::string, IntExpr>> out;
  for (const auto& [quotient, name] : by_quotient_) {
    if (used_.contains(name.name)) out.emplace_back(name.name, name.size);
  }
  std::sort(out.begin(), out.end());
  return out;
}

IntExpr SizeNames::renamed(const IntExpr& expr, std::set<std::string>& used) const {
  const auto of_factor = [&](const IntFactor& factor) -> IntExpr {
    if (!factor.symbol.empty()) return factor.expr();
    if (factor.function == IntFunction::kMin || factor.function == IntFunction::kMax)
      return IntExpr::call(factor.function, renamed(factor.a, used), renamed(factor.b, used));
    const IntExpr quotient = factor.expr();
    const auto found = by_quotient_.find(quotient);
    if (found == by_quotient_.end()) return factor.expr();
    used.insert(found->second.name);
    return IntExpr::symbol(found->second.name) - (found->second.size - quotient);
  };
  IntExpr out;
  for (const IntTerm& term : expr.sum()) {
    IntExpr product = term.coefficient;
    for (const IntFactor& factor : term.factors) product = product * of_factor(factor);
    out = out + product;
  }
  return out;
}

}  // namespace kw::writer
