// IntRanges: what is known of the symbols of expressions. From that it finds which of two
// expressions is smaller, and shorter forms of divisions such as (i * W + j) // W = i for 0 <= j <
// W.
#pragma once
#include <cstdint>
#include <map>
#include <set>
#include <string>

#include "writer/graph/int_expr.h"

namespace kw::writer {

// A symbol that nothing was said about is a size: at least 1. Copies are cheap enough for one a
// loop nest.
class IntRanges {
 public:
  // 0 <= variable < extent. The extent is at least 1 wherever the variable is used.
  void loop(const std::string& variable, const IntExpr& extent);
  // States that the expression is at least 1, as the dimension of a tensor is. Only a size's least
  // value is kept.
  void positive(const IntExpr& dimension);

  void unbounded(const std::string& symbol);  // may be anything: a host scalar

  // Proven for all values of the symbols; false: it may not be so.
  bool nonnegative(const IntExpr& expr) const;
  bool less(const IntExpr& a, const IntExpr& b) const { return nonnegative(b - a - 1); }
  bool less_equal(const IntExpr& a, const IntExpr& b) const { return nonnegative(b - a); }

  // Equal to a // b and a % b. The divisor is taken to be at least 1, as sizes are.
  IntExpr floor_div(const IntExpr& a, const IntExpr& b) const;
  IntExpr mod(const IntExpr& a, const IntExpr& b) const;
  IntExpr min(const IntExpr& a, const IntExpr& b) const;
  IntExpr max(const IntExpr& a, const IntExpr& b) const;
  IntExpr simplify(const IntExpr& expr) const;  // each call in it by the four

 private:
  bool prove(const IntExpr& expr, int& steps) const;
  IntExpr divide(IntFunction function, const IntExpr& a, const IntExpr& b, int depth) const;

  std::map<std::string, IntExpr> extents_;
  std::set<std::string> unbounded_;
  std::map<std::string, std::int64_t> least_;  // least value of a size, where it is more than 1
};

}  // namespace kw::writer
