// Launch descriptors in JSON.
#include <utility>

#include "base/text.h"
#include "task/launch.h"
#include "task/names.h"

namespace kw::task {
namespace {

constexpr std::size_t kMaxArguments = 128;

Json printed(const std::vector<LaunchExpression>& expressions) {
  Json out = Json::array();
  for (const LaunchExpression& expression : expressions) out.push_back(expression.print());
  return out;
}

// An expression is a string, or a plain integer for short.
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

Result<std::vector<LaunchExpression>> dimensions(ObjectReader& reader, std::string_view key) {
  KW_TRY(const Json* value, reader.get(key));
  std::string where = reader.path(key);
  if (!value->is_array() || value->empty() || value->size() > 3) {
    return fail(ErrorCode::kInvalidArgument, "{}: expected a list of 1 to 3 expressions", where);
  }
  std::vector<LaunchExpression> out;
  for (const Json& item : *value) {
    KW_TRY(LaunchExpression expression,
           expression_from_json(item, fmt::format("{}[{}]", where, out.size())));
    out.push_back(std::move(expression));
  }
  return out;
}

Result<LaunchArgument> launch_argument_from_json(const Json& value, const std::string& where) {
  if (value.is_string()) {
    auto name = value.get<std::string>();
    if (!is_identifier(name)) {
      return fail(ErrorCode::kInvalidArgument,
                  "{}: \"{}\" is no tensor's name; an integer is written {{\"int32\": expression}}",
                  where, printable(name, 80));
    }
    return LaunchArgument(TensorArgument{std::move(name)});
  }
  KW_TRY(ObjectReader reader, ObjectReader::make(value, where));
  for (int bits : {32, 64}) {
    if (const Json* text = reader.find(fmt::format("int{}", bits))) {
      KW_TRY_STATUS(reader.no_other_keys());
      KW_TRY(LaunchExpression expression, expression_from_json(*text, where));
      return LaunchArgument(IntegerArgument{bits, std::move(expression)});
    }
  }
  KW_TRY_STATUS(reader.no_other_keys());
  return fail(ErrorCode::kInvalidArgument, "{}: expected a name, int32 or int64", where);
}

Json to_json(const LaunchArgument& argument) {
  if (const auto* tensor = std::get_if<TensorArgument>(&argument)) return tensor->name;
  const auto& integer = std::get<IntegerArgument>(argument);
  return {{fmt::format("int{}", integer.bits), integer.value.print()}};
}

}  // namespace

Json to_json(const LaunchDescriptor& launch) {
  Json out = {
      {"kernel", launch.kernel}, {"grid", printed(launch.grid)}, {"block", printed(launch.block)}};
  if (launch.shared_memory) out["shared_memory"] = launch.shared_memory->print();
  out["arguments"] = Json::array();
  for (const LaunchArgument& argument : launch.arguments)
    out["arguments"].push_back(to_json(argument));
  return out;
}

Result<LaunchDescriptor> launch_from_json(const Json& value, const std::string& where) {
  KW_TRY(ObjectReader reader, ObjectReader::make(value, where));
  LaunchDescriptor out;
  KW_TRY(out.kernel, reader.string("kernel"));
  if (!is_identifier(out.kernel)) {
    return fail(ErrorCode::kInvalidArgument, "{}: \"{}\" is not a symbol (extern \"C\" names only)",
                reader.path("kernel"), printable(out.kernel, 80));
  }
  KW_TRY(out.grid, dimensions(reader, "grid"));
  KW_TRY(out.block, dimensions(reader, "block"));
  if (const Json* text = reader.find("shared_memory")) {
    KW_TRY(out.shared_memory, expression_from_json(*text, reader.path("shared_memory")));
  }
  KW_TRY(const Json* arguments, reader.get("arguments"));
  std::string path = reader.path("arguments");
  if (!arguments->is_array() || arguments->size() > kMaxArguments) {
    return fail(ErrorCode::kInvalidArgument, "{}: expected a list of at most {} arguments", path,
                kMaxArguments);
  }
  for (const Json& item : *arguments) {
    KW_TRY(LaunchArgument argument,
           launch_argument_from_json(item, fmt::format("{}[{}]", path, out.arguments.size())));
    out.arguments.push_back(std::move(argument));
  }
  KW_TRY_STATUS(reader.no_other_keys());
  return out;
}

}  // namespace kw::task
