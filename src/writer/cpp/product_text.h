// Products as calls of the register-tiled kernel of product_support.
#pragma once
#include <functional>
#include <set>
#include <string>
#include <vector>

#include "writer/cpp/cpp_tuning.h"
#include "writer/cpp/scalar_text.h"
#include "writer/graph/int_ranges.h"
#include "writer/nest/nest.h"

namespace kw::writer {

// What the printer of a whole function knows.
struct ProductScope {
  std::function<const Buffer&(BufferId)> buffer;
  std::function<std::string(BufferId)> name;
  // Of an element in its memory; a local buffer has its own dimensions alone.
  std::function<IntExpr(BufferId, const std::vector<IntExpr>& index)> linear;
  // Of an element at indices of which some are text.
  ScalarText::Load load;
  ScalarText::IndexText index;
  IntRanges& ranges;
  int& names;  // of everything printed in the function
};

// One statement, as lines. Functions that the file must define are added.
std::vector<std::string> product_text(const Product& product, const ProductScope& scope,
                                      const CppTuning& tuning, std::set<std::string>& functions);

// The statement that stores a value of dtype `from` into an element of dtype `to`. Functions that
// the file must define are added.
std::string store_text(const std::string& place, const std::string& value, task::DType to,
                       task::DType from, std::set<std::string>& functions);

// The value to compute before it is stored into an element of dtype `to`, which rounds: without a
// cast from float to that type.
const ScalarRef& before_rounding(const ScalarRef& value, task::DType to);

}  // namespace kw::writer
