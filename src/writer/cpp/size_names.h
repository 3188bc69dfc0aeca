// SizeNames: names for sizes that are no symbols themselves, such as a convolution's (H - 1) // 2 +
// 1. An index that is counted in such sizes is then a product of names, not the polynomial that it
// expands to.
#pragma once
#include <map>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "writer/graph/int_expr.h"
#include "writer/nest/nest.h"

namespace kw::writer {

class SizeNames {
 public:
  // Names the dimensions of the nest's buffers.
  explicit SizeNames(const Nest& nest);

  // The same number, with names where it is not longer with them.
  IntExpr in(const IntExpr& expr);
  // The names that in() has used with their sizes, in an order in which they may be declared.
  std::vector<std::pair<std::string, IntExpr>> used() const;

 private:
  struct Name {
    std::string name;
    IntExpr size;  // quotient + a number
  };
  // used: is told the names in it.
  IntExpr renamed(const IntExpr& expr, std::set<std::string>& used) const;

  std::map<IntExpr, Name> by_quotient_;
  std::set<std::string> used_;
};

}  // namespace kw::writer
