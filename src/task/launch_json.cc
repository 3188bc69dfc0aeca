// Launch descriptors in JSON.
#include <utility>

#include "base/text.h"
#include "task/launch.h"
#include "text/names.h"

namespace kw::task {
namespace {

constexpr std::size_t kMaxArguments = 128;

Result<LaunchArgument> launch_argument_from_json(const Json& value, const std::string& where) {
  if (value.is_string()) {
    auto name = value.get<std::string>();
    if (!text::is_identifier(name)) {
      return fail(ErrorCode::kInvalidArgument,
                  "{}: \"{}\" is no tensor's name; an integer is written {{\"int32\": expression}}",
                  where, printable(name, 80));
    }
    return LaunchArgument(TensorArgument{std::move(name)});
  }
  KW_TRY(ObjectReader reader, ObjectReader::make(value, where));
  for (int bits : {32, 64}) {
    const std::string integer = fmt::format("int{}", bits), floating = fmt::format("float{}", bits);
    if (const Json* text = reader.find(integer)) {
      KW_TRY_STATUS(reader.no_other_keys());
      KW_TRY(LaunchExpression expression, expression_from_json(*text, reader.path(integer)));
      return LaunchArgument(IntegerArgument{bits, std::move(expression)});
    }
    if (reader.find(floating) != nullptr) {
      KW_TRY_STATUS(reader.no_other_keys());
      KW_TRY(double number, reader.number(floating));
      return LaunchArgument(FloatArgument{bits, number});
    }
  }
  KW_TRY_STATUS(reader.no_other_keys());
  return fail(ErrorCode::kInvalidArgument, "{}: expected a name, int32, int64, float32 or float64",
              where);
}

Json to_json(const LaunchArgument& argument) {
  if (const auto* tensor = std::get_if<TensorArgument>(&argument)) return tensor->name;
  if (const auto* number = std::get_if<FloatArgument>(&argument))
    return {{fmt::format("float{}", number->bits), number->value}};
  const auto& integer = std::get<IntegerArgument>(argument);
  return {{fmt::format("int{}", integer.bits), integer.value.print()}};
}

Result<std::vector<LaunchArgument>> arguments_from_json(const Json& value,
                                                        const std::string& where) {
  if (!value.is_array() || value.size() > kMaxArguments) {
    return fail(ErrorCode::kInvalidArgument, "{}: expected a list of at most {} arguments", where,
                kMaxArguments);
  }
  std::vector<LaunchArgument> out;
  for (const Json& item : value) {
    KW_TRY(LaunchArgument argument,
           launch_argument_from_json(item, fmt::format("{}[{}]", where, out.size())));
    out.push_back(std::move(argument));
  }
  return out;
}

}  // namespace

Json to_json(const LaunchDescriptor& launch) {
  Json out = {
      {"kernel", launch.kernel}, {"grid", to_json(launch.grid)}, {"block", to_json(launch.block)}};
  if (launch.shared_memory) out["shared_memory"] = launch.shared_memory->print();
  if (!launch.cluster.empty()) out["cluster"] = to_json(launch.cluster);
  if (launch.cooperative) out["cooperative"] = true;
  if (launch.dependent) out["dependent"] = true;
  if (!launch.arguments) return out;
  out["arguments"] = Json::array();
  for (const LaunchArgument& argument : *launch.arguments)
    out["arguments"].push_back(to_json(argument));
  return out;
}

Result<LaunchDescriptor> launch_from_json(const Json& value, const std::string& where) {
  KW_TRY(ObjectReader reader, ObjectReader::make(value, where));
  LaunchDescriptor out;
  KW_TRY(out.kernel, reader.string("kernel"));
  if (!text::is_identifier(out.kernel)) {
    return fail(ErrorCode::kInvalidArgument, "{}: \"{}\" is not a symbol (extern \"C\" names only)",
                reader.path("kernel"), printable(out.kernel, 80));
  }
  KW_TRY(const Json* grid, reader.get("grid"));
  KW_TRY(out.grid, expressions_from_json(*grid, reader.path("grid"), 1, 3));
  KW_TRY(const Json* block, reader.get("block"));
  KW_TRY(out.block, expressions_from_json(*block, reader.path("block"), 1, 3));
  if (const Json* text = reader.find("shared_memory")) {
    KW_TRY(out.shared_memory, expression_from_json(*text, reader.path("shared_memory")));
  }
  if (const Json* cluster = reader.find("cluster")) {
    KW_TRY(out.cluster, expressions_from_json(*cluster, reader.path("cluster"), 1, 3));
  }
  KW_TRY(out.cooperative, reader.boolean_or("cooperative", false));
  KW_TRY(out.dependent, reader.boolean_or("dependent", false));
  if (const Json* arguments = reader.find("arguments")) {
    KW_TRY(out.arguments, arguments_from_json(*arguments, reader.path("arguments")));
  }
  KW_TRY_STATUS(reader.no_other_keys());
  return out;
}

Json to_json(const ScratchDescriptor& scratch) {
  Json out = {{"name", scratch.name}, {"bytes", to_json(scratch.bytes)}};
  if (scratch.zeroed) out["zeroed"] = true;
  return out;
}

Result<ScratchDescriptor> scratch_from_json(const Json& value, const std::string& where) {
  KW_TRY(ObjectReader reader, ObjectReader::make(value, where));
  ScratchDescriptor out;
  KW_TRY(out.name, reader.string("name"));
  if (!text::is_identifier(out.name))
    return fail(ErrorCode::kInvalidArgument, "{}: \"{}\" is no name", reader.path("name"),
                printable(out.name, 80));
  KW_TRY(const Json* bytes, reader.get("bytes"));
  KW_TRY(out.bytes, expression_from_json(*bytes, reader.path("bytes")));
  KW_TRY(out.zeroed, reader.boolean_or("zeroed", false));
  KW_TRY_STATUS(reader.no_other_keys());
  return out;
}

}  // namespace kw::task
