// Expressions in JSON.
#include <utility>

#include "base/text.h"
#include "task/launch_expression.h"

namespace kw::task {

Json to_json(const LaunchExpression& expression) {
  return expression.print();
}

Json to_json(const std::vector<LaunchExpression>& expressions) {
  Json out = Json::array();
  for (const LaunchExpression& expression : expressions) out.push_back(expression.print());
  return out;
}

Result<LaunchExpression> expression_from_json(const Json& value, const std::string& where) {
  std::string text;
  if (value.is_string()) {
    text = value.get<std::string>();
  } else if (value.is_number_integer()) {
    text = value.dump();
  } else {
    return fail(ErrorCode::kInvalidArgument, "{}: expected an expression or an integer, found {}",
                where, printable(value.dump(), 60));
  }
  auto parsed = LaunchExpression::parse(text);
  if (!parsed) return tl::unexpected(std::move(parsed).error().with_context(where));
  return parsed;
}

Result<std::vector<LaunchExpression>> expressions_from_json(const Json& value,
                                                            const std::string& where,
                                                            std::size_t least, std::size_t most) {
  if (!value.is_array() || value.size() < least || value.size() > most) {
    return fail(ErrorCode::kInvalidArgument, "{}: expected a list of {} to {} expressions", where,
                least, most);
  }
  std::vector<LaunchExpression> out;
  for (const Json& item : value) {
    KW_TRY(LaunchExpression expression,
           expression_from_json(item, fmt::format("{}[{}]", where, out.size())));
    out.push_back(std::move(expression));
  }
  return out;
}

}  // namespace kw::task
