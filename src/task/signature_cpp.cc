// The C++ face of a signature: problem.h and the code that unpacks a call's arguments.
#include <algorithm>
#include <array>
#include <set>

#include <fmt/format.h>

#include "base/text.h"
#include "task/cpp_types.h"
#include "task/signature.h"

namespace kw::task {
namespace {

// Keywords and alternative tokens of C++20, and the names that problem.h itself relies on.
constexpr std::array kReserved = std::to_array<std::string_view>({
    "alignas",       "alignof",     "and",
    "and_eq",        "asm",         "auto",
    "bitand",        "bitor",       "bool",
    "break",         "case",        "catch",
    "char",          "char16_t",    "char32_t",
    "char8_t",       "class",       "co_await",
    "co_return",     "co_yield",    "compl",
    "concept",       "const",       "const_cast",
    "consteval",     "constexpr",   "constinit",
    "continue",      "decltype",    "default",
    "delete",        "do",          "double",
    "dynamic_cast",  "else",        "enum",
    "explicit",      "export",      "extern",
    "false",         "float",       "for",
    "friend",        "goto",        "if",
    "inline",        "int",         "long",
    "mutable",       "namespace",   "new",
    "noexcept",      "not",         "not_eq",
    "nullptr",       "operator",    "or",
    "or_eq",         "private",     "protected",
    "public",        "register",    "reinterpret_cast",
    "requires",      "return",      "short",
    "signed",        "sizeof",      "static",
    "static_assert", "static_cast", "struct",
    "switch",        "template",    "this",
    "thread_local",  "throw",       "true",
    "try",           "typedef",     "typeid",
    "typename",      "union",       "unsigned",
    "using",         "virtual",     "void",
    "volatile",      "wchar_t",     "while",
    "xor",           "xor_eq",      "NULL",
    "int8_t",        "int16_t",     "int32_t",
    "int64_t",       "uint8_t",     "uint16_t",
    "uint32_t",      "uint64_t",    "size_t",
    "ptrdiff_t",     "run",         "prepare",
    "_Float16",      "main",        "std",
});

// Global functions and objects of the C library with names that a constant may well have: a
// constexpr of such a name would clash with <math.h>, <string.h> and the like.
constexpr std::array kGlobals = std::to_array<std::string_view>({
    "abs",      "accept",   "access",    "acos",        "asin",   "atan",   "bind",   "cbrt",
    "ceil",     "clock",    "close",     "connect",     "cos",    "cosh",   "div",    "drem",
    "dup",      "environ",  "erf",       "exp",         "exp2",   "expm1",  "fabs",   "fdim",
    "floor",    "fma",      "fmax",      "fmin",        "fmod",   "free",   "gamma",  "hypot",
    "index",    "isinf",    "isnan",     "j0",          "j1",     "jn",     "lgamma", "link",
    "listen",   "log",      "log10",     "log1p",       "log2",   "logb",   "modf",   "nan",
    "nice",     "open",     "pause",     "pipe",        "pow",    "pow10",  "raise",  "rand",
    "random",   "read",     "remainder", "remove",      "rename", "rindex", "round",  "scalb",
    "select",   "signal",   "signbit",   "significand", "sin",    "sinh",   "sleep",  "sqrt",
    "stat",     "strlen",   "sync",      "system",      "tan",    "tanh",   "tgamma", "time",
    "timezone", "daylight", "trunc",     "ungetc",      "write",  "y0",     "y1",     "yn",
});

template <std::size_t N>
bool contains(const std::array<std::string_view, N>& names, std::string_view name) {
  return std::find(names.begin(), names.end(), name) != names.end();
}

std::string identifier(std::string_view name) {
  std::string out;
  for (char c : name) {
    bool fits = (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9');
    out += fits ? c : '_';
  }
  if (out.empty() || (out[0] >= '0' && out[0] <= '9')) out.insert(0, "_");
  if (out.starts_with("kw_")) out.insert(0, "x_");
  return out;
}

// Gives every name of one scope a spelling of its own.
class Names {
 public:
  enum class Scope { kGlobal, kParameters };
  explicit Names(Scope scope) : global_(scope == Scope::kGlobal) {}

  std::string add(std::string_view name) {
    std::string out = identifier(name);
    while (contains(kReserved, out) || (global_ && contains(kGlobals, out)) ||
           !taken_.insert(out).second) {
      out += '_';
    }
    return out;
  }

 private:
  bool global_;
  std::set<std::string> taken_;
};

// Text of others behind "//": one line, and no backslash, which would draw in the next line.
std::string comment_text(std::string_view text) {
  std::string out = printable(text, 200);
  for (char& c : out) {
    if (c == '\n' || c == '\\') c = '?';
  }
  return out;
}

std::string scalar_type(tensor::DType dtype) {
  if (dtype == tensor::DType::kBool) return "bool";
  if (is_floating(dtype) && size_of(dtype) < sizeof(float)) return "float";
  return std::string(cpp_type(dtype));
}

struct Parameter {
  std::string type;  // "const float*", with its space: "int64_t "
  std::string name;
  std::string comment;  // shape and dtype
  std::string unpack;   // expression over the pointer named {}
};

using AxisLists = std::vector<std::vector<std::string>>;

std::string shape_text(const Argument& argument, const AxisLists& axes, std::size_t i) {
  if (i < axes.size()) return comment_text(join(axes[i], ", "));
  return fmt::format("{}", fmt::join(argument.shape, ", "));
}

Parameter tensor_parameter(const Argument& argument, const std::string& shape, Names& names) {
  bool written = argument.role == Role::kOutput;
  std::string element = fmt::format("{}{}", written ? "" : "const ", cpp_type(argument.dtype));
  std::string comment = fmt::format("[{}] {}", shape, to_string(argument.dtype));
  if (!argument.state_key.empty() && argument.state_key != argument.name) {
    comment += ", state_dict key " + comment_text(argument.state_key);
  }
  return {element + "* ", names.add(argument.name), comment,
          fmt::format("static_cast<{}*>({{}})", element)};
}

Parameter scalar_parameter(const Argument& argument, Names& names) {
  std::string type = scalar_type(argument.dtype);
  std::string_view stored = is_floating(argument.dtype) ? "double" : "int64_t";
  return {type + " ", names.add(argument.name), fmt::format("scalar {}", to_string(argument.dtype)),
          fmt::format("static_cast<{}>(*static_cast<const {}*>({{}}))", type, stored)};
}

// All parameters but the state, in call order.
struct Parameters {
  std::vector<Parameter> inputs, statics, outputs, axes;

  explicit Parameters(const Signature& signature) {
    Names names(Names::Scope::kParameters);
    names.add("state");
    add(inputs, signature.inputs, signature.input_axes, names);
    add(statics, signature.statics, signature.static_axes, names);
    add(outputs, signature.outputs, signature.output_axes, names);
    for (const auto& axis : signature.axes) {
      axes.push_back({"int64_t ", names.add(axis.first), "", "*static_cast<const int64_t*>({})"});
    }
  }

  std::vector<Parameter> of_run() const {
    return concatenate({&inputs, &statics, &outputs, &axes});
  }
  std::vector<Parameter> of_prepare() const { return concatenate({&statics, &axes}); }

 private:
  static void add(std::vector<Parameter>& list, const std::vector<Argument>& arguments,
                  const AxisLists& axes, Names& names) {
    for (std::size_t i = 0; i < arguments.size(); ++i) {
      const Argument& argument = arguments[i];
      list.push_back(argument.role == Role::kScalar
                         ? scalar_parameter(argument, names)
                         : tensor_parameter(argument, shape_text(argument, axes, i), names));
    }
  }
  static std::vector<Parameter> concatenate(
      std::initializer_list<const std::vector<Parameter>*> lists) {
    std::vector<Parameter> out;
    for (const auto* list : lists) out.insert(out.end(), list->begin(), list->end());
    return out;
  }
};

// "extern "C" void run(" and one parameter a line, comments in one column.
std::string prototype(const std::string& head, const std::vector<Parameter>& parameters) {
  std::vector<std::string> declared;
  std::size_t width = 0;
  for (const Parameter& p : parameters) {
    declared.push_back(p.type + p.name + (declared.size() + 1 < parameters.size() ? "," : ");"));
    if (!p.comment.empty()) width = std::max(width, declared.back().size());
  }
  std::string out = head + "(";
  for (std::size_t i = 0; i < parameters.size(); ++i) {
    const std::string& comment = parameters[i].comment;
    out += "\n    ";
    out +=
        comment.empty() ? declared[i] : fmt::format("{:<{}}  // {}", declared[i], width, comment);
  }
  if (parameters.empty()) out += ");";
  return out + "\n";
}

std::string number_text(const Json& value) {
  if (value.is_boolean()) return value.get<bool>() ? "true" : "false";
  if (!value.is_number_float()) return value.dump();
  std::string text = fmt::format("{}", value.get<double>());
  return text.find_first_of(".en") == std::string::npos ? text + ".0" : text;
}

// The C++ type that holds every value, or "" where there is none.
std::string_view common_type(const Json& values) {
  bool floating = false;
  bool boolean = true;
  for (const Json& value : values) {
    bool fits = value.is_boolean() || value.is_number_float() ||
                (value.is_number_integer() &&
                 (!value.is_number_unsigned() || value.get<std::uint64_t>() <= INT64_MAX));
    if (!fits) return {};
    floating = floating || value.is_number_float();
    boolean = boolean && value.is_boolean();
  }
  return floating ? "double" : boolean ? "bool" : "int64_t";
}

// How constants are declared: integers are int64_t in C++ and long long on the device, where
// <stdint.h> need not exist; a device's arrays are in its memory.
struct ConstantStyle {
  std::string_view integer, array_prefix;
};
constexpr ConstantStyle kHostStyle = {"int64_t", ""}, kDeviceStyle = {"long long", "__device__ "};

std::string constant_text(const ConstantStyle& style, const std::string& name, const Json& value) {
  bool list = value.is_array();
  std::string_view type = common_type(list ? value : Json::array({value}));
  if (type.empty() || (list && value.empty())) {
    std::string text = value.dump(-1, ' ', false, Json::error_handler_t::replace);
    return fmt::format("// {} is {}\n", name, comment_text(text));
  }
  if (type == "int64_t") type = style.integer;
  if (!list) return fmt::format("constexpr {} {} = {};\n", type, name, number_text(value));
  std::vector<std::string> items;
  for (const Json& item : value) items.push_back(number_text(item));
  return fmt::format("{}constexpr {} {}[{}] = {{{}}};\n", style.array_prefix, type, name,
                     items.size(), join(items, ", "));
}

std::string constants_text(const Signature& signature, const ConstantStyle& style) {
  Names names(Names::Scope::kGlobal);
  std::string out;
  for (const auto& [name, value] : signature.constants)
    out += constant_text(style, names.add(name), value);
  if (!signature.of_module()) return out;
  for (const auto* list : {&signature.inputs, &signature.statics, &signature.outputs}) {
    for (const Argument& argument : *list) {
      for (std::size_t i = 0; i < argument.shape.size(); ++i) {
        out += constant_text(style, names.add(fmt::format("{}_{}", argument.name, i)),
                             argument.shape[i]);
      }
    }
  }
  return out;
}

std::string types_text(const Signature& signature) {
  std::set<tensor::DType> used;
  for (const auto* list : {&signature.inputs, &signature.statics, &signature.outputs}) {
    for (const Argument& argument : *list) {
      if (argument.role != Role::kScalar) used.insert(argument.dtype);
    }
  }
  std::string out;
  for (tensor::DType dtype : used) out += cpp_type_definition(dtype);
  return out;
}

std::string_view device_type(tensor::DType dtype) {
  using tensor::DType;
  switch (dtype) {
    case DType::kFloat16:
      return "__half";
    case DType::kBFloat16:
      return "__nv_bfloat16";
    case DType::kFloat8E4M3Fn:
      return "__nv_fp8_e4m3";
    case DType::kFloat8E5M2:
      return "__nv_fp8_e5m2";
    case DType::kFloat4E2M1:
    case DType::kUInt8:
      return "unsigned char";
    case DType::kInt64:
      return "long long";
    case DType::kInt32:
      return "int";
    case DType::kInt16:
      return "short";
    case DType::kInt8:
      return "signed char";
    default:
      return tensor::cpp_type(dtype);  // double, float, bool
  }
}

Parameter device_parameter(const Argument& argument, const std::string& shape, Names& names) {
  if (argument.role == Role::kScalar) {
    const bool narrow = is_floating(argument.dtype) && size_of(argument.dtype) < sizeof(float);
    return {fmt::format("{} ", narrow ? "float" : device_type(argument.dtype)),
            names.add(argument.name), fmt::format("scalar {}", to_string(argument.dtype)), ""};
  }
  Parameter out = tensor_parameter(argument, shape, names);
  out.type = fmt::format("{}{}* __restrict__ ", argument.role == Role::kOutput ? "" : "const ",
                         device_type(argument.dtype));
  return out;
}

std::string unpacked(const std::vector<Parameter>& parameters, const char* array,
                     std::string first) {
  std::vector<std::string> out;
  if (!first.empty()) out.push_back(std::move(first));
  for (std::size_t i = 0; i < parameters.size(); ++i) {
    out.push_back(fmt::format(fmt::runtime(parameters[i].unpack), fmt::format("{}[{}]", array, i)));
  }
  return join(out, ",\n      ");
}

}  // namespace

std::string problem_header(const Signature& signature, bool has_prepare) {
  Parameters parameters(signature);
  std::string out =
      "// problem.h: generated, and included before every source file.\n"
      "#pragma once\n#include <stddef.h>\n#include <stdint.h>\n";
  out += types_text(signature);
  if (std::string constants = constants_text(signature, kHostStyle); !constants.empty())
    out += "\n" + constants;
  out +=
      "\n// Tensors are contiguous, in row-major order, and 64-byte aligned; inputs have 64 "
      "readable"
      " bytes past their end.\n";
  std::vector<Parameter> run = parameters.of_run();
  if (has_prepare) {
    out += prototype("extern \"C\" void* prepare", parameters.of_prepare());
    run.insert(run.begin(), {"void* ", "state", "what prepare returned", ""});
  }
  return out + prototype("extern \"C\" void run", run);
}

std::string device_header(const Signature& signature) {
  Names names(Names::Scope::kParameters);
  std::vector<Parameter> parameters;
  auto add = [&](const std::vector<Argument>& list, const AxisLists& axes) {
    for (std::size_t i = 0; i < list.size(); ++i)
      parameters.push_back(device_parameter(list[i], shape_text(list[i], axes, i), names));
  };
  add(signature.inputs, signature.input_axes);
  add(signature.statics, signature.static_axes);
  add(signature.outputs, signature.output_axes);
  for (const auto& axis : signature.axes)
    parameters.push_back({"long long ", names.add(axis.first), "", ""});
  std::string out =
      "// problem.h: generated, and included before every source file.\n#pragma once\n";
  if (std::string constants = constants_text(signature, kDeviceStyle); !constants.empty())
    out += "\n" + constants;
  out +=
      "\n// NVRTC reads no <math.h>.\n"
      "#ifndef INFINITY\n#define INFINITY __int_as_float(0x7f800000)\n#endif\n"
      "#ifndef NAN\n#define NAN __int_as_float(0x7fffffff)\n#endif\n"
      "\n// Tensors are contiguous, in row-major order, and 256-byte aligned. A kernel whose "
      "launch\n"
      "// names no arguments gets these:\n";
  for (const std::string& line : split(prototype("__global__ void kernel", parameters), '\n'))
    if (!line.empty()) out += "// " + line + "\n";
  return out;
}

std::vector<CppParameter> cpp_parameters(const Signature& signature) {
  std::vector<CppParameter> out;
  for (Parameter& parameter : Parameters(signature).of_run()) {
    while (parameter.type.ends_with(' ')) parameter.type.pop_back();
    out.push_back({std::move(parameter.type), std::move(parameter.name)});
  }
  return out;
}

std::string call_shim(const Signature& signature, bool has_prepare) {
  Parameters parameters(signature);
  std::string out = fmt::format(
      "// Entry points of the executor: arguments unpacked in the order of problem.h.\n"
      "extern \"C\" void kw_call([[maybe_unused]] void* state, [[maybe_unused]] void* const* a) "
      "{{\n  run({});\n}}\n",
      unpacked(parameters.of_run(), "a", has_prepare ? "state" : ""));
  if (has_prepare) {
    out += fmt::format(
        "extern \"C\" void* kw_prepare([[maybe_unused]] void* const* a) {{\n  return "
        "prepare({});\n}}\n",
        unpacked(parameters.of_prepare(), "a", ""));
  }
  return out;
}

}  // namespace kw::task
