// Products as calls of the register-tiled kernel of product_support.
#pragma once
#include <functional>
#include <set>
#include <string>
#include <vector>

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
                                      std::set<std::string>& functions);

// The value of an element that is stored into a buffer of dtype `to`.
std::string stored_text(const std::string& value, task::DType to, task::DType from);

}  // namespace kw::writer
