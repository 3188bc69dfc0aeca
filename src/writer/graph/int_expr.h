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
  // Simplified where the answer is known whatever the symbols are: numbers, a divisor of 1, sums
  // whose every coefficient is a multiple of a number, a product divided by one of its factors,
  // equal arguments of kMin and kMax. The divisor must not be the number 0.
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
  // C++ over int64_t names. Division and remainder are C++'s own, which agree with IntFunction
  // where nothing is negative: whoever makes an index or a size that may be negative there must not
  // print it so.
  std::string cpp() const;
  // Where `nonnegative` does not hold of a dividend: kw_floor_div<int64_t>(a, b) and
  // kw_remainder<int64_t>(a, b), which round as IntFunction does.
  std::string cpp(const std::function<bool(const IntExpr&)>& nonnegative) const;

 private:
  struct Call;
  // A symbol, or a call.
  struct Atom {
    std::string name;  // of a symbol; empty: a call
    std::shared_ptr<const Call> call;
    std::strong_ordering operator<=>(const Atom& other) const;
    bool operator==(const Atom& other) const { return (*this <=> other) == 0; }
  };
  using Monomial = std::vector<Atom>;              // sorted, with repeats: x * x is {x, x}
  using Terms = std::map<Monomial, std::int64_t>;  // no coefficient is 0

  explicit IntExpr(Terms terms) : terms_(std::move(terms)) {}
  static IntExpr of_atom(Atom atom);
  std::string print(const std::function<std::string(const Call&)>& print_call) const;

  Terms terms_;
};

// A symbol, or a call of `function`.
struct IntFactor {
  std::string symbol;  // empty: a call
  IntFunction function = IntFunction::kFloorDiv;
  IntExpr a = {}, b = {};  // of a call
  IntExpr expr() const {
    return symbol.empty() ? IntExpr::call(function, a, b) : IntExpr::symbol(symbol);
  }
};

// coefficient times the factors, with repeats.
struct IntTerm {
  std::int64_t coefficient = 0;
  std::vector<IntFactor> factors;
  IntExpr product() const;  // of the factors alone
};

}  // namespace kw::writer
