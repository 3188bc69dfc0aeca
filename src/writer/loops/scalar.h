// Makers of Scalars and walks over them.
#pragma once
#include <functional>
#include <set>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "writer/graph/int_ranges.h"
#include "writer/loops/loops.h"

namespace kw::writer {

// The dtype that computations use: float32 for the 16-bit types.
tensor::DType opmath(tensor::DType dtype);

ScalarRef number(tensor::DType dtype,
                 double value);  // a number of any dtype; cut to an integer where the dtype is one
ScalarRef integer(tensor::DType dtype, std::int64_t value);
ScalarRef boolean(bool value);
ScalarRef index_number(const IntExpr& expr);  // kInt64
ScalarRef load(BufferId buffer, tensor::DType dtype, std::vector<ScalarRef> index);
ScalarRef reduced(tensor::DType dtype);
// The value itself where it has the dtype; a constant where it is one.
ScalarRef cast(tensor::DType dtype, const ScalarRef& value);

ScalarRef call(ScalarOp op, tensor::DType dtype, std::vector<ScalarRef> arguments);
// The result has the first argument's dtype; comparisons and tests give bool.
ScalarRef unary(ScalarOp op, const ScalarRef& value);
ScalarRef binary(ScalarOp op, const ScalarRef& a, const ScalarRef& b);
ScalarRef select(const ScalarRef& condition, const ScalarRef& yes, const ScalarRef& no);
// The other operand of `value`'s dtype.
ScalarRef binary(ScalarOp op, const ScalarRef& value, double other);
ScalarRef binary(ScalarOp op, double other, const ScalarRef& value);
ScalarRef logical_and(const ScalarRef& a, const ScalarRef& b);  // constants folded
bool is_zero(const ScalarRef& value);                           // the number
std::vector<ScalarRef> conjuncts(const ScalarRef& condition);   // the terms of nested kAnd

std::string_view to_string(ScalarOp op);  // "add", "log1p"
std::string_view to_string(ReduceOp op);  // "sum", "argmax"

std::optional<bool> constant_bool(const ScalarRef& value);
std::optional<IntExpr> index_of(const ScalarRef& value);  // nullopt: it depends on data
IntExpr known_index(const ScalarRef& value);              // KW_CHECK: it does not
// Loop variables and sizes in all of its indices.
std::set<std::string> variables_of(const ScalarRef& value);
// The indices of a load that do not depend on data, in their order; the others are left out.
std::vector<IntExpr> known_indices(const Scalar::Load& load);

// Each node once, arguments and indices before what holds them.
void visit(const ScalarRef& root, const std::function<void(const Scalar&)>& see);

// True where a equals b after `names` are put for the variables of a.
bool is_equal(const ScalarRef& a, const ScalarRef& b, const std::map<std::string, IntExpr>& names);

// Makes one expression from another. `change` returns the replacement of a node, or null to keep
// the node with its changed parts. Shared expressions stay shared. Only one thread may use it.
class Rewriter {
 public:
  using Change = std::function<ScalarRef(const ScalarRef& value, Rewriter& rewriter)>;
  explicit Rewriter(Change change) : change_(std::move(change)) {}

  ScalarRef of(const ScalarRef& value);          // null gives null
  ScalarRef with_parts(const ScalarRef& value);  // the node, of changed parts

 private:
  Change change_;
  std::unordered_map<const Scalar*, ScalarRef> done_;
};
ScalarRef rewritten(const ScalarRef& value, const std::function<ScalarRef(const Scalar&)>& change);
// The same as rewritten(), for the parts that are always evaluated: everything behind a selection's
// condition stays.
ScalarRef rewritten_outside_selections(const ScalarRef& value,
                                       const std::function<ScalarRef(const ScalarRef&)>& change);

// Simplifies the indices in it by the ranges of the variables.
ScalarRef simplified(const ScalarRef& value, const IntRanges& ranges);
// `is_true` says of a comparison that it holds: conditions without it, selections that are left
// with none.
ScalarRef without_tests(const ScalarRef& value, const std::function<bool(const Scalar&)>& is_true);
// Removes tests of indices (>= and <) that `ranges` shows to be true.
ScalarRef without_known_tests(const ScalarRef& value, const IntRanges& ranges);
// Variables in it by expressions.
ScalarRef substitute(const ScalarRef& value, const std::map<std::string, IntExpr>& values);

}  // namespace kw::writer
