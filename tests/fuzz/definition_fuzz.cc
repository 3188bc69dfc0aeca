// Definitions: what is accepted is written and read again with the same bytes and the same hash,
// and every possible tensor has a size.
#include "fuzz.h"
#include "task/definition_json.h"

namespace kw::fuzz {

KW_FUZZ(definition, text) {
  auto read = [](const Json& value) { return task::definition_from_json(value, ""); };
  if (!round_trip(text, read, [](const task::Definition& d) { return to_json(d); })) return;
  task::Problem problem;
  problem.body = read(parse_json(text).value()).value();
  std::string hash = task::problem_hash(problem);
  const task::Definition& definition = problem.definition();
  task::AxisValues values;
  for (const task::Axis& axis : definition.axes) {
    if (!axis.value) values.emplace_back(axis.name, std::int64_t{1} << 31);
  }
  for (const task::TensorSpec& tensor : definition.outputs) {
    auto bytes = task::tensor_bytes(tensor, definition, values);
    if (accepted(bytes)) KW_CHECK(*bytes >= 0 && *bytes <= task::kMaxTensorBytes);
  }
  problem.body = read(to_json(definition)).value();
  KW_CHECK(task::problem_hash(problem) == hash);
}

}  // namespace kw::fuzz
