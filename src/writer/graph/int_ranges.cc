#include "writer/graph/int_ranges.h"

#include <algorithm>
#include <numeric>
#include <optional>
#include <set>

namespace kw::writer {
namespace {

constexpr int kMaxSteps = 400;  // of one proof
constexpr int kMaxDepth = 8;    // of rules that lead to each other
constexpr std::size_t kMaxFactors = 6;

struct Linear {
  IntExpr coefficient, rest;
};

// expr = coefficient * factor + rest, where the factor (a call) is in no product with itself.
std::optional<Linear> linear_in(const IntExpr& expr, const IntExpr& factor) {
  Linear out;
  for (const IntTerm& term : expr.sum()) {
    IntExpr others = term.coefficient;
    int count = 0;
    for (const IntFactor& each : term.factors) {
      const IntExpr as_expr = each.expr();
      if (as_expr == factor)
        ++count;
      else
        others = others * as_expr;
    }
    if (count > 1) return std::nullopt;
    (count == 1 ? out.coefficient : out.rest) = (count == 1 ? out.coefficient : out.rest) + others;
  }
  return out;
}

// The term of most factors: what a division of polynomials goes by.
IntTerm leading(const IntExpr& expr) {
  IntTerm best;
  for (IntTerm& term : expr.sum()) {
    if (best.coefficient == 0 || term.factors.size() >= best.factors.size()) best = std::move(term);
  }
  return best;
}

// x where x * divisor is the term; nothing where it is no multiple.
std::optional<IntExpr> exact_quotient(const IntTerm& term, const IntTerm& divisor) {
  if (term.coefficient % divisor.coefficient != 0) return std::nullopt;
  std::vector<IntExpr> left;
  for (const IntFactor& factor : term.factors) left.push_back(factor.expr());
  for (const IntFactor& factor : divisor.factors) {
    auto place = std::find(left.begin(), left.end(), factor.expr());
    if (place == left.end()) return std::nullopt;
    left.erase(place);
  }
  IntExpr out = term.coefficient / divisor.coefficient;
  for (const IntExpr& factor : left) out = out * factor;
  return out;
}

// a = quotient * b + rest, with as much in the quotient as the terms show.
struct Division {
  IntExpr quotient, rest;
};

Division divide_terms(const IntExpr& a, const IntExpr& b) {
  Division out{0, a};
  const IntTerm lead = leading(b);
  for (int step = 0; step < 64; ++step) {
    std::optional<IntExpr> quotient;
    for (const IntTerm& term : out.rest.sum()) {
      quotient = exact_quotient(term, lead);
      if (quotient) break;
    }
    if (!quotient) break;
    out.quotient = out.quotient + *quotient;
    out.rest = out.rest - *quotient * b;
  }
  return out.rest.terms() > a.terms() + b.terms() ? Division{0, a} : out;
}

// Factors of one term: numbers and products that divide it, 1 left out.
std::vector<IntExpr> factors_of(const IntExpr& divisor, const IntExpr& dividend) {
  if (divisor.terms() != 1) return {};
  const IntTerm term = divisor.sum().front();
  if (term.coefficient < 1 || term.factors.size() > kMaxFactors) return {};
  std::set<std::int64_t> numbers = {1, term.coefficient};
  for (const IntTerm& each : dividend.sum())
    numbers.insert(std::gcd(each.coefficient, term.coefficient));
  std::vector<IntExpr> out;
  for (unsigned subset = 0; subset < (1U << term.factors.size()); ++subset) {
    IntExpr product = 1;
    for (std::size_t i = 0; i < term.factors.size(); ++i) {
      if ((subset >> i & 1U) != 0) product = product * term.factors[i].expr();
    }
    for (std::int64_t number : numbers) {
      const IntExpr candidate = product * IntExpr(number);
      if (candidate != IntExpr(1) && candidate != divisor &&
          std::find(out.begin(), out.end(), candidate) == out.end())
        out.push_back(candidate);
    }
  }
  return out;
}

}  // namespace

void IntRanges::loop(const std::string& variable, const IntExpr& extent) {
  extents_.insert_or_assign(variable, extent);
}

void IntRanges::unbounded(const std::string& symbol) {
  unbounded_.insert(symbol);
}

// symbol + c >= 1 and (symbol + c) // k + d >= 1 bound the symbol.
void IntRanges::positive(const IntExpr& dimension) {
  IntExpr expr = dimension;
  std::int64_t least = 1;  // expr >= least
  for (int depth = 0; depth < kMaxDepth; ++depth) {
    IntExpr without = expr;
    std::optional<IntFactor> only;
    for (const IntTerm& term : expr.sum()) {
      if (term.factors.empty()) {
        least -= term.coefficient;
        continue;
      }
      if (only || term.coefficient != 1 || term.factors.size() != 1) return;
      only = term.factors.front();
    }
    if (!only) return;
    if (!only->symbol.empty()) {
      if (extents_.contains(only->symbol) || unbounded_.contains(only->symbol)) return;
      auto [place, added] = least_.emplace(only->symbol, std::max<std::int64_t>(least, 1));
      if (!added) place->second = std::max(place->second, least);
      return;
    }
    const auto divisor = only->b.constant();
    if (only->function != IntFunction::kFloorDiv || !divisor || *divisor < 1) return;
    least *= *divisor;
    expr = only->a;
  }
}

bool IntRanges::nonnegative(const IntExpr& expr) const {
  int steps = kMaxSteps;
  return prove(expr, steps);
}

// Variables and calls are replaced by their extreme values one after the other; of what is left,
// each size is written as its least value plus something, and no term may be negative.
bool IntRanges::prove(const IntExpr& expr, int& steps) const {
  if (const auto number = expr.constant()) return *number >= 0;
  if (--steps < 0) return false;
  const IntExpr minus = IntExpr() - expr;
  std::optional<IntFactor> call;
  for (const IntTerm& term : expr.sum()) {
    for (const IntFactor& factor : term.factors) {
      if (factor.symbol.empty()) {
        call = factor;
        continue;
      }
      auto range = extents_.find(factor.symbol);
      if (range == extents_.end()) continue;
      const auto slope = expr.coefficient(factor.symbol);
      if (!slope) continue;
      const IntExpr rest = expr - *slope * IntExpr::symbol(factor.symbol);
      if (prove(*slope, steps)) return prove(rest, steps);
      if (prove(IntExpr() - *slope, steps))
        return prove(rest + *slope * (range->second - 1), steps);
      return false;
    }
  }
  if (!call) {
    std::map<std::string, IntExpr> shifted;
    for (const std::string& symbol : expr.symbols()) {
      auto least = least_.find(symbol);
      shifted.emplace(symbol,
                      IntExpr::symbol(symbol) + IntExpr(extents_.contains(symbol) ? 0
                                                        : least == least_.end()   ? 1
                                                                                  : least->second));
    }
    for (const IntTerm& term : expr.substitute(shifted).sum()) {
      if (term.coefficient < 0) return false;
      for (const IntFactor& factor : term.factors) {
        if (unbounded_.contains(factor.symbol)) return false;
      }
    }
    return true;
  }
  const auto linear = linear_in(expr, call->expr());
  if (!linear) return false;
  const auto& [slope, rest] = *linear;
  const IntExpr &a = call->a, &b = call->b;
  const bool rising = prove(slope, steps);
  if (!rising && !prove(IntExpr() - slope, steps)) return false;
  const auto at = [&](const IntExpr& value) { return prove(rest + slope * value, steps); };
  switch (call->function) {
    case IntFunction::kMin:
      return rising ? at(a) && at(b) : at(a) || at(b);
    case IntFunction::kMax:
      return rising ? at(a) || at(b) : at(a) && at(b);
    case IntFunction::kMod:
      if (!prove(b - 1, steps)) return false;
      if (rising) return at(0);
      return at(b - 1) || (prove(a, steps) && at(a));
    case IntFunction::kFloorDiv: {
      if (!prove(b - 1, steps)) return false;
      if (rising && prove(a, steps) && at(0)) return true;
      // a - b + 1 <= (a // b) * b <= a
      return prove(b * rest + slope * (rising ? a - b + 1 : a), steps);
    }
  }
  return false;
}

IntExpr IntRanges::floor_div(const IntExpr& a, const IntExpr& b) const {
  return divide(IntFunction::kFloorDiv, a, b, 0);
}
IntExpr IntRanges::mod(const IntExpr& a, const IntExpr& b) const {
  return divide(IntFunction::kMod, a, b, 0);
}

IntExpr IntRanges::divide(IntFunction function, const IntExpr& a, const IntExpr& b,
                          int depth) const {
  const bool modulo = function == IntFunction::kMod;
  const auto by = b.constant();
  if (by == 1) return modulo ? IntExpr() : a;
  if (by && *by < 1) return IntExpr::call(function, a, b);
  auto [quotient, rest] = divide_terms(a, b);
  // A numerator that is not negative, where there is one.
  if (!nonnegative(rest)) {
    if (nonnegative(rest + b)) {
      rest = rest + b;
      quotient = quotient - 1;
    } else if (nonnegative(a)) {
      rest = a;
      quotient = 0;
    }
  }
  const auto with_quotient = [&](const IntExpr& of_rest) {
    return modulo ? of_rest : quotient + of_rest;
  };
  if (nonnegative(rest) && less(rest, b)) return with_quotient(modulo ? rest : IntExpr());
  if (depth >= kMaxDepth) return with_quotient(IntExpr::call(function, rest, b));
  for (const IntTerm& term : rest.sum()) {
    if (term.factors.size() != 1 || !term.factors.front().symbol.empty()) continue;
    const IntFactor& inner = term.factors.front();
    const IntExpr others = rest - IntExpr(term.coefficient) * inner.expr();
    // (x // c + k) // b = (x + k * c) // (b * c)
    if (!modulo && inner.function == IntFunction::kFloorDiv && term.coefficient == 1 &&
        nonnegative(inner.b - 1))
      return with_quotient(divide(function, inner.a + others * inner.b, b * inner.b, depth + 1));
    if (inner.function != IntFunction::kMod) continue;
    const Division of_divisor = divide_terms(inner.b, b);
    if (of_divisor.rest != IntExpr()) continue;
    // x % (n * b) is x modulo b, and its quotient by b is (x // b) % n
    if (modulo) return divide(function, others + IntExpr(term.coefficient) * inner.a, b, depth + 1);
    if (term.coefficient == 1 && others == IntExpr())
      return with_quotient(divide(IntFunction::kMod, divide(function, inner.a, b, depth + 1),
                                  of_divisor.quotient, depth + 1));
  }
  // (g * x + y) // (g * m) = x // m for 0 <= y < g
  for (const IntExpr& factor : factors_of(b, rest)) {
    const Division part = divide_terms(rest, factor);
    if (part.quotient == IntExpr() || !nonnegative(part.rest) || !less(part.rest, factor)) continue;
    const IntExpr smaller =
        divide(function, part.quotient, divide_terms(b, factor).quotient, depth + 1);
    return with_quotient(modulo ? factor * smaller + part.rest : smaller);
  }
  return with_quotient(IntExpr::call(function, rest, b));
}

IntExpr IntRanges::min(const IntExpr& a, const IntExpr& b) const {
  if (less_equal(a, b)) return a;
  if (less_equal(b, a)) return b;
  return IntExpr::call(IntFunction::kMin, a, b);
}
IntExpr IntRanges::max(const IntExpr& a, const IntExpr& b) const {
  if (less_equal(a, b)) return b;
  if (less_equal(b, a)) return a;
  return IntExpr::call(IntFunction::kMax, a, b);
}

IntExpr IntRanges::simplify(const IntExpr& expr) const {
  IntExpr out;
  for (const IntTerm& term : expr.sum()) {
    IntExpr product = term.coefficient;
    for (const IntFactor& factor : term.factors) {
      if (!factor.symbol.empty()) {
        product = product * IntExpr::symbol(factor.symbol);
        continue;
      }
      const IntExpr a = simplify(factor.a), b = simplify(factor.b);
      switch (factor.function) {
        case IntFunction::kFloorDiv:
          product = product * floor_div(a, b);
          break;
        case IntFunction::kMod:
          product = product * mod(a, b);
          break;
        case IntFunction::kMin:
          product = product * min(a, b);
          break;
        case IntFunction::kMax:
          product = product * max(a, b);
          break;
      }
    }
    out = out + product;
  }
  return out;
}

}  // namespace kw::writer
