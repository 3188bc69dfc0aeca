// IntExpr: an integer that depends on named sizes and loop variables. Shapes, indices and bounds of
// kernels are made of these, so that one kernel serves every size.
#pragma once
#include <compare>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/result.h"

namespace kw::writer {

// Division rounds towards minus infinity, as Python's // does; the remainder has the divisor's
// sign.
enum class IntFunction { kFloorDiv, kMod, kMin, kMax };

struct IntTerm;
struct IntFactor;

// A value. Held as a polynomial with integer coefficients over symbols and calls of IntFunction, in
// one normal form: two expressions that are equal as polynomials compare equal.
class IntExpr {
 public:
  // NOLINTNEXTLINE(google-explicit-constructor): a number is an expression
  IntExpr(std::int64_t value = 0);
  static IntExpr symbol(std::string name);

  // Python's integer expressions over names and numbers, as python() and torch print sizes: + - *
  // // % ** (by a number up to 8), parentheses, min, max, Min, Max (of two or more), Mod,
  // PythonMod, FloorDiv, CleanDiv. kInvalidArgument with the column (from 1); at most 4 KiB, 64
  // levels and 256 terms of a sum that is multiplied out.
  static Result<IntExpr> parse(std::string_view text);

  // Coefficients over 64 bits wrap.
  friend IntExpr operator+(const IntExpr& a, const IntExpr& b);
  friend IntExpr operator-(const IntExpr& a, const IntExpr& b);
  friend IntExpr operator*(const IntExpr& a, const IntExpr& b);
  // Simplifies where the result is known for all values of the symbols: numbers, a divisor of 1,
  // sums whose every coefficient is a multiple of a number, a product divided by one of its
  // factors, equal arguments of kMin and kMax. The divisor must not be the number 0.
  static IntExpr call(IntFunction function, const IntExpr& a, const IntExpr& b);

  std::strong_ordering operator<=>(const IntExpr& other) const;
  bool operator==(const IntExpr& other) const { return (*this <=> other) == 0; }

  std::optional<std::int64_t> constant() const;
  std::size_t terms() const { return terms_.size(); }
  std::vector<IntTerm> sum() const;  // the terms, in the normal form's order; empty for 0
  std::set<std::string> symbols() const;
  bool contains(const std::string& symbol) const;
  // c where this is c * symbol + rest, with neither c nor rest dependent on the symbol; nullopt
  // where it is not of that form.
  std::optional<IntExpr> coefficient(const std::string& symbol) const;
  IntExpr substitute(const std::map<std::string, IntExpr>& values) const;
  // kInvalidArgument for a symbol without a value, a division by 0 or more than 64 bits.
  Result<std::int64_t> evaluate(const std::map<std::string, std::int64_t>& values) const;

  // Python, which parse() reads back to an equal expression.
  std::string python() const;
  // C++ over int64_t names. Division and remainder are those of C++, which agree with IntFunction
  // only where nothing is negative. Do not print an index or a size that may be negative this way.
  std::string cpp() const;
  // C++ that uses kw_floor_div<int64_t>(a, b) and kw_remainder<int64_t>(a, b), which round as
  // IntFunction does, for dividends of which `nonnegative` is false.
  std::string cpp(const std::function<bool(const IntExpr&)>& nonnegative) const;

 private:
  struct Call;
  // A symbol, or a call.
  struct Atom {
    std::string name;  // name of a symbol; empty for a call
    std::shared_ptr<const Call> call;
    std::strong_ordering operator<=>(const Atom& other) const;
    bool operator==(const Atom& other) const { return (*this <=> other) == 0; }
  };
  using Monomial = std::vector<Atom>;              // sorted, with repeats: x * x is {x, x}
  using Terms = std::map<Monomial, std::int64_t>;  // without coefficients of 0

  explicit IntExpr(Terms terms) : terms_(std::move(terms)) {}
  static IntExpr of_atom(Atom atom);
  std::string print(const std::function<std::string(const Call&)>& print_call) const;

  Terms terms_;
};

// A symbol, or a call of `function`.
struct IntFactor {
  std::string symbol;  // empty: a call
  IntFunction function = IntFunction::kFloorDiv;
  IntExpr a = {}, b = {};  // the call's arguments
  IntExpr expr() const {
    return symbol.empty() ? IntExpr::call(function, a, b) : IntExpr::symbol(symbol);
  }
};

// coefficient times the factors, with repeats.
struct IntTerm {
  std::int64_t coefficient = 0;
  std::vector<IntFactor> factors;
  IntExpr product() const;  // the product of the factors, without the coefficient
};

}  // namespace kw::writer
