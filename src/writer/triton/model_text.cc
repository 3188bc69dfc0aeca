#include "writer/triton/model_text.h"

#include <vector>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "writer/triton/host_text.h"
#include "writer/triton/init_arguments.h"

namespace kw::writer::triton {
namespace {

// Makes the submodules that a key names, and puts the tensor there.
constexpr const char* kAddState =
    "def add_state(module, key, shape, dtype, is_buffer):\n"
    "    *path, name = key.split(\".\")\n"
    "    for part in path:\n"
    "        if not hasattr(module, part):\n"
    "            module.add_module(part, nn.Module())\n"
    "        module = getattr(module, part)\n"
    "    value = torch.zeros(shape, dtype=dtype)\n"
    "    if is_buffer:\n"
    "        module.register_buffer(name, value)\n"
    "    else:\n"
    "        module.register_parameter(name, nn.Parameter(value, "
    "requires_grad=dtype.is_floating_point))\n"
    "\n\n";

std::string state_line(const task::Argument& state, const InitArguments& arguments) {
  std::vector<std::string> shape;
  for (const std::int64_t size : state.shape) shape.push_back(arguments.dimension(size));
  return fmt::format("        add_state(self, \"{}\", ({}{}), {}, {})\n", state.state_key,
                     fmt::join(shape, ", "), shape.size() == 1 ? "," : "", torch_type(state.dtype),
                     state.is_buffer ? "True" : "False");
}

}  // namespace

std::string model_text(const Program& program, const task::Signature& signature) {
  const InitArguments arguments(signature);
  std::string out = signature.statics.empty() ? "" : kAddState;
  out +=
      fmt::format("class ModelNew(nn.Module):\n    def __init__({}):\n        super().__init__()\n",
                  arguments.parameters());
  std::vector<std::string> given = {"self"}, passed;
  for (std::size_t i = 0; i < signature.inputs.size(); ++i) {
    given.push_back(program.buffers[i].name);
    passed.push_back(program.buffers[i].name);
  }
  for (const task::Argument& one : signature.statics) {
    out += state_line(one, arguments);
    passed.push_back(fmt::format("self.{}(\"{}\")", one.is_buffer ? "get_buffer" : "get_parameter",
                                 one.state_key));
  }
  return out + fmt::format("\n    def forward({}):\n        return run({})\n",
                           fmt::join(given, ", "), fmt::join(passed, ", "));
}

}  // namespace kw::writer::triton
