// How a candidate is called, in words and code.
#include <algorithm>

#include <fmt/ranges.h>

#include "base/text.h"
#include "prompt/sections.h"

namespace kw::prompt {
namespace {

using task::Argument;
using task::Signature;

std::string shape_of(const Argument& argument, const std::vector<std::vector<std::string>>& axes,
                     std::size_t index) {
  if (argument.role == task::Role::kScalar) return "scalar";
  std::string dims = index < axes.size() ? join(axes[index], ", ")
                                         : fmt::format("{}", fmt::join(argument.shape, ", "));
  return "[" + dims + "]";
}

void add_arguments(std::string& out, std::string_view kind, const std::vector<Argument>& arguments,
                   const std::vector<std::vector<std::string>>& axes) {
  for (std::size_t i = 0; i < arguments.size(); ++i) {
    const Argument& argument = arguments[i];
    out += fmt::format("- {} `{}`: {} {}", kind, argument.name, to_string(argument.dtype),
                       shape_of(argument, axes, i));
    if (!argument.state_key.empty())
      out += fmt::format(", `state_dict` key `{}`", printable(argument.state_key, 100));
    // A definition's scalars differ between workloads, and are listed there.
    bool fixed = axes.empty() && argument.role == task::Role::kScalar && !argument.value.is_null();
    if (fixed) out += fmt::format(", always {}", argument.value.dump());
    out += '\n';
  }
}

std::string names(const std::vector<Argument>& arguments) {
  std::vector<std::string> out;
  for (const Argument& argument : arguments) out.push_back(argument.name);
  return join(out, ", ");
}

void add_definition_arguments(std::string& out, const Signature& signature) {
  add_arguments(out, "input", signature.inputs, signature.input_axes);
  add_arguments(out, "static input", signature.statics, signature.static_axes);
  add_arguments(out, "output", signature.outputs, signature.output_axes);
}

// The order of a definition's parameters is the JSON order, statics among them; outputs are
// returned or come last.
std::string python_definition(const task::Problem& problem, const Signature& signature) {
  std::vector<std::string> inputs;
  for (const task::TensorSpec& input : problem.definition().inputs) inputs.push_back(input.name);
  std::string out = fmt::format(
      "Define `run` in one of two forms:\n```python\ndef run({}):  # returns {}\n    ...\n\ndef "
      "run({}, {}):  # writes into the outputs, returns nothing\n    ...\n```\n",
      join(inputs, ", "), names(signature.outputs), join(inputs, ", "), names(signature.outputs));
  add_definition_arguments(out, signature);
  if (!signature.statics.empty()) {
    out += fmt::format(
        "\nStatic inputs hold the same values on every call. `def prepare({})`, if you define it, "
        "is called once before the calls, is not timed, and may repack them; `run` still gets "
        "them.\n",
        names(signature.statics));
  }
  return out;
}

void add_module_arguments(std::string& out, const Signature& signature) {
  add_arguments(out, "input", signature.inputs, signature.input_axes);
  for (const Argument& argument : signature.statics) {
    add_arguments(out, argument.is_buffer ? "buffer" : "parameter", {argument}, {});
  }
  add_arguments(out, "output", signature.outputs, signature.output_axes);
}

std::string python_module(const Signature& signature) {
  std::string out =
      "Define `class ModelNew(torch.nn.Module)` with the constructor arguments and the `forward` "
      "arguments of `Model`. "
      "It gets the reference's parameters and buffers where `state_dict` names and shapes agree, "
      "so keep them. Input tensors are contiguous. "
      "A method `prepare(self)`, if you define it, is called once after that, is not timed, and is "
      "the place to repack weights.\n";
  add_module_arguments(out, signature);
  return out;
}

// The lines of a header that declare something.
std::string declarations(const std::string& header) {
  std::string out;
  for (const std::string& line : split(header, '\n')) {
    const std::string_view text = trim(line);
    if (!text.empty() && !text.starts_with("//") && !text.starts_with("#"))
      out += fmt::format("{}\n", line);
  }
  return out;
}

std::string cpp(const Signature& signature) {
  std::string out =
      "Define `run` exactly as declared at the end of this header, `problem.h`, which is included "
      "in front of your code. Tensors are contiguous in row-major order and 64-byte aligned; "
      "64 bytes past the end of every input may be read. Outputs hold garbage before the call.\n";
  out += fmt::format("```cpp\n{}\n```\n", trim(task::problem_header(signature, false)));
  if (signature.statics.empty()) return out;
  std::string with_prepare = task::problem_header(signature, true);
  std::size_t prototypes = with_prepare.find("extern \"C\" void* prepare");
  out += fmt::format(
      "Static inputs ({}) hold the same values on every call. You may define `prepare` to repack "
      "them; it is called once and not timed, "
      "and `run` then gets its result as a first argument:\n```cpp\n{}\n```\n",
      names(signature.statics),
      trim(std::string_view(with_prepare).substr(std::min(prototypes, with_prepare.size()))));
  return out;
}

}  // namespace

std::string interface_section(const task::Problem& problem, const Signature& signature,
                              task::Language language) {
  if (language == task::Language::kCpp) return cpp(signature);
  return problem.is_module() ? python_module(signature) : python_definition(problem, signature);
}

std::string compact_interface(const task::Problem& problem, const Signature& signature,
                              task::Language language) {
  if (language == task::Language::kCpp) return declarations(task::problem_header(signature, false));
  std::string out;
  if (problem.is_module())
    add_module_arguments(out, signature);
  else
    add_definition_arguments(out, signature);
  return out;
}

}  // namespace kw::prompt
