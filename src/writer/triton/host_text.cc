#include "writer/triton/host_text.h"

#include <algorithm>
#include <set>

#include <fmt/ranges.h>

namespace kw::writer::triton {

using tensor::DType;

namespace {

std::string tuple_text(const std::vector<std::string>& parts) {
  if (parts.size() == 1) return "(" + parts[0] + ",)";
  return fmt::format("({})", fmt::join(parts, ", "));
}

std::string shape_text(const Shape& shape) {
  std::vector<std::string> parts;
  for (const IntExpr& each : shape) parts.push_back(each.python());
  return tuple_text(parts);
}

bool is_given(const Buffer& buffer) {
  return buffer.kind == Buffer::Kind::kInput || buffer.kind == Buffer::Kind::kScalar;
}

// Sizes that the text needs, each from the shape of an input.
class Sizes {
 public:
  explicit Sizes(const Program& program) : program_(program) {}

  // Each symbol is a dimension of an input, or a host scalar.
  static bool are_told(const Program& program, const IntExpr& expr) {
    std::set<std::string> told;
    for (const Buffer& buffer : program.buffers) {
      if (buffer.kind == Buffer::Kind::kScalar) told.insert(buffer.name);
      if (buffer.kind != Buffer::Kind::kInput) continue;
      for (const IntExpr& extent : buffer.type.shape) told.insert(extent.python());
    }
    const std::set<std::string> symbols = expr.symbols();
    return std::includes(told.begin(), told.end(), symbols.begin(), symbols.end());
  }

  void need(const IntExpr& expr) {
    for (const std::string& symbol : expr.symbols()) needed_.insert(symbol);
  }

  Result<std::vector<std::string>> lines() {
    std::vector<std::string> out;
    for (const Buffer& buffer : program_.buffers) {
      if (buffer.kind == Buffer::Kind::kScalar) needed_.erase(buffer.name);
    }
    for (const Buffer& buffer : program_.buffers) {
      if (buffer.kind == Buffer::Kind::kInput) whole_shape(buffer, out);
    }
    for (const Buffer& buffer : program_.buffers) {
      if (buffer.kind == Buffer::Kind::kInput) solved(buffer, out);
    }
    if (!needed_.empty())
      return fail(ErrorCode::kUnsupported, "no input's shape tells the size {}",
                  fmt::join(needed_, ", "));
    return out;
  }

 private:
  void whole_shape(const Buffer& buffer, std::vector<std::string>& out) {
    std::vector<std::string> names;
    std::size_t found = 0;
    for (const IntExpr& extent : buffer.type.shape) {
      const std::string text = extent.python();
      const bool wanted = needed_.erase(text) > 0;
      if (wanted) ++found;
      names.push_back(wanted ? text : "_");
    }
    if (found == 0) return;
    if (found == 1) {
      const auto place = std::find_if(names.begin(), names.end(),
                                      [](const std::string& name) { return name != "_"; });
      out.push_back(fmt::format("{} = {}.shape[{}]", *place, buffer.name, place - names.begin()));
    } else {
      out.push_back(fmt::format("{} = {}.shape", fmt::join(names, ", "), buffer.name));
    }
  }

  // c * N + rest with a number c.
  void solved(const Buffer& buffer, std::vector<std::string>& out) {
    for (std::size_t d = 0; d < buffer.type.shape.size(); ++d) {
      const IntExpr& extent = buffer.type.shape[d];
      std::set<std::string> unknown;
      for (const std::string& symbol : extent.symbols()) {
        if (needed_.contains(symbol)) unknown.insert(symbol);
      }
      if (unknown.size() != 1) continue;
      const std::string& symbol = *unknown.begin();
      const auto factor = extent.coefficient(symbol);
      if (!factor || factor->constant().value_or(0) <= 0) continue;
      const IntExpr rest = extent - *factor * IntExpr::symbol(symbol);
      std::string text = fmt::format("{}.shape[{}]", buffer.name, d);
      if (rest != IntExpr()) text = fmt::format("({} - ({}))", text, rest.python());
      if (*factor != IntExpr(1)) text += " // " + factor->python();
      out.push_back(fmt::format("{} = {}", symbol, text));
      needed_.erase(symbol);
    }
  }

