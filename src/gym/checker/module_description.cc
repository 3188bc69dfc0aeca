// The oracle's JSON as a signature.
#include "gym/checker/module_description.h"

#include <algorithm>

#include "base/json.h"
#include "base/text.h"
#include "gym/protocol.h"

namespace kw::gym {
namespace {

struct Described {
  task::Argument argument;
  bool is_constant = false, is_used = true;  // statics only
};

// Names, sizes and values are checked with the whole signature.
Result<Described> argument_of(const Json& value, const std::string& where, task::Role role) {
  KW_TRY(ObjectReader reader, ObjectReader::make(value, where));
  Described out;
  task::Argument& argument = out.argument;
  KW_TRY(std::string named, reader.string_or("role", ""));
  bool scalar = role == task::Role::kInput && named == "scalar";
  argument.role = scalar ? task::Role::kScalar : role;
  KW_TRY(argument.name, reader.string("name"));
  KW_TRY(std::string dtype, reader.string("dtype"));
  auto parsed = tensor::dtype_from_string(dtype);
  if (!parsed)
    return fail(ErrorCode::kInvalidArgument, "{}.dtype: unknown dtype {}", where,
                printable(dtype, 40));
  argument.dtype = *parsed;
  KW_TRY(const Json* shape, reader.get("shape"));
  if (!shape->is_array() || shape->size() > kMaxRank)
    return fail(ErrorCode::kInvalidArgument, "{}.shape: not a shape", where);
  for (const Json& dimension : *shape) {
    if (!dimension.is_number_integer() || dimension.get<std::int64_t>() < 0) {
      return fail(ErrorCode::kInvalidArgument, "{}.shape: not a shape", where);
    }
    argument.shape.push_back(dimension.get<std::int64_t>());
  }
  if (const Json* number = reader.find("value"); number != nullptr) argument.value = *number;
  KW_TRY(argument.state_key, reader.string_or("state_key", ""));
  KW_TRY(argument.is_buffer, reader.boolean_or("is_buffer", false));
  KW_TRY(out.is_constant, reader.boolean_or("constant", false));
  KW_TRY(out.is_used, reader.boolean_or("used", true));
  return out;
}

Result<std::vector<Described>> arguments_of(ObjectReader& reader, std::string_view key,
                                            task::Role role) {
  KW_TRY(const Json* list, reader.get(key));
  if (!list->is_array())
    return fail(ErrorCode::kInvalidArgument, "{}: expected a list", reader.path(key));
  std::vector<Described> out;
  for (const Json& item : *list) {
    KW_TRY(Described described, argument_of(item, reader.path(key), role));
    out.push_back(std::move(described));
  }
  return out;
}

}  // namespace

Result<ModuleDescription> module_description_from_json(std::string_view text) {
  KW_TRY(Json value, parse_json(text));
  KW_TRY(ObjectReader reader, ObjectReader::make(value, "description"));
  ModuleDescription description;
  task::Signature signature;
  KW_TRY(auto inputs, arguments_of(reader, "inputs", task::Role::kInput));
  KW_TRY(auto outputs, arguments_of(reader, "outputs", task::Role::kOutput));
  KW_TRY(auto statics, arguments_of(reader, "statics", task::Role::kStatic));
  if (inputs.size() > kMaxInputs || outputs.size() > kMaxOutputs || outputs.empty()) {
    return fail(
        ErrorCode::kUnsupported,
        "{} inputs and {} outputs: at most {} and {} (and at least one output) are supported",
        inputs.size(), outputs.size(), kMaxInputs, kMaxOutputs);
  }
  for (Described& input : inputs) signature.inputs.push_back(std::move(input.argument));
  for (Described& output : outputs) signature.outputs.push_back(std::move(output.argument));
  for (Described& parameter : statics) {
    bool unused_buffer = parameter.argument.is_buffer && !parameter.is_used;
    if (unused_buffer) continue;
    signature.statics.push_back(std::move(parameter.argument));
    description.static_is_constant.push_back(parameter.is_constant);
  }
  if (const Json* constants = reader.find("constants");
      constants != nullptr && constants->is_array()) {
    for (const Json& pair : *constants) {
      if (pair.is_array() && pair.size() == 2 && pair[0].is_string())
        signature.constants.emplace_back(pair[0].get<std::string>(), pair[1]);
    }
  }
  Json given = task::to_json(signature);
  if (const Json* parameters = reader.find("init_parameters"); parameters != nullptr)
    given["init_parameters"] = *parameters;
  // The signature's own reader checks the rest: sizes that do not overflow, scalars with values of
  // their type.
  KW_TRY(description.signature, task::signature_from_json(given, "description"));
  KW_TRY(description.init_args, reader.string_or("init_args", "[]"));
  KW_TRY(description.views, reader.strings_or_empty("views"));
  for (const std::string& view : description.views) {
    const auto is_named = [&](const task::Argument& input) { return input.name == view; };
    if (std::ranges::any_of(description.signature.inputs, is_named)) continue;
    return fail(ErrorCode::kInvalidArgument, "description.views: {} is no input",
                printable(view, 40));
  }
  KW_TRY(description.random_in_forward, reader.boolean_or("random_in_forward", false));
  return description;
}

}  // namespace kw::gym
