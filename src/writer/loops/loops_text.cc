// Programs as text, and the names of operations.
#include <iterator>

#include "base/check.h"
#include "writer/loops/loops.h"
#include "writer/loops/scalar.h"

namespace kw::writer {

std::string_view to_string(ScalarOp op) {
  // In the enumeration's order.
  static constexpr std::string_view kNames[] = {"neg",
                                                "abs",
                                                "sign",
                                                "exp",
                                                "exp2",
                                                "expm1",
                                                "log",
                                                "log2",
                                                "log10",
                                                "log1p",
                                                "sqrt",
                                                "rsqrt",
                                                "reciprocal",
                                                "sin",
                                                "cos",
                                                "tan",
                                                "asin",
                                                "acos",
                                                "atan",
                                                "sinh",
                                                "cosh",
                                                "tanh",
                                                "asinh",
                                                "acosh",
                                                "atanh",
                                                "erf",
                                                "erfc",
                                                "erfinv",
                                                "sigmoid",
                                                "floor",
                                                "ceil",
                                                "round",
                                                "trunc",
                                                "isnan",
                                                "isinf",
                                                "not",
                                                "bit_not",
                                                "lgamma",
                                                "frexp_fraction",
                                                "frexp_exponent",
                                                "add",
                                                "sub",
                                                "mul",
                                                "div",
                                                "floor_div",
                                                "remainder",
                                                "fmod",
                                                "pow",
                                                "atan2",
                                                "hypot",
                                                "min",
                                                "max",
                                                "fmin",
                                                "fmax",
                                                "equal",
                                                "not_equal",
                                                "less",
                                                "less_equal",
                                                "greater",
                                                "greater_equal",
                                                "and",
                                                "or",
                                                "xor",
                                                "bit_and",
                                                "bit_or",
                                                "bit_xor",
                                                "shift_left",
                                                "shift_right",
                                                "select"};
  static_assert(std::size(kNames) == static_cast<std::size_t>(ScalarOp::kSelect) + 1);
  return kNames[static_cast<std::size_t>(op)];
}

std::string_view to_string(ReduceOp op) {
  static constexpr std::string_view kNames[] = {"sum",    "prod", "min", "max",      "argmin",
                                                "argmax", "any",  "all", "logaddexp"};
  static_assert(std::size(kNames) == static_cast<std::size_t>(ReduceOp::kLogAddExp) + 1);
  return kNames[static_cast<std::size_t>(op)];
}

namespace {

std::string shape_text(const Shape& shape) {
  std::string out;
  for (const IntExpr& each : shape) out += (out.empty() ? "" : ", ") + each.python();
  return "[" + out + "]";
}

class Printer {
 public:
  explicit Printer(const Program& program) : program_(program) {}

  std::string print() const {
    std::string out;
    for (const Buffer& buffer : program_.buffers) {
      static constexpr std::string_view kKinds[] = {"input", "scalar", "output", "scratch"};
      out +=
          fmt::format("{} {} {} {}\n", kKinds[static_cast<std::size_t>(buffer.kind)], buffer.name,
                      tensor::to_string(buffer.type.dtype), shape_text(buffer.type.shape));
    }
    for (const Step& step : program_.steps) out += print(step);
    std::string outputs;
    for (BufferId id : program_.outputs) outputs += " " + name(id);
    return out + "return" + outputs + "\n";
  }

  std::string print(const Step& step) const {
    return std::visit([&](const auto& each) { return text(each); }, step);
  }
  std::string print(const Scalar& value) const { return text(value); }

 private:
  const std::string& name(BufferId id) const {
    return program_.buffers[static_cast<std::size_t>(id)].name;
  }

  static std::string loops_text(const std::vector<Loop>& loops) {
    std::string out;
    for (const Loop& loop : loops)
      out += fmt::format("{}{} < {}", out.empty() ? "" : ", ", loop.variable, loop.extent.python());
    return out;
  }

