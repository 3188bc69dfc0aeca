// Launch expressions (the first line) and descriptors (the rest): printing keeps the value.
#include "fuzz.h"
#include "task/launch.h"

namespace kw::fuzz {

namespace {

void check_expression(const task::LaunchExpression& expression) {
  const task::AxisValues axes = {{"M", 1000}, {"N", -7}, {"K", std::int64_t{1} << 62}};
  std::string printed = expression.print();
  auto again = task::LaunchExpression::parse(printed);
  KW_CHECK(again);
  KW_CHECK(again->print() == printed);
  KW_CHECK(again->names() == expression.names());
  auto value = expression.evaluate(axes);
  auto same = again->evaluate(axes);
  KW_CHECK(accepted(value) == same.has_value());
  if (value) KW_CHECK(*value == *same);
}

}  // namespace

KW_FUZZ(launch, text) {
  auto expression = task::LaunchExpression::parse(take_until(text, '\n'));
  if (accepted(expression)) check_expression(*expression);
  auto read = [](const Json& value) { return task::launch_from_json(value, "launch"); };
  round_trip(text, read, [](const task::LaunchDescriptor& l) { return to_json(l); });
  auto read_scratch = [](const Json& value) { return task::scratch_from_json(value, "scratch"); };
  round_trip(text, read_scratch, [](const task::ScratchDescriptor& s) { return to_json(s); });
}

}  // namespace kw::fuzz
