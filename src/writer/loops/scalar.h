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

task::DType opmath(task::DType dtype);  // what is computed in: float32 for the 16-bit types

ScalarRef number(task::DType dtype,
                 double value);  // of any dtype; cut to an integer where it is one
ScalarRef integer(task::DType dtype, std::int64_t value);
ScalarRef boolean(bool value);
ScalarRef index_number(const IntExpr& expr);  // kInt64
ScalarRef load(BufferId buffer, task::DType dtype, std::vector<ScalarRef> index);
ScalarRef reduced(task::DType dtype);
// The value itself where it has the dtype; a constant where it is one.
ScalarRef cast(task::DType dtype, const ScalarRef& value);

ScalarRef call(ScalarOp op, task::DType dtype, std::vector<ScalarRef> arguments);
// Of the first argument's dtype; comparisons and tests: bool.
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
// Loop variables and sizes in all of its indices.
std::set<std::string> variables_of(const ScalarRef& value);
// Those of a load that do not depend on data, in their order; others are left out.
std::vector<IntExpr> known_indices(const Scalar::Load& load);

// Each node once, arguments and indices before what holds them.
void visit(const ScalarRef& root, const std::function<void(const Scalar&)>& see);

// Of the same form, where `names` are put for the variables of the first.
bool is_equal(const ScalarRef& a, const ScalarRef& b, const std::map<std::string, IntExpr>& names);

// Makes one expression of another: `change` gives what stands for a node; null: the node, of
// changed parts. Shared expressions stay shared. One thread.
class Rewriter {
 public:
  using Change = std::function<ScalarRef(const ScalarRef& value, Rewriter& rewriter)>;
  explicit Rewriter(Change change) : change_(std::move(change)) {}

  ScalarRef of(const ScalarRef& value);          // of null: null
  ScalarRef with_parts(const ScalarRef& value);  // the node, of changed parts

 private:
  Change change_;
  std::unordered_map<const Scalar*, ScalarRef> done_;
};
ScalarRef rewritten(const ScalarRef& value, const std::function<ScalarRef(const Scalar&)>& change);
// As rewritten(), of what is always evaluated: behind a selection's condition all stays.
ScalarRef rewritten_outside_selections(const ScalarRef& value,
                                       const std::function<ScalarRef(const ScalarRef&)>& change);

// Indices in it by what is known of the variables.
ScalarRef simplified(const ScalarRef& value, const IntRanges& ranges);
// `is_true` says of a comparison that it holds: conditions without it, selections that are left
// with none.
ScalarRef without_tests(const ScalarRef& value, const std::function<bool(const Scalar&)>& is_true);
// .. of indices (>= and <), where `ranges` shows it.
ScalarRef without_known_tests(const ScalarRef& value, const IntRanges& ranges);
// Variables in it by expressions.
ScalarRef substitute(const ScalarRef& value, const std::map<std::string, IntExpr>& values);

}  // namespace kw::writer
