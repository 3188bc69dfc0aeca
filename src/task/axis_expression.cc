#include "task/axis_expression.h"

namespace kw::task {

Result<LaunchExpression> axis_expression(const std::string& text, const std::string& where) {
  std::string ours;
  for (std::size_t i = 0; i < text.size(); ++i) {
    const bool is_twice = i + 1 < text.size() && text[i + 1] == text[i];
    if (text[i] == '*' && is_twice)
      return fail(ErrorCode::kUnsupported, "{}: the operator ** is not read", where);
    if (text[i] == '/' && is_twice) ++i;
    ours += text[i];
  }
  auto parsed = LaunchExpression::parse(ours);
  if (!parsed) return tl::unexpected(std::move(parsed).error().with_context(where));
  return parsed;
}

Result<std::int64_t> axis_size(const LaunchExpression& expression, const AxisValues& values,
                               const std::string& where) {
  auto size = expression.evaluate(values);
  if (!size) return tl::unexpected(std::move(size).error().with_context(where));
  if (*size < 0)
    return fail(ErrorCode::kInvalidArgument, "{}: {} is {}, less than 0", where, expression.print(),
                *size);
  return size;
}

}  // namespace kw::task
