#include "writer/graph/int_expr.h"

#include <algorithm>
#include <numeric>

#include "base/check.h"

namespace kw::writer {

struct IntExpr::Call {
  IntFunction function;
  IntExpr a, b;
};

namespace {

std::int64_t floor_div(std::int64_t a, std::int64_t b) {
  if (b == -1)
    return static_cast<std::int64_t>(-static_cast<std::uint64_t>(a));  // also of the least number
  const std::int64_t quotient = a / b;
  return a % b != 0 && (a < 0) != (b < 0) ? quotient - 1 : quotient;
}

std::int64_t apply(IntFunction function, std::int64_t a, std::int64_t b) {
  switch (function) {
    case IntFunction::kFloorDiv:
      return floor_div(a, b);
    case IntFunction::kMod:
      return a - floor_div(a, b) * b;
    case IntFunction::kMin:
      return std::min(a, b);
    case IntFunction::kMax:
      return std::max(a, b);
  }
  KW_CHECK(false);
}

std::int64_t wrapping_sum(std::int64_t a, std::int64_t b) {
  return static_cast<std::int64_t>(static_cast<std::uint64_t>(a) + static_cast<std::uint64_t>(b));
}
std::int64_t wrapping_product(std::int64_t a, std::int64_t b) {
  return static_cast<std::int64_t>(static_cast<std::uint64_t>(a) * static_cast<std::uint64_t>(b));
}

bool divides(IntFunction function) {
  return function == IntFunction::kFloorDiv || function == IntFunction::kMod;
}

}  // namespace

std::strong_ordering IntExpr::Atom::operator<=>(const Atom& other) const {
  if (auto order = name <=> other.name; order != 0 || !call || !other.call) return order;
  if (auto order = call->function <=> other.call->function; order != 0) return order;
  if (auto order = call->a <=> other.call->a; order != 0) return order;
  return call->b <=> other.call->b;
}

IntExpr::IntExpr(std::int64_t value) {
  if (value != 0) terms_.emplace(Monomial(), value);
}

IntExpr IntExpr::symbol(std::string name) {
  KW_CHECK(!name.empty());
  return of_atom({std::move(name), nullptr});
}

IntExpr IntExpr::of_atom(Atom atom) {
  return IntExpr(Terms{{Monomial{std::move(atom)}, 1}});
}

IntExpr operator+(const IntExpr& a, const IntExpr& b) {
  IntExpr out = a;
  for (const auto& [monomial, coefficient] : b.terms_) {
    auto [place, added] = out.terms_.emplace(monomial, coefficient);
    if (!added) place->second = wrapping_sum(place->second, coefficient);
    if (place->second == 0) out.terms_.erase(place);
  }
  return out;
}

IntExpr operator-(const IntExpr& a, const IntExpr& b) {
  return a + b * IntExpr(-1);
}

IntExpr operator*(const IntExpr& a, const IntExpr& b) {
  IntExpr out;
  for (const auto& [left, left_coefficient] : a.terms_) {
    for (const auto& [right, right_coefficient] : b.terms_) {
      IntExpr::Monomial product;
      std::merge(left.begin(), left.end(), right.begin(), right.end(), std::back_inserter(product));
      const std::int64_t number = wrapping_product(left_coefficient, right_coefficient);
      if (number != 0) out = out + IntExpr(IntExpr::Terms{{std::move(product), number}});
    }
  }
  return out;
}

// (c * b) // b and (c * b) % b for a divisor of one term; nothing where it is not a factor of all.
IntExpr IntExpr::call(IntFunction function, const IntExpr& a, const IntExpr& b) {
  const auto left = a.constant(), right = b.constant();
  if (divides(function)) KW_CHECK(right != 0);
  if (left && right) return apply(function, *left, *right);
  if (!divides(function)) {
    if (a == b) return a;
    return b < a ? call(function, b, a) : of_atom({"", std::make_shared<Call>(function, a, b)});
  }
  if (b.terms_.size() == 1) {
    const auto& [factors, number] = *b.terms_.begin();
    Terms quotient;
    bool whole = true;
    for (const auto& [monomial, coefficient] : a.terms_) {
      if (coefficient % number != 0 ||
          !std::includes(monomial.begin(), monomial.end(), factors.begin(), factors.end())) {
        whole = false;
        break;
      }
      Monomial rest;
      std::set_difference(monomial.begin(), monomial.end(), factors.begin(), factors.end(),
                          std::back_inserter(rest));
      quotient.emplace(std::move(rest), coefficient / number);
    }
    if (whole) return function == IntFunction::kMod ? IntExpr() : IntExpr(std::move(quotient));
  }
  return of_atom({"", std::make_shared<Call>(function, a, b)});
}

std::strong_ordering IntExpr::operator<=>(const IntExpr& other) const {
  return std::lexicographical_compare_three_way(
      terms_.begin(), terms_.end(), other.terms_.begin(), other.terms_.end(),
      [](const auto& x, const auto& y) -> std::strong_ordering {
        if (auto order = x.first <=> y.first; order != 0) return order;
        return x.second <=> y.second;
      });
}

std::optional<std::int64_t> IntExpr::constant() const {
  if (terms_.empty()) return 0;
  if (terms_.size() == 1 && terms_.begin()->first.empty()) return terms_.begin()->second;
  return std::nullopt;
}

std::vector<IntTerm> IntExpr::sum() const {
  std::vector<IntTerm> out;
  for (const auto& [monomial, number] : terms_) {
    IntTerm& term = out.emplace_back();
    term.coefficient = number;
    for (const Atom& atom : monomial) {
      if (atom.call)
        term.factors.push_back({"", atom.call->function, atom.call->a, atom.call->b});
      else
        term.factors.push_back({.symbol = atom.name});
    }
  }
  return out;
}

IntExpr IntTerm::product() const {
  IntExpr out = 1;
  for (const IntFactor& factor : factors) out = out * factor.expr();
  return out;
}

std::set<std::string> IntExpr::symbols() const {
  std::set<std::string> out;
  for (const auto& [monomial, coefficient] : terms_) {
    for (const Atom& atom : monomial) {
      if (atom.call) {
        out.merge(atom.call->a.symbols());
        out.merge(atom.call->b.symbols());
      } else {
        out.insert(atom.name);
      }
    }
  }
  return out;
}

bool IntExpr::contains(const std::string& symbol) const {
  return symbols().contains(symbol);
}

std::optional<IntExpr> IntExpr::coefficient(const std::string& symbol) const {
  IntExpr out;
  for (const auto& [monomial, number] : terms_) {
    Monomial rest;
    for (const Atom& atom : monomial) {
      if (atom.call && of_atom(atom).contains(symbol)) return std::nullopt;
      if (atom.call || atom.name != symbol) rest.push_back(atom);
    }
    if (monomial.size() - rest.size() > 1) return std::nullopt;
    if (rest.size() < monomial.size()) out = out + IntExpr(Terms{{std::move(rest), number}});
  }
  return out;
}

IntExpr IntExpr::substitute(const std::map<std::string, IntExpr>& values) const {
  IntExpr out;
  for (const auto& [monomial, number] : terms_) {
    IntExpr product = number;
    for (const Atom& atom : monomial) {
      if (atom.call) {
        product = product * call(atom.call->function, atom.call->a.substitute(values),
                                 atom.call->b.substitute(values));
      } else {
        auto found = values.find(atom.name);
        product = product * (found == values.end() ? of_atom(atom) : found->second);
      }
    }
    out = out + product;
  }
  return out;
}

Result<std::int64_t> IntExpr::evaluate(const std::map<std::string, std::int64_t>& values) const {
  auto too_large = [&] {
    return fail(ErrorCode::kInvalidArgument, "{} is over 64 bits", python());
  };
  std::int64_t sum = 0;
  for (const auto& [monomial, number] : terms_) {
    std::int64_t product = number;
    for (const Atom& atom : monomial) {
      std::int64_t value = 0;
      if (atom.call) {
        KW_TRY(std::int64_t a, atom.call->a.evaluate(values));
        KW_TRY(std::int64_t b, atom.call->b.evaluate(values));
        if (divides(atom.call->function) && b == 0)
          return fail(ErrorCode::kInvalidArgument, "{} divides by 0", python());
        value = apply(atom.call->function, a, b);
      } else {
        auto found = values.find(atom.name);
        if (found == values.end())
          return fail(ErrorCode::kInvalidArgument, "{} has no value", atom.name);
        value = found->second;
      }
      if (__builtin_mul_overflow(product, value, &product)) return too_large();
    }
    if (__builtin_add_overflow(sum, product, &sum)) return too_large();
  }
  return sum;
}

// Positive terms, negative terms, the number; no text begins with a minus that need not.
std::string IntExpr::print(const std::function<std::string(const Call&)>& print_call) const {
  if (terms_.empty()) return "0";
  std::vector<std::pair<const Monomial*, std::int64_t>> ordered;
  for (const auto& [monomial, number] : terms_) ordered.emplace_back(&monomial, number);
  const auto rank = [](const auto& term) {
    if (!term.first->empty()) return term.second < 0 ? 1 : 0;
    return 2;
  };
  std::stable_sort(ordered.begin(), ordered.end(),
                   [&](const auto& x, const auto& y) { return rank(x) < rank(y); });
  if (ordered.front().second < 0 && ordered.back().second > 0)
    std::rotate(ordered.begin(), ordered.end() - 1, ordered.end());
  std::string out;
  for (const auto& [monomial, number] : ordered) {
    const bool minus = number < 0;
    if (!out.empty())
      out += minus ? " - " : " + ";
    else if (minus)
      out += "-";
    const std::string size = minus ? std::to_string(number).substr(1) : std::to_string(number);
    std::string factors;
    for (const Atom& atom : *monomial) {
      if (!factors.empty()) factors += " * ";
      factors += atom.call ? print_call(*atom.call) : atom.name;
    }
    if (factors.empty())
      out += size;
    else
      out += size == "1" ? factors : size + " * " + factors;
  }
  return out;
}

std::string IntExpr::python() const {
  return print([](const Call& call) {
    switch (call.function) {
      case IntFunction::kFloorDiv:
        return fmt::format("(({}) // ({}))", call.a.python(), call.b.python());
      case IntFunction::kMod:
        return fmt::format("(({}) % ({}))", call.a.python(), call.b.python());
      case IntFunction::kMin:
        return fmt::format("min({}, {})", call.a.python(), call.b.python());
      case IntFunction::kMax:
        return fmt::format("max({}, {})", call.a.python(), call.b.python());
    }
    KW_CHECK(false);
  });
}

std::string IntExpr::cpp() const {
  return cpp([](const IntExpr&) { return true; });
}

std::string IntExpr::cpp(const std::function<bool(const IntExpr&)>& nonnegative) const {
  return print([&](const Call& call) {
    const std::string a = call.a.cpp(nonnegative), b = call.b.cpp(nonnegative);
    // A name, a number or a call needs no parentheses.
    const auto operand = [](const std::string& text) {
      const bool is_one = text.find(' ') == std::string::npos && !text.starts_with('-');
      return is_one ? text : fmt::format("({})", text);
    };
    switch (call.function) {
      case IntFunction::kFloorDiv:
        return nonnegative(call.a) ? fmt::format("({} / {})", operand(a), operand(b))
                                   : fmt::format("kw_floor_div<int64_t>({}, {})", a, b);
      case IntFunction::kMod:
        return nonnegative(call.a) ? fmt::format("({} % {})", operand(a), operand(b))
                                   : fmt::format("kw_remainder<int64_t>({}, {})", a, b);
      case IntFunction::kMin:
        return fmt::format("std::min<int64_t>({}, {})", a, b);
      case IntFunction::kMax:
        return fmt::format("std::max<int64_t>({}, {})", a, b);
    }
    KW_CHECK(false);
  });
}

}  // namespace kw::writer
