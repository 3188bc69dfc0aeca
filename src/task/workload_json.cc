// Workload codec.
#include "task/workload_json.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <set>

#include "base/log.h"
#include "base/text.h"
#include "task/axis_expression.h"
#include "task/custom_scalars.h"
#include "task/definition_json.h"
#include "text/jsonl.h"
#include "text/names.h"

namespace kw::task {
namespace {

constexpr std::size_t kMaxNames = 64;  // axes or inputs, as of a definition

// Before they are looked at one by one: finding a key takes a time linear in their number.
Status check_count(const Json& object, const std::string& where) {
  if (object.size() <= kMaxNames) return {};
  return fail(ErrorCode::kInvalidArgument, "{}: {} names, more than {}", where, object.size(),
              kMaxNames);
}

Result<InputSource> input_source_from_json(const Json& value, const std::string& where) {
  KW_TRY(ObjectReader reader, ObjectReader::make(value, where));
  KW_TRY(std::string type, reader.string("type"));
  InputSource source;
  if (type == "scalar") {
    KW_TRY(const Json* number, reader.get("value"));
    if (!number->is_number() && !number->is_boolean()) {
      return fail(ErrorCode::kInvalidArgument, "{}: expected a number or a boolean, found {}",
                  reader.path("value"),
                  printable(number->dump(-1, ' ', false, Json::error_handler_t::replace), 60));
    }
    source = ScalarInput{*number};
  } else if (type == "safetensors") {
    SafetensorsInput tensor;
    KW_TRY(tensor.path, reader.string("path"));
    KW_TRY_STATUS(text::check_relative_path(
        tensor.path.starts_with("./") ? tensor.path.substr(2) : tensor.path, reader.path("path")));
    KW_TRY(tensor.tensor_key, reader.string("tensor_key"));
    if (tensor.tensor_key.empty())
      return fail(ErrorCode::kInvalidArgument, "{}: empty", reader.path("tensor_key"));
    source = std::move(tensor);
  } else if (type == "custom") {
    source = CustomInput{};
  } else if (type != "random") {
    return fail(ErrorCode::kInvalidArgument,
                "{}: \"{}\" is not one of random, scalar, safetensors, custom{}",
                reader.path("type"), printable(type, 60),
                text::suggestion(type, {"random", "scalar", "safetensors", "custom"}));
  }
  KW_TRY_STATUS(reader.no_other_keys());
  return source;
}

Json to_json(const InputSource& source) {
  if (const auto* scalar = std::get_if<ScalarInput>(&source))
    return {{"type", "scalar"}, {"value", scalar->value}};
  if (const auto* tensor = std::get_if<SafetensorsInput>(&source)) {
    return {{"type", "safetensors"}, {"path", tensor->path}, {"tensor_key", tensor->tensor_key}};
  }
  return {{"type", std::holds_alternative<CustomInput>(source) ? "custom" : "random"}};
}

// Bounds of the integer dtypes a host scalar may have.
bool fits(std::int64_t value, tensor::DType dtype) {
  if (dtype == tensor::DType::kUInt8) return value >= 0 && value <= 255;
  auto bits = 8 * size_of(dtype);
  if (bits == 64) return true;
  auto limit = std::int64_t{1} << (bits - 1);
  return value >= -limit && value < limit;
}

Status check_scalar(const Json& value, tensor::DType dtype, const std::string& where) {
  std::string shown = printable(value.dump(), 60);
  if (dtype == tensor::DType::kBool) {
    if (value.is_boolean()) return {};
    return fail(ErrorCode::kInvalidArgument, "{}: expected true or false for bool, found {}", where,
                shown);
  }
  if (is_floating(dtype)) {
    if (value.is_number()) return {};
    return fail(ErrorCode::kInvalidArgument, "{}: expected a number for {}, found {}", where,
                to_string(dtype), shown);
  }
  bool in_int64 = value.is_number_integer() &&
                  !(value.is_number_unsigned() &&
                    value.get<std::uint64_t>() > static_cast<std::uint64_t>(INT64_MAX));
  if (in_int64 && fits(value.get<std::int64_t>(), dtype)) return {};
  return fail(ErrorCode::kInvalidArgument, "{}: expected an integer that fits {}, found {}", where,
              to_string(dtype), shown);
}

Status check_source(const InputSource& source, const TensorSpec& input, const std::string& where) {
  const auto* scalar = std::get_if<ScalarInput>(&source);
  if (scalar != nullptr && input.shape) {
    return fail(ErrorCode::kInvalidArgument, "{}: a scalar for a tensor of rank {}", where,
                input.shape->size());
  }
  if (scalar != nullptr) return check_scalar(scalar->value, input.dtype, where + ".value");
  if (!input.shape) {
    return fail(
        ErrorCode::kInvalidArgument,
        "{}: the definition has a host scalar here; give {{\"type\": \"scalar\", \"value\": ...}}",
        where);
  }
  return {};
}

Status check_custom(const Workload& workload, const Definition& definition,
                    const std::string& where) {
  if (!workload.has_custom_inputs()) return {};
  if (definition.custom_inputs_entrypoint.empty())
    return fail(ErrorCode::kInvalidArgument,
                "{}: custom inputs, but the definition has no custom_inputs_entrypoint", where);
  for (const auto& [name, source] : workload.inputs) {
    if (!std::holds_alternative<CustomInput>(source) &&
        !std::holds_alternative<ScalarInput>(source))
      return fail(ErrorCode::kInvalidArgument,
                  "{}: with custom inputs every tensor is custom, and this one is not",
                  text::below(where, name));
  }
  return {};
}

// Both lists must hold the same names; says which one is missing or too much.
Status same_names(const std::vector<std::string>& given, const std::vector<std::string>& wanted,
                  std::string_view what, const std::string& where) {
  for (const std::string& name : given) {
    if (std::find(wanted.begin(), wanted.end(), name) == wanted.end()) {
      return fail(ErrorCode::kInvalidArgument, "{}: is not {} of the definition{}",
                  text::below(where, printable(name, 80)), what, text::suggestion(name, wanted));
    }
  }
  for (const std::string& name : wanted) {
    if (std::find(given.begin(), given.end(), name) == given.end()) {
      return fail(ErrorCode::kInvalidArgument, "{}: missing ({} of the definition)",
                  text::below(where, name), what);
    }
  }
  return {};
}

// Decides "a OP b" where both sides are expressions over axes alone; anything else is left to the
// reference.
std::optional<bool> holds(const std::string& constraint, const AxisValues& axes) {
  constexpr std::array<std::string_view, 6> kComparisons = {"==", "!=", "<=", ">=", "<", ">"};
  for (std::string_view comparison : kComparisons) {
    auto at = constraint.find(comparison);
    if (at == std::string::npos) continue;
    auto left = LaunchExpression::parse(constraint.substr(0, at));
    auto right = LaunchExpression::parse(constraint.substr(at + comparison.size()));
    // Python's "/" is not ours: it gives a float.
    if (!left || !right || constraint.find('/') != std::string::npos) return std::nullopt;
    auto a = left->evaluate(axes);
    auto b = right->evaluate(axes);
    if (!a || !b) return std::nullopt;
    if (comparison == "==") return *a == *b;
    if (comparison == "!=") return *a != *b;
    if (comparison == "<=") return *a <= *b;
    if (comparison == ">=") return *a >= *b;
    return comparison == "<" ? *a < *b : *a > *b;
  }
  return std::nullopt;
}

Status check_constraints(const Workload& workload, const Definition& definition,
                         const std::string& where) {
  AxisValues all = workload.axes;
  for (const Axis& axis : definition.axes) {
    if (axis.value) all.emplace_back(axis.name, *axis.value);
  }
  for (const std::string& constraint : definition.constraints) {
    if (holds(constraint, all) == false) {
      return fail(ErrorCode::kInvalidArgument,
                  "{}: the definition's constraint \"{}\" does not hold",
                  text::below(where, "axes"), printable(constraint, 200));
    }
  }
  return {};
}

// On disk a workload is a Trace line without solution and evaluation.
Result<const Json*> workload_of_trace(const Json& line, const Definition& definition) {
  KW_TRY(ObjectReader reader, ObjectReader::make(line, ""));
  KW_TRY(std::string name, reader.string("definition"));
  KW_TRY(const Json* body, reader.get("workload"));
  for (std::string_view key : {"solution", "evaluation"}) {
    if (reader.find(key) != nullptr) {
      return fail(ErrorCode::kInvalidArgument, "{}: expected null in a list of workloads", key);
    }
  }
  KW_TRY_STATUS(reader.no_other_keys());
  if (name != definition.name) {
    return fail(ErrorCode::kInvalidArgument, "definition: \"{}\", but the definition is \"{}\"",
                printable(name, 80), definition.name);
  }
  return body;
}

// A workload without elements has nothing to compute, compare or time.
bool leaves_out(const Workload& workload, const std::string& where) {
  for (const auto& [name, value] : workload.axes) {
    if (value != 0) continue;
    log::warning(fmt::format("{}: workload {} is left out: its axis {} is 0", where,
                             printable(workload.uuid, 80), printable(name, 80)));
    return true;
  }
  return false;
}

}  // namespace

Json to_json(const Workload& workload) {
  Json out = {{"uuid", workload.uuid}, {"axes", Json::object()}, {"inputs", Json::object()}};
  for (const auto& [name, value] : workload.axes) out["axes"][name] = value;
  for (const auto& [name, source] : workload.inputs) out["inputs"][name] = to_json(source);
  return out;
}

Result<Workload> workload_from_json(const Json& value, const std::string& where) {
  KW_TRY(ObjectReader reader, ObjectReader::make(value, where));
  Workload out;
  KW_TRY(out.uuid, reader.string("uuid"));
  KW_TRY_STATUS(text::check_title(out.uuid, reader.path("uuid")));
  KW_TRY(const Json* axes, reader.get("axes"));
  KW_TRY(ObjectReader axis_reader, ObjectReader::make(*axes, reader.path("axes")));
  KW_TRY_STATUS(check_count(*axes, axis_reader.where()));
  for (const auto& item : axes->items()) {
    KW_TRY(std::int64_t size, axis_reader.integer(item.key()));
    if (size < 0) {
      return fail(ErrorCode::kInvalidArgument, "{}: expected at least 0, found {}",
                  axis_reader.path(item.key()), size);
    }
    out.axes.emplace_back(item.key(), size);
  }
  KW_TRY(const Json* inputs, reader.get("inputs"));
  KW_TRY(ObjectReader input_reader, ObjectReader::make(*inputs, reader.path("inputs")));
  KW_TRY_STATUS(check_count(*inputs, input_reader.where()));
  for (const auto& [name, item] : inputs->items()) {
    KW_TRY(InputSource source,
           input_source_from_json(item, input_reader.path(printable(name, 80))));
    out.inputs.emplace_back(name, std::move(source));
  }
  reader.find("tolerance");  // SOL-ExecBench's; budgets are calibrated here
  KW_TRY_STATUS(reader.no_other_keys());
  return out;
}

Status compute_axes(Workload& workload, const Definition& definition, const std::string& where) {
  AxisValues known = workload.axes;
  for (const Axis& axis : definition.axes) {
    if (axis.value) known.emplace_back(axis.name, *axis.value);
  }
  for (const Axis& axis : definition.axes) {
    if (axis.expression.empty() || axis.value) continue;
    const std::string place = text::below(where, "axes." + axis.name);
    KW_TRY(LaunchExpression expression, axis_expression(axis.expression, place));
    KW_TRY(std::int64_t size, axis_size(expression, known, place));
    const auto given = std::ranges::find(workload.axes, axis.name, &AxisValues::value_type::first);
    if (given == workload.axes.end()) {
      workload.axes.emplace_back(axis.name, size);
      known.emplace_back(axis.name, size);
    } else if (given->second != size) {
      return fail(ErrorCode::kInvalidArgument, "{}: {}, but {} is {}", place, given->second,
                  axis.expression, size);
    }
  }
  return {};
}

Status check_workload(const Workload& workload, const Definition& definition,
                      const std::string& where) {
  std::vector<std::string> given_axes, wanted_axes, given_inputs, wanted_inputs;
  for (const auto& [name, value] : workload.axes) given_axes.push_back(name);
  for (const auto& [name, source] : workload.inputs) given_inputs.push_back(name);
  for (const Axis& axis : definition.axes) {
    if (!axis.value) wanted_axes.push_back(axis.name);
  }
  for (const TensorSpec& input : definition.inputs) wanted_inputs.push_back(input.name);
  KW_TRY_STATUS(same_names(given_axes, wanted_axes, "a variable axis", text::below(where, "axes")));
  KW_TRY_STATUS(same_names(given_inputs, wanted_inputs, "an input", text::below(where, "inputs")));
  for (const auto& [name, source] : workload.inputs) {
    auto input =
        std::find_if(definition.inputs.begin(), definition.inputs.end(),
                     [&, &wanted = name](const TensorSpec& spec) { return spec.name == wanted; });
    KW_TRY_STATUS(check_source(source, *input, text::below(where, "inputs." + name)));
  }
  KW_TRY_STATUS(check_custom(workload, definition, text::below(where, "inputs")));
  for (const auto* tensors : {&definition.inputs, &definition.outputs}) {
    for (const TensorSpec& tensor : *tensors) {
      auto bytes = tensor_bytes(tensor, definition, workload.axes);
      if (!bytes) {
        return tl::unexpected(std::move(bytes).error().with_context(
            fmt::format("{}: {}", text::below(where, "axes"), tensor.name)));
      }
    }
  }
  return check_constraints(workload, definition, where);
}

Result<std::vector<Workload>> workloads_from_jsonl(std::string_view text,
                                                   const Definition& definition,
                                                   const std::string& where) {
  std::vector<Workload> out;
  std::set<std::string> seen;
  auto read_line = [&](const Json& line) -> Status {
    const Json* body = &line;
    std::string path;
    if (line.is_object() && line.contains("workload")) {
      KW_TRY(body, workload_of_trace(line, definition));
      path = "workload";
    }
    KW_TRY(Workload workload, workload_from_json(*body, path));
    KW_TRY_STATUS(compute_axes(workload, definition, path));
    KW_TRY_STATUS(find_custom_scalars(workload, definition, text::below(path, "inputs")));
    KW_TRY_STATUS(check_workload(workload, definition, path));
    if (!seen.insert(workload.uuid).second) {
      return fail(ErrorCode::kInvalidArgument, "{}: \"{}\" is given twice",
                  text::below(path, "uuid"), printable(workload.uuid, 80));
    }
    out.push_back(std::move(workload));
    return {};
  };
  KW_TRY_STATUS(text::for_each_json_line(text, where, read_line));
  std::erase_if(out, [&](const Workload& workload) { return leaves_out(workload, where); });
  if (out.empty()) return fail(ErrorCode::kInvalidArgument, "{}: no workloads", where);
  return out;
}

std::string workloads_to_jsonl(const std::vector<Workload>& workloads,
                               const std::string& definition_name) {
  std::string out;
  for (const Workload& workload : workloads) {
    Json line = {{"definition", definition_name},
                 {"solution", nullptr},
                 {"workload", to_json(workload)},
                 {"evaluation", nullptr}};
    out += line.dump(-1, ' ', false, Json::error_handler_t::replace) + "\n";
  }
  return out;
}

}  // namespace kw::task
