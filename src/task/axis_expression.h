// Axes that are computed from others: SOL-ExecBench's {"type": "expr"}.
#pragma once
#include <cstdint>
#include <string>

#include "base/result.h"
#include "task/launch_expression.h"

namespace kw::task {

// A Python expression over axes with + - * / // % **, comparisons, min, max, ceil_div and brackets.
// "/" rounds down as "//" does: a size is a whole number. kInvalidArgument with the column, or
// kUnsupported with the name of another operator of Python. where: the field's path in messages.
Result<LaunchExpression> axis_expression(const std::string& text, const std::string& where);

// Its value, at least 0, under the values of other axes. kInvalidArgument says why there is none.
Result<std::int64_t> axis_size(const LaunchExpression& expression, const AxisValues& values,
                               const std::string& where);

}  // namespace kw::task