  std::string list(const std::vector<ScalarRef>& values) const {
    std::string out;
    for (const ScalarRef& each : values) out += (out.empty() ? "" : ", ") + text(*each);
    return out;
  }

  std::string text(const Scalar& value) const {
    const bool floating = tensor::is_floating(value.dtype);
    if (const auto* constant = std::get_if<Scalar::Constant>(&value.node)) {
      if (value.dtype == tensor::DType::kBool) return constant->integer != 0 ? "true" : "false";
      return floating ? fmt::format("{:#}", constant->number)
                      : fmt::format("{}", constant->integer);
    }
    if (const auto* index = std::get_if<Scalar::Index>(&value.node)) return index->expr.python();
    if (const auto* load = std::get_if<Scalar::Load>(&value.node))
      return fmt::format("{}[{}]", name(load->buffer), list(load->index));
    if (const auto* called = std::get_if<Scalar::Call>(&value.node))
      return fmt::format("{}({})", to_string(called->op), list(called->arguments));
    if (const auto* casted = std::get_if<Scalar::Cast>(&value.node))
      return fmt::format("{}({})", tensor::to_string(value.dtype), text(*casted->value));
    return "reduced";
  }

  std::string head(std::string_view kind, const std::string& label, int node,
                   const std::vector<Loop>& loops) const {
    std::string out = fmt::format("{} ({}", kind, label);
    if (node >= 0) out += fmt::format(", node {}", node);
    out += ")";
    if (!loops.empty()) out += " for " + loops_text(loops);
    return out + "\n";
  }

  std::string place(BufferId id, const std::vector<Loop>& loops) const {
    std::string out;
    for (const Loop& loop : loops) out += (out.empty() ? "" : ", ") + loop.variable;
    return fmt::format("{}[{}]", name(id), out);
  }

  std::string value(const Stage& stage, const std::string& reduction) const {
    std::string out =
        fmt::format("  {} = {}{}\n", place(stage.out, stage.loops), reduction, text(*stage.body));
    if (stage.epilogue) out += fmt::format("    then {}\n", text(*stage.epilogue));
    return out;
  }

  std::string text(const Stage& stage) const {
    std::string reduction;
    if (!stage.reduced.empty())
      reduction = fmt::format("{} in {} over {} of ", to_string(stage.op),
                              tensor::to_string(stage.accumulator), loops_text(stage.reduced));
    return head("stage", stage.label, stage.node, stage.loops) + value(stage, reduction);
  }

  std::string text(const Scan& scan) const {
    const Stage& stage = scan.stage;
    return head("scan", stage.label, stage.node, stage.loops) +
           value(stage,
                 fmt::format("running {} in {} along {}{} of ", to_string(stage.op),
                             tensor::to_string(stage.accumulator), stage.loops[scan.axis].variable,
                             scan.reversed ? " backwards" : ""));
  }

  std::string text(const Sort& sort) const {
    return head("sort", sort.label, sort.node, {}) +
           fmt::format("  {}, {} = {} {}{}\n", name(sort.values), name(sort.indices), name(sort.in),
                       sort.descending ? "descending" : "ascending",
                       sort.first ? ", first " + sort.first->python() : "");
  }

  std::string text(const Scatter& scatter) const {
    static constexpr std::string_view kOps[] = {"=", "+=", "*=", "min=", "max="};
    return head("scatter", scatter.label, scatter.node, scatter.loops) +
           fmt::format("  {}[{}] {} {}\n", name(scatter.out), list(scatter.index),
                       kOps[static_cast<std::size_t>(scatter.op)], text(*scatter.value));
  }

  const Program& program_;
};

}  // namespace

std::string to_text(const Program& program) {
  return Printer(program).print();
}
std::string to_text(const Program& program, const Step& step) {
  return Printer(program).print(step);
}
std::string to_text(const Program& program, const Scalar& value) {
  return Printer(program).print(value);
}

}  // namespace kw::writer