  const Program& program_;
  std::set<std::string> needed_;
};

std::string call_text(const Launch& launch, const Program& program, Sizes& sizes) {
  std::vector<std::string> arguments;
  for (const Parameter& one : launch.parameters) {
    if (const auto* id = std::get_if<BufferId>(&one.value)) {
      arguments.push_back(program.buffers[static_cast<std::size_t>(*id)].name);
    } else {
      const auto& expr = std::get<IntExpr>(one.value);
      sizes.need(expr);
      arguments.push_back(expr.python());
    }
  }
  for (const IntExpr& expr : launch.grid_sizes) sizes.need(expr);
  for (const auto& [name, text] : launch.constants)
    arguments.push_back(fmt::format("{}={}", name, text));
  if (launch.warps != 4) arguments.push_back(fmt::format("num_warps={}", launch.warps));
  if (launch.stages != 0) arguments.push_back(fmt::format("num_stages={}", launch.stages));
  return fmt::format("{}[({},)]({})", launch.name, launch.grid, fmt::join(arguments, ", "));
}

}  // namespace

std::string torch_type(DType dtype) {
  if (dtype == DType::kFloat8E4M3Fn) return "torch.float8_e4m3fn";
  if (dtype == DType::kFloat8E5M2) return "torch.float8_e5m2";
  return fmt::format("torch.{}", tensor::to_string(dtype));
}

Result<std::string> run_text(const Graph& graph, const Program& program,
                             const std::vector<Launch>& launches, TritonForm form) {
  Sizes sizes(program);
  std::vector<std::string> parameters, tensors, outputs, allocations, calls;
  std::string device = "\"cuda\"";
  std::set<BufferId> used;
  for (const Launch& launch : launches) {
    for (const Parameter& one : launch.parameters) {
      if (const auto* id = std::get_if<BufferId>(&one.value)) used.insert(*id);
    }
  }
  for (std::size_t i = 0; i < program.buffers.size(); ++i) {
    const Buffer& buffer = program.buffers[i];
    if (!is_given(buffer)) continue;
    parameters.push_back(buffer.name);
    if (buffer.kind != Buffer::Kind::kInput) continue;
    if (device.starts_with('"')) device = buffer.name + ".device";
    if (used.contains(static_cast<BufferId>(i))) tensors.push_back(buffer.name);
  }
  const auto allocate = [&](const std::string& name, const TensorType& type, const Shape& shape) {
    for (const IntExpr& extent : shape) sizes.need(extent);
    allocations.push_back(fmt::format("{} = torch.empty({}, device={}, dtype={})", name,
                                      shape_text(shape), device, torch_type(type.dtype)));
  };
  for (std::size_t i = 0; i < program.buffers.size(); ++i) {
    const Buffer& buffer = program.buffers[i];
    if (buffer.kind == Buffer::Kind::kScratch && used.contains(static_cast<BufferId>(i)))
      allocate(buffer.name, buffer.type, buffer.type.shape);
  }
  for (std::size_t k = 0; k < program.outputs.size(); ++k) {
    const Buffer& buffer = program.buffers[static_cast<std::size_t>(program.outputs[k])];
    outputs.push_back(buffer.name);
    if (form != TritonForm::kWrites)
      allocate(buffer.name, buffer.type, graph.type(graph.outputs[k]).shape);
  }
  for (const Launch& launch : launches) {
    if (launch.limit == 0) {
      calls.push_back(call_text(launch, program, sizes));
      continue;
    }
    sizes.need(launch.limited);
    calls.push_back(fmt::format("if {} <= {}:", launch.limited.python(), launch.limit));
    calls.push_back("    " + call_text(launch, program, sizes));
    calls.emplace_back("else:");
    for (const Launch& other : launch.otherwise)
      calls.push_back("    " + call_text(other, program, sizes));
  }
  std::vector<std::string> conditions;
  for (const Condition& one : program.conditions) {
    static constexpr std::string_view kSigns[] = {"==", "!=", "<", "<="};
    // An axis whose value was looked at is a number in every shape, and nothing tells it here.
    if (!Sizes::are_told(program, one.left) || !Sizes::are_told(program, one.right)) continue;
    sizes.need(one.left);
    sizes.need(one.right);
    conditions.push_back(fmt::format("assert {} {} {}", one.left.python(),
                                     kSigns[static_cast<std::size_t>(one.relation)],
                                     one.right.python()));
  }
  KW_TRY(const std::vector<std::string> shapes, sizes.lines());
  if (form == TritonForm::kWrites)
    parameters.insert(parameters.end(), outputs.begin(), outputs.end());
  std::string out = fmt::format("def run({}):\n", fmt::join(parameters, ", "));
  const auto add = [&](const std::vector<std::string>& lines) {
    for (const std::string& line : lines) out += "    " + line + "\n";
  };
  add(shapes);
  add(conditions);
  for (const std::string& name : tensors) out += fmt::format("    {0} = {0}.contiguous()\n", name);
  add(allocations);
  add(calls);
  if (form != TritonForm::kWrites) out += fmt::format("    return {}\n", fmt::join(outputs, ", "));
  return out;
}

}  // namespace kw::writer::triton
