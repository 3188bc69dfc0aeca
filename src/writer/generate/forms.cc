#include "writer/generate/forms.h"

#include <set>

#include <fmt/format.h>

#include "task/definition_json.h"
#include "task/kernelbench.h"
#include "writer/generate/python_text.h"

namespace kw::writer::generate {
namespace {

constexpr std::int64_t kLargestWindow = 16;  // as the tracer takes them for numbers

// Inputs of the graph: slots in the form's order.
struct Ordered {
  int slot = 0;
  std::string name;
  InputRole role = InputRole::kInput;
};

IntExpr renamed(const IntExpr& size, const std::map<std::string, IntExpr>& names) {
  return names.empty() ? size : size.substitute(names);
}

void rename(Shape& shape, const std::map<std::string, IntExpr>& names) {
  for (IntExpr& size : shape) size = renamed(size, names);
}

std::string meaning_of(const Plan& plan, const Slot& slot) {
  return slot.step < 0 || slot.role == InputRole::kInput
             ? fmt::format("{}", slot.value)
             : fmt::format("{} {}", plan.steps[static_cast<std::size_t>(slot.step)].spec->name,
                           slot.value);
}

Graph graph_of(const Plan& plan, const std::vector<Ordered>& order,
               const std::map<std::string, IntExpr>& names) {
  Graph out;
  std::vector<std::size_t> place(plan.slots.size());
  for (std::size_t i = 0; i < order.size(); ++i) {
    place[static_cast<std::size_t>(order[i].slot)] = i;
    const Slot& slot = plan.slots[static_cast<std::size_t>(order[i].slot)];
    const Value& value = plan.values[static_cast<std::size_t>(slot.value)];
    GraphInput input{order[i].name, order[i].role, type_of(value.shape, value.dtype)};
    rename(input.type.shape, names);
    out.inputs.push_back(std::move(input));
  }
  const auto moved = [&](ValueId id) {
    return id.is_input() ? ValueId::input(place[id.input_index()]) : id;
  };
  out.nodes = plan.nodes;
  for (Node& node : out.nodes) {
    for (TensorType& type : node.outputs) rename(type.shape, names);
    for_each_value(node, [&](ValueId& id) { id = moved(id); });
    for (auto& [key, value] : node.arguments) {
      if (auto* size = std::get_if<IntExpr>(&value)) *size = renamed(*size, names);
      if (auto* sizes = std::get_if<std::vector<IntExpr>>(&value)) rename(*sizes, names);
    }
  }
  for (const int output : plan.outputs)
    out.outputs.push_back(moved(plan.values[static_cast<std::size_t>(output)].id));
  return out;
}

task::Argument argument_of(const std::string& name, task::Role role, const Value& value) {
  task::Argument out;
  out.name = name;
  out.role = role;
  out.dtype = value.dtype;
  for (const Dim& dim : value.shape) out.shape.push_back(dim.n);
  return out;
}

// The inputs and parameters of a module in their order, each with a name of its own, in the
// signature as well.
std::vector<Ordered> ordered_of(const Plan& plan, const ModuleText& text,
                                task::Signature& signature) {
  std::vector<Ordered> order;
  std::set<std::string> taken;
  const auto unique = [&](const std::string& key) {
    std::string wanted = without_dots(key);
    while (!taken.insert(wanted).second) wanted += '_';
    return wanted;
  };
  std::size_t inputs = 0;
  for (std::size_t i = 0; i < plan.slots.size(); ++i) {
    const Slot& slot = plan.slots[i];
    if (slot.role != InputRole::kInput) continue;
    order.push_back({static_cast<int>(i), unique(text.input_names[inputs++]), InputRole::kInput});
    signature.inputs.push_back(argument_of(order.back().name, task::Role::kInput,
                                           plan.values[static_cast<std::size_t>(slot.value)]));
  }
  for (const ModuleText::State& state : text.state) {
    const Slot& slot = plan.slots[static_cast<std::size_t>(state.slot)];
    order.push_back({state.slot, unique(state.key), InputRole::kStatic});
    signature.statics.push_back(argument_of(order.back().name, task::Role::kStatic,
                                            plan.values[static_cast<std::size_t>(slot.value)]));
    signature.statics.back().state_key = state.key;
    signature.statics.back().is_buffer = slot.buffer;
  }
  for (std::size_t i = 0; i < plan.outputs.size(); ++i)
    signature.outputs.push_back(
        argument_of(unique(plan.outputs.size() == 1 ? "out" : fmt::format("out{}", i)),
                    task::Role::kOutput, plan.values[static_cast<std::size_t>(plan.outputs[i])]));
  return order;
}

struct SizeNames {
  std::map<std::string, IntExpr> names;  // of axes
  std::map<std::string, std::int64_t> sizes;
};

// A size goes by the first dimension that has it; the tracer takes some for numbers.
SizeNames size_names(const Plan& plan, const std::vector<Ordered>& order) {
  SizeNames out;
  for (const Ordered& one : order) {
    const Value& value =
        plan.values[static_cast<std::size_t>(plan.slots[static_cast<std::size_t>(one.slot)].value)];
    for (std::size_t d = 0; d < value.shape.size(); ++d) {
      const Dim& dim = value.shape[d];
      const auto symbols = dim.size.symbols();
      if (symbols.size() != 1 || dim.size != IntExpr::symbol(*symbols.begin())) continue;
      if (out.names.contains(*symbols.begin())) continue;
      const bool is_number =
          dim.n < 2 || (one.role == InputRole::kStatic && d > 1 && dim.n <= kLargestWindow);
      if (is_number) {
        out.names[*symbols.begin()] = dim.n;
        continue;
      }
      const std::string size = fmt::format("{}_{}", one.name, d);
      out.names[*symbols.begin()] = IntExpr::symbol(size);
      out.sizes[size] = dim.n;
    }
  }
  for (const Axis& axis : plan.axes) out.names.try_emplace(axis.name, axis.n);
  return out;
}

std::vector<std::string> meanings_of(const Plan& plan, const std::vector<Ordered>& order) {
  std::vector<std::string> out;
  for (const Ordered& one : order)
    out.push_back(meaning_of(plan, plan.slots[static_cast<std::size_t>(one.slot)]));
  return out;
}

}  // namespace

Result<ProblemForm> module_form(const Plan& plan, const std::string& name, ModuleText text) {
  ProblemForm out;
  const std::vector<Ordered> order = ordered_of(plan, text, out.signature);
  out.signature.constants = std::move(text.constants);
  out.signature.init_parameters = std::move(text.init_parameters);
  SizeNames sizes = size_names(plan, order);
  out.graph = graph_of(plan, order, sizes.names);
  out.graph.sizes = std::move(sizes.sizes);
  out.meanings = meanings_of(plan, order);
  KW_TRY(task::Module module, task::make_module(text.source, "Model", {}));
  out.problem = task::module_problem(name, std::move(module), "generated");
  KW_TRY_STATUS(check(out.graph));
  return out;
}

Result<ProblemForm> definition_form(const Plan& plan, DefinitionText text) {
  ProblemForm out;
  KW_TRY(out.signature,
         task::signature_of(text.definition, text.workloads[0], text.policy.statics));
  std::vector<Ordered> order;
  const bool given_once = !text.policy.statics.empty();
  for (std::size_t i = 0; i < text.slots.size(); ++i) {
    const bool parameter =
        plan.slots[static_cast<std::size_t>(text.slots[i])].role == InputRole::kStatic;
    order.push_back({text.slots[i], text.definition.inputs[i].name,
                     parameter && given_once ? InputRole::kStatic : InputRole::kInput});
  }
  out.graph = graph_of(plan, order, {});
  for (const task::Axis& axis : text.definition.axes) {
    if (axis.value) out.graph.sizes[axis.name] = *axis.value;
  }
  for (const auto& [name, n] : text.workloads[0].axes) out.graph.sizes[name] = n;
  out.meanings = meanings_of(plan, order);
  KW_TRY(task::Definition checked,
         task::definition_from_json(task::to_json(text.definition), text.definition.name));
  out.problem.name = checked.name;
  out.problem.body = std::move(checked);
  out.problem.workloads = std::move(text.workloads);
  out.problem.policy = std::move(text.policy);
  out.problem.origin = "generated";
  out.problem.hash = task::problem_hash(out.problem);
  KW_TRY_STATUS(check(out.graph));
  return out;
}

}  // namespace kw::writer::generate
