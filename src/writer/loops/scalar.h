// Makers of Scalars and walks over them.
#pragma once
#include <functional>
#include <string_view>
#include <vector>

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
// Those of a load that do not depend on data, in their order; others are left out.
std::vector<IntExpr> known_indices(const Scalar::Load& load);

// Each node once, arguments and indices before what holds them.
void visit(const ScalarRef& root, const std::function<void(const Scalar&)>& see);

}  // namespace kw::writer
