// Signatures from definitions, and their JSON.
#include "task/signature.h"

#include <algorithm>
#include <array>
#include <limits>
#include <map>
#include <optional>
#include <set>

#include <fmt/format.h>

#include "base/text.h"
#include "text/names.h"

namespace kw::task {
namespace {

constexpr std::array<std::pair<Role, std::string_view>, 4> kRoles = {{
    {Role::kInput, "input"},
    {Role::kScalar, "scalar"},
    {Role::kStatic, "static"},
    {Role::kOutput, "output"},
}};

std::string_view role_name(Role role) {
  return kRoles.at(static_cast<std::size_t>(role)).second;
}

// Rank, signs and total size; afterwards elements() and bytes() cannot overflow.
Status check_shape(const Argument& argument, const std::string& where) {
  if (argument.shape.size() > kMaxTensorRank) {
    return fail(ErrorCode::kInvalidArgument, "{}: {} dimensions, more than {}", where,
                argument.shape.size(), kMaxTensorRank);
  }
  // A dimension of 0 must not hide an overflow of the others.
  auto bytes = static_cast<std::int64_t>(size_of(argument.dtype));
  for (std::int64_t dimension : argument.shape) {
    if (dimension < 0) {
      return fail(ErrorCode::kInvalidArgument, "{}: a dimension is {}", where, dimension);
    }
    std::int64_t factor = std::max<std::int64_t>(dimension, 1);
    if (bytes > kMaxTensorBytes / factor) {
      return fail(ErrorCode::kInvalidArgument, "{}: shape [{}] needs more than {}", where,
                  fmt::join(argument.shape, ", "), format_bytes(std::uint64_t{kMaxTensorBytes}));
    }
    bytes *= factor;
  }
  return {};
}

Status check_scalar(const Argument& argument, const std::string& where) {
  const Json& value = argument.value;
  bool fits = is_floating(argument.dtype) ? value.is_number()
              : argument.dtype == tensor::DType::kBool
                  ? value.is_boolean() ||
                        (value.is_number_integer() && (value == Json(0) || value == Json(1)))
                  : value.is_number_integer();
  if (fits && value.is_number_unsigned() &&
      value.get<std::uint64_t>() > std::uint64_t{std::numeric_limits<std::int64_t>::max()}) {
    fits = false;
  }
  if (fits) return {};
  return fail(ErrorCode::kInvalidArgument, "{}: expected a value of type {}, found {}", where,
              to_string(argument.dtype), printable(value.dump(), 60));
}

using AxisMap = std::map<std::string, std::int64_t, std::less<>>;

Result<AxisMap> axis_values(const Definition& definition, const Workload& workload) {
  AxisMap given(workload.axes.begin(), workload.axes.end());
  AxisMap values;
  for (const Axis& axis : definition.axes) {
    auto found = given.find(axis.name);
    if (axis.value) {
      if (found != given.end() && found->second != *axis.value) {
        return fail(ErrorCode::kInvalidArgument,
                    "workload {}: axes.{} is {}, yet the definition fixes it at {}", workload.uuid,
                    axis.name, found->second, *axis.value);
      }
      values[axis.name] = *axis.value;
    } else if (found == given.end()) {
      return fail(ErrorCode::kInvalidArgument, "workload {}: axes.{}: missing", workload.uuid,
                  axis.name);
    } else if (found->second < 0) {
      return fail(ErrorCode::kInvalidArgument, "workload {}: axes.{} is {}", workload.uuid,
                  axis.name, found->second);
    } else {
      values[axis.name] = found->second;
    }
    if (found != given.end()) given.erase(found);
  }
  if (!given.empty()) {
    return fail(ErrorCode::kInvalidArgument,
                "workload {}: axes.{}: the definition has no such axis", workload.uuid,
                given.begin()->first);
  }
  return values;
}

Result<Argument> tensor_argument(const TensorSpec& spec, Role role, const AxisMap& axes) {
  Argument argument{.name = spec.name, .role = role, .dtype = spec.dtype};
  if (spec.shape) {
    for (const std::string& axis : *spec.shape) {
      auto found = axes.find(axis);
      if (found == axes.end()) {
        return fail(ErrorCode::kInvalidArgument, "{}.shape: unknown axis \"{}\"", spec.name, axis);
      }
      argument.shape.push_back(found->second);
    }
  }
  KW_TRY_STATUS(check_shape(argument, spec.name));
  return argument;
}

Result<Argument> scalar_argument(const TensorSpec& spec, const Workload& workload) {
  Argument argument{.name = spec.name, .role = Role::kScalar, .dtype = spec.dtype};
  for (const auto& [name, source] : workload.inputs) {
    const auto* scalar = std::get_if<ScalarInput>(&source);
    if (name == spec.name && scalar != nullptr) argument.value = scalar->value;
  }
  std::string where = fmt::format("workload {}: inputs.{}", workload.uuid, spec.name);
  if (argument.value.is_null()) {
    return fail(ErrorCode::kInvalidArgument, "{}: a scalar input needs a value", where);
  }
  KW_TRY_STATUS(check_scalar(argument, where));
  return argument;
}

Json arguments_json(const std::vector<Argument>& arguments) {
  Json out = Json::array();
  for (const Argument& argument : arguments) {
    Json item{{"name", argument.name},
              {"role", role_name(argument.role)},
              {"dtype", to_string(argument.dtype)},
              {"shape", argument.shape}};
    if (argument.role == Role::kScalar) item["value"] = argument.value;
    if (!argument.state_key.empty()) item["state_key"] = argument.state_key;
    if (argument.is_buffer) item["is_buffer"] = true;
    out.push_back(std::move(item));
  }
  return out;
}

template <typename T>
Json pairs_json(const std::vector<std::pair<std::string, T>>& pairs) {
  Json out = Json::array();
  for (const auto& [name, value] : pairs) out.push_back(Json::array({name, value}));
  return out;
}

tl::unexpected<Error> expected(const std::string& where, std::string_view what) {
  return fail(ErrorCode::kInvalidArgument, "{}: expected {}", where, what);
}

Result<std::vector<std::int64_t>> integers(const Json& value, const std::string& where) {
  std::vector<std::int64_t> out;
  if (!value.is_array()) return expected(where, "an array of integers");
  for (const Json& item : value) {
    if (!item.is_number_integer()) return expected(where, "an array of integers");
    out.push_back(item.get<std::int64_t>());
  }
  return out;
}

Result<Argument> argument_from_json(const Json& value, const std::string& where) {
  KW_TRY(ObjectReader reader, ObjectReader::make(value, where));
  Argument argument;
  KW_TRY(argument.name, reader.string("name"));
  if (argument.name.empty()) return expected(reader.path("name"), "a name");
  KW_TRY(std::string role, reader.string("role"));
  const auto* row = std::find_if(kRoles.begin(), kRoles.end(),
                                 [&](const auto& entry) { return entry.second == role; });
  if (row == kRoles.end()) {
    return expected(reader.path("role"), "one of input, scalar, static, output");
  }
  argument.role = row->first;
  KW_TRY(std::string dtype, reader.string("dtype"));
  std::optional<tensor::DType> known = tensor::dtype_from_string(dtype);
  if (!known) return expected(reader.path("dtype"), "one of " + tensor::dtype_names());
  argument.dtype = *known;
  KW_TRY(const Json* shape, reader.get("shape"));
  KW_TRY(argument.shape, integers(*shape, reader.path("shape")));
  if (const Json* scalar = reader.find("value")) argument.value = *scalar;
  KW_TRY(argument.state_key, reader.string_or("state_key", ""));
  KW_TRY(argument.is_buffer, reader.boolean_or("is_buffer", false));
  KW_TRY_STATUS(reader.no_other_keys());
  KW_TRY_STATUS(check_shape(argument, where));
  if (argument.role == Role::kScalar) KW_TRY_STATUS(check_scalar(argument, reader.path("value")));
  return argument;
}

Result<std::vector<Argument>> arguments_from_json(ObjectReader& reader, std::string_view key,
                                                  std::initializer_list<Role> roles) {
  std::vector<Argument> out;
  KW_TRY(const Json* list, reader.get(key));
  if (!list->is_array()) return expected(reader.path(key), "an array");
  for (const Json& item : *list) {
    std::string where = fmt::format("{}[{}]", reader.path(key), out.size());
    KW_TRY(Argument argument, argument_from_json(item, where));
    if (std::find(roles.begin(), roles.end(), argument.role) == roles.end()) {
      return fail(ErrorCode::kInvalidArgument, "{}.role: \"{}\" does not belong here", where,
                  role_name(argument.role));
    }
    out.push_back(std::move(argument));
  }
  return out;
}

Result<std::vector<std::pair<std::string, Json>>> pairs_from_json(ObjectReader& reader,
                                                                  std::string_view key) {
  std::vector<std::pair<std::string, Json>> out;
  const Json* list = reader.find(key);
  if (list == nullptr) return out;
  if (!list->is_array()) return expected(reader.path(key), "an array of [name, value]");
  for (const Json& item : *list) {
    if (!item.is_array() || item.size() != 2 || !item[0].is_string()) {
      return expected(reader.path(key), "an array of [name, value]");
    }
    out.emplace_back(item[0].get<std::string>(), item[1]);
  }
  return out;
}

// "*", "**", an identifier, "=": what signature.h describes, and nothing that could be code.
bool is_init_parameter(std::string_view text) {
  const std::size_t stars = std::min(text.find_first_not_of('*'), text.size());
  const bool defaulted = stars == 0 && text.ends_with('=');
  const std::string_view name = text.substr(stars, text.size() - stars - (defaulted ? 1 : 0));
  if (name.empty()) return stars == 1;
  return stars <= 2 && text::is_identifier(name);
}

Result<std::optional<std::vector<std::string>>> init_parameters(ObjectReader& reader) {
  const Json* list = reader.find("init_parameters");
  if (list == nullptr || list->is_null()) return std::nullopt;
  std::vector<std::string> out;
  bool well_formed = list->is_array();
  for (std::size_t i = 0; well_formed && i < list->size(); ++i) {
    well_formed = (*list)[i].is_string() && is_init_parameter((*list)[i].get<std::string>());
    if (well_formed) out.push_back((*list)[i].get<std::string>());
  }
  if (!well_formed) return expected(reader.path("init_parameters"), "a constructor's parameters");
  return out;
}

// Empty, or one list of names for each argument.
Result<std::vector<std::vector<std::string>>> axis_names(ObjectReader& reader, std::string_view key,
                                                         std::size_t arguments) {
  std::vector<std::vector<std::string>> out;
  const Json* lists = reader.find(key);
  if (lists == nullptr) return out;
  bool well_formed = lists->is_array() && (lists->empty() || lists->size() == arguments);
  for (std::size_t i = 0; well_formed && i < lists->size(); ++i) {
    std::vector<std::string>& names = out.emplace_back();
    well_formed = (*lists)[i].is_array();
    for (const Json& name : (*lists)[i]) {
      well_formed = well_formed && name.is_string();
      if (well_formed) names.push_back(name.get<std::string>());
    }
  }
  if (!well_formed) return expected(reader.path(key), "one array of axis names for each tensor");
  return out;
}

}  // namespace

std::int64_t Argument::elements() const {
  std::int64_t product = 1;
  for (std::int64_t dimension : shape) product *= dimension;
  return product;
}

std::size_t Argument::bytes() const {
  return static_cast<std::size_t>(elements()) * size_of(dtype);
}

Result<Signature> signature_of(const Definition& definition, const Workload& workload,
                               const std::vector<std::string>& statics) {
  KW_TRY(AxisMap axes, axis_values(definition, workload));
  Signature signature;
  for (const Axis& axis : definition.axes) {
    if (axis.value) {
      signature.constants.emplace_back(axis.name, *axis.value);
    } else {
      signature.axes.emplace_back(axis.name, axes[axis.name]);
    }
  }
  std::set<std::string> unused(statics.begin(), statics.end());
  for (const TensorSpec& spec : definition.inputs) {
    bool is_static = unused.erase(spec.name) > 0;
    if (is_static && !spec.shape) {
      return fail(ErrorCode::kInvalidArgument, "policy.static: \"{}\" is a scalar, not a tensor",
                  spec.name);
    }
    Role role = is_static ? Role::kStatic : Role::kInput;
    KW_TRY(Argument argument,
           spec.shape ? tensor_argument(spec, role, axes) : scalar_argument(spec, workload));
    (is_static ? signature.statics : signature.inputs).push_back(std::move(argument));
    (is_static ? signature.static_axes : signature.input_axes)
        .push_back(spec.shape.value_or(std::vector<std::string>()));
  }
  if (!unused.empty()) {
    return fail(ErrorCode::kInvalidArgument, "policy.static: no input is called \"{}\"",
                *unused.begin());
  }
  for (const TensorSpec& spec : definition.outputs) {
    KW_TRY(Argument argument, tensor_argument(spec, Role::kOutput, axes));
    signature.outputs.push_back(std::move(argument));
    signature.output_axes.push_back(spec.shape.value_or(std::vector<std::string>()));
  }
  return signature;
}

Json to_json(const Signature& signature) {
  Json out = {{"inputs", arguments_json(signature.inputs)},
              {"statics", arguments_json(signature.statics)},
              {"outputs", arguments_json(signature.outputs)},
              {"axes", pairs_json(signature.axes)},
              {"constants", pairs_json(signature.constants)},
              {"input_axes", signature.input_axes},
              {"static_axes", signature.static_axes},
              {"output_axes", signature.output_axes}};
  if (signature.init_parameters) out["init_parameters"] = *signature.init_parameters;
  return out;
}

Result<Signature> signature_from_json(const Json& value, const std::string& where) {
  KW_TRY(ObjectReader reader, ObjectReader::make(value, where));
  Signature signature;
  KW_TRY(signature.inputs, arguments_from_json(reader, "inputs", {Role::kInput, Role::kScalar}));
  KW_TRY(signature.statics, arguments_from_json(reader, "statics", {Role::kStatic}));
  KW_TRY(signature.outputs, arguments_from_json(reader, "outputs", {Role::kOutput}));
  KW_TRY(auto axes, pairs_from_json(reader, "axes"));
  for (const auto& [name, size] : axes) {
    if (!size.is_number_integer()) return expected(reader.path("axes"), "integers as values");
    signature.axes.emplace_back(name, size.get<std::int64_t>());
  }
  KW_TRY(signature.constants, pairs_from_json(reader, "constants"));
  KW_TRY(signature.init_parameters, init_parameters(reader));
  KW_TRY(signature.input_axes, axis_names(reader, "input_axes", signature.inputs.size()));
  KW_TRY(signature.static_axes, axis_names(reader, "static_axes", signature.statics.size()));
  KW_TRY(signature.output_axes, axis_names(reader, "output_axes", signature.outputs.size()));
  KW_TRY_STATUS(reader.no_other_keys());
  return signature;
}

}  // namespace kw::task
