// Definition codec.
#include "task/definition_json.h"

#include <algorithm>

#include "base/text.h"
#include "task/axis_expression.h"
#include "text/names.h"
#include "text/python_scan.h"

namespace kw::task {
namespace {

constexpr std::size_t kMaxTensors = 64;
constexpr std::size_t kMaxAxes = 64;
constexpr std::size_t kMaxRank = 8;

const Axis* find_axis(const std::vector<Axis>& axes, std::string_view name) {
  auto found =
      std::find_if(axes.begin(), axes.end(), [&](const Axis& axis) { return axis.name == name; });
  return found == axes.end() ? nullptr : &*found;
}

bool has_tensor(const std::vector<TensorSpec>& tensors, std::string_view name) {
  return std::any_of(tensors.begin(), tensors.end(),
                     [&](const TensorSpec& t) { return t.name == name; });
}

Result<Axis> axis_from_json(const std::string& name, const Json& value, const std::string& where) {
  KW_TRY_STATUS(text::check_parameter_name(name, where));
  KW_TRY(ObjectReader reader, ObjectReader::make(value, where));
  Axis axis{name, std::nullopt, {}};
  KW_TRY(std::string type, reader.string("type"));
  KW_TRY(axis.description, reader.string_or("description", ""));
  if (type == "expr") {
    KW_TRY(axis.expression, reader.string("expression"));
    KW_TRY_STATUS(axis_expression(axis.expression, reader.path("expression")));
  } else if (type == "const") {
    KW_TRY(std::int64_t fixed, reader.integer("value"));
    if (fixed < 0) {
      return fail(ErrorCode::kInvalidArgument, "{}: expected at least 0, found {}",
                  reader.path("value"), fixed);
    }
    axis.value = fixed;
  } else if (type != "var") {
    return fail(ErrorCode::kInvalidArgument,
                "{}: expected \"const\", \"var\" or \"expr\", found \"{}\"", reader.path("type"),
                printable(type, 60));
  } else if (reader.has("value")) {
    return fail(ErrorCode::kInvalidArgument, "{}: a variable axis has its value in each workload",
                reader.path("value"));
  }
  KW_TRY_STATUS(reader.no_other_keys());
  return axis;
}

// Expressions over constants have a value at once; the others get one in each workload. An
// expression may use what stands before it.
Status compute_constants(std::vector<Axis>& axes, const ObjectReader& object) {
  AxisValues constants;
  std::vector<std::string> known;
  for (Axis& axis : axes) {
    if (!axis.expression.empty()) {
      const std::string where = object.path(axis.name) + ".expression";
      KW_TRY(LaunchExpression expression, axis_expression(axis.expression, where));
      bool is_constant = true;
      for (const std::string& name : expression.names()) {
        const Axis* used = find_axis(axes, name);
        if (std::ranges::find(known, name) == known.end() &&
            (used == nullptr || !used->expression.empty()))
          return fail(ErrorCode::kInvalidArgument, "{}: \"{}\" is no axis before it{}", where,
                      printable(name, 80), text::suggestion(name, known));
        is_constant = is_constant && used->value;
      }
      if (is_constant) {
        for (const Axis& other : axes)
          if (other.value) constants.emplace_back(other.name, *other.value);
        KW_TRY(axis.value, axis_size(expression, constants, where));
      }
    }
    known.push_back(axis.name);
  }
  return {};
}

Result<std::vector<Axis>> axes_from_json(ObjectReader& reader) {
  KW_TRY(const Json* value, reader.get("axes"));
  KW_TRY(ObjectReader object, ObjectReader::make(*value, reader.path("axes")));
  if (value->size() > kMaxAxes) {
    return fail(ErrorCode::kInvalidArgument, "{}: more than {} axes", object.where(), kMaxAxes);
  }
  std::vector<Axis> axes;
  for (const auto& [name, item] : value->items()) {
    KW_TRY(Axis axis, axis_from_json(name, item, object.path(printable(name, 80))));
    axes.push_back(std::move(axis));
  }
  KW_TRY_STATUS(compute_constants(axes, object));
  return axes;
}

// SOL-ExecBench's shapes may have a number in the place of an axis: it becomes a constant one.
std::string axis_of_number(const std::string& digits, std::vector<Axis>& axes) {
  std::string name = "size_" + digits;
  if (find_axis(axes, name) == nullptr) axes.push_back({name, std::stoll(digits), {}});
  return name;
}

bool is_number(const std::string& text) {
  return !text.empty() && text.size() <= 12 && std::ranges::all_of(text, is_digit);
}

Result<std::optional<std::vector<std::string>>> shape_from_json(ObjectReader& reader,
                                                                std::vector<Axis>& axes) {
  if (!reader.has("shape"))
    return fail(ErrorCode::kInvalidArgument, "{}: missing", reader.path("shape"));
  std::optional<std::vector<std::string>> shape;
  if (reader.find("shape") == nullptr) return shape;  // null: a host scalar
  KW_TRY(shape, reader.strings_or_empty("shape"));
  if (shape->size() > kMaxRank) {
    return fail(ErrorCode::kInvalidArgument, "{}: more than {} dimensions", reader.path("shape"),
                kMaxRank);
  }
  std::vector<std::string> known;
  for (const Axis& axis : axes) known.push_back(axis.name);
  for (std::string& name : *shape) {
    if (is_number(name)) name = axis_of_number(name, axes);
    if (find_axis(axes, name) == nullptr) {
      return fail(ErrorCode::kInvalidArgument, "{}: \"{}\" is not among the axes{}",
                  reader.path("shape"), printable(name, 80), text::suggestion(name, known));
    }
  }
  return shape;
}

Result<TensorSpec> tensor_from_json(const std::string& name, const Json& value,
                                    const std::string& where, std::vector<Axis>& axes) {
  KW_TRY_STATUS(text::check_parameter_name(name, where));
  KW_TRY(ObjectReader reader, ObjectReader::make(value, where));
  TensorSpec tensor;
  tensor.name = name;
  KW_TRY(tensor.shape, shape_from_json(reader, axes));
  KW_TRY(std::string dtype, reader.string("dtype"));
  auto known = tensor::dtype_from_string(dtype);
  if (dtype == "float4_e2m1fn_x2")
    return fail(ErrorCode::kUnsupported,
                "{}: {} has two elements a byte and is not read; float4_e2m1 has one",
                reader.path("dtype"), dtype);
  if (!known) {
    std::vector<std::string> names;
    for (const std::string& other : split(tensor::dtype_names(), ','))
      names.emplace_back(trim(other));
    return fail(ErrorCode::kInvalidArgument, "{}: \"{}\" is not one of {}{}", reader.path("dtype"),
                printable(dtype, 60), tensor::dtype_names(), text::suggestion(dtype, names));
  }
  tensor.dtype = *known;
  KW_TRY(tensor.description, reader.string_or("description", ""));
  KW_TRY(tensor.optional, reader.boolean_or("optional", false));
  KW_TRY_STATUS(reader.no_other_keys());
  if (find_axis(axes, name) != nullptr) {
    return fail(ErrorCode::kInvalidArgument, "{}: \"{}\" is also the name of an axis", where, name);
  }
  return tensor;
}

Result<std::vector<TensorSpec>> tensors_from_json(ObjectReader& reader, std::string_view key,
                                                  std::vector<Axis>& axes) {
  KW_TRY(const Json* value, reader.get(key));
  KW_TRY(ObjectReader object, ObjectReader::make(*value, reader.path(key)));
  if (value->size() > kMaxTensors) {
    return fail(ErrorCode::kInvalidArgument, "{}: more than {} tensors", object.where(),
                kMaxTensors);
  }
  std::vector<TensorSpec> tensors;
  for (const auto& [name, item] : value->items()) {
    KW_TRY(TensorSpec tensor, tensor_from_json(name, item, object.path(printable(name, 80)), axes));
    tensors.push_back(std::move(tensor));
  }
  return tensors;
}

Status check_interface(const Definition& definition, const ObjectReader& reader) {
  if (definition.outputs.empty()) {
    return fail(ErrorCode::kInvalidArgument, "{}: at least one output is needed",
                reader.path("outputs"));
  }
  AxisValues constants;
  for (const Axis& axis : definition.axes)
    constants.emplace_back(axis.name, axis.value.value_or(1));
  for (const TensorSpec& tensor : definition.outputs) {
    std::string where = text::below(reader.path("outputs"), tensor.name);
    if (has_tensor(definition.inputs, tensor.name)) {
      return fail(ErrorCode::kInvalidArgument, "{}: \"{}\" is an input too; the names must differ",
                  where, tensor.name);
    }
    if (tensor.optional)
      return fail(ErrorCode::kInvalidArgument, "{}.optional: only inputs can be", where);
    if (!tensor.shape) {
      return fail(ErrorCode::kInvalidArgument,
                  "{}.shape: null (a host scalar) is for inputs only; a 0-d tensor is []", where);
    }
  }
  for (const auto& [key, tensors] :
       {std::pair("inputs", &definition.inputs), std::pair("outputs", &definition.outputs)}) {
    for (const TensorSpec& tensor : *tensors) {
      auto bytes = tensor_bytes(tensor, definition, constants);
      if (!bytes)
        return tl::unexpected(
            std::move(bytes).error().with_context(reader.path(key) + "." + tensor.name));
    }
  }
  return {};
}

// A constraint is a Python expression; whether it holds is only decided where it is simple
// (workload_json).
Status check_constraint(const std::string& text, const std::string& where) {
  auto problem = text::expression_problem(text);
  if (!problem.empty()) return fail(ErrorCode::kInvalidArgument, "{}: {}", where, problem);
  return {};
}

Status check_tag(const std::string& tag, const std::string& where) {
  if (trim(tag).empty() || tag.size() > 256) {
    return fail(ErrorCode::kInvalidArgument, "{}: a tag has 1 to 256 characters", where);
  }
  return {};
}

Json to_json(const TensorSpec& tensor) {
  Json out = {{"shape", tensor.shape ? Json(*tensor.shape) : Json(nullptr)},
              {"dtype", to_string(tensor.dtype)}};
  if (!tensor.description.empty()) out["description"] = tensor.description;
  if (tensor.optional) out["optional"] = true;
  return out;
}

// The definition's constant, or else what the values say.
std::optional<std::int64_t> size_along(const std::string& name, const Definition& definition,
                                       const AxisValues& values) {
  const Axis* axis = find_axis(definition.axes, name);
  if (axis != nullptr && axis->value) return axis->value;
  const auto found =
      std::ranges::find_if(values, [&](const auto& value) { return value.first == name; });
  if (found == values.end()) return std::nullopt;
  return found->second;
}

}  // namespace

Json to_json(const Definition& definition) {
  Json out = {{"name", definition.name}};
  if (!definition.description.empty()) out["description"] = definition.description;
  if (!definition.op_type.empty()) out["op_type"] = definition.op_type;
  if (!definition.tags.empty()) out["tags"] = definition.tags;
  out["axes"] = Json::object();
  for (const Axis& axis : definition.axes) {
    Json item = Json::object();
    if (!axis.expression.empty()) {
      item = {{"type", "expr"}, {"expression", axis.expression}};
    } else if (axis.value) {
      item = {{"type", "const"}, {"value", *axis.value}};
    } else {
      item = {{"type", "var"}};
    }
    if (!axis.description.empty()) item["description"] = axis.description;
    out["axes"][axis.name] = std::move(item);
  }
  if (!definition.constraints.empty()) out["constraints"] = definition.constraints;
  if (!definition.custom_inputs_entrypoint.empty())
    out["custom_inputs_entrypoint"] = definition.custom_inputs_entrypoint;
  out["inputs"] = Json::object();
  for (const TensorSpec& tensor : definition.inputs) out["inputs"][tensor.name] = to_json(tensor);
  out["outputs"] = Json::object();
  for (const TensorSpec& tensor : definition.outputs) out["outputs"][tensor.name] = to_json(tensor);
  out["reference"] = definition.reference;
  return out;
}

Result<Definition> definition_from_json(const Json& value, const std::string& where) {
  KW_TRY(ObjectReader reader, ObjectReader::make(value, where));
  Definition out;
  KW_TRY(out.name, reader.string("name"));
  KW_TRY_STATUS(text::check_title(out.name, reader.path("name")));
  KW_TRY(out.op_type, reader.string_or("op_type", ""));
  if (!out.op_type.empty()) KW_TRY_STATUS(text::check_title(out.op_type, reader.path("op_type")));
  KW_TRY(out.description, reader.string_or("description", ""));
  KW_TRY(out.tags, reader.strings_or_empty("tags"));
  for (const std::string& tag : out.tags) KW_TRY_STATUS(check_tag(tag, reader.path("tags")));
  // SOL-ExecBench's name of the model that a problem is of; FlashInfer-Bench has a tag for it.
  KW_TRY(std::string model, reader.string_or("hf_id", ""));
  if (!model.empty()) {
    KW_TRY_STATUS(check_tag("model:" + model, reader.path("hf_id")));
    out.tags.push_back("model:" + model);
  }
  KW_TRY(out.axes, axes_from_json(reader));
  KW_TRY(out.inputs, tensors_from_json(reader, "inputs", out.axes));
  KW_TRY(out.outputs, tensors_from_json(reader, "outputs", out.axes));
  KW_TRY(out.constraints, reader.strings_or_empty("constraints"));
  for (const std::string& text : out.constraints)
    KW_TRY_STATUS(check_constraint(text, reader.path("constraints")));
  KW_TRY(out.custom_inputs_entrypoint, reader.string_or("custom_inputs_entrypoint", ""));
  KW_TRY(out.reference, reader.string("reference"));
  KW_TRY_STATUS(reader.no_other_keys());
  KW_TRY_STATUS(check_interface(out, reader));
  auto functions = text::PythonScan(out.reference).functions();
  for (const std::string& name : {std::string("run"), out.custom_inputs_entrypoint}) {
    if (!name.empty() && std::find(functions.begin(), functions.end(), name) == functions.end())
      return fail(ErrorCode::kInvalidArgument, "{}: has no top-level function \"{}\"",
                  reader.path("reference"), printable(name, 80));
  }
  return out;
}

Result<std::int64_t> tensor_bytes(const TensorSpec& tensor, const Definition& definition,
                                  const AxisValues& values) {
  if (!tensor.shape) return 0;
  auto bytes = static_cast<std::int64_t>(size_of(tensor.dtype));
  std::vector<std::string> factors;
  for (const std::string& name : *tensor.shape) {
    const std::optional<std::int64_t> size = size_along(name, definition, values);
    if (!size) return fail(ErrorCode::kInvalidArgument, "axis \"{}\" has no value", name);
    factors.push_back(fmt::format("{}={}", name, *size));
    if (__builtin_mul_overflow(bytes, *size, &bytes) || bytes > kMaxTensorBytes) {
      return fail(ErrorCode::kInvalidArgument, "a {} tensor with {} is larger than {}",
                  to_string(tensor.dtype), join(factors, ", "),
                  format_bytes(static_cast<std::uint64_t>(kMaxTensorBytes)));
    }
  }
  return bytes;
}

}  // namespace kw::task
