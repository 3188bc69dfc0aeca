// Nests as text.
#include <fmt/format.h>
#include <fmt/ranges.h>

#include "writer/loops/scalar.h"
#include "writer/nest/nest.h"

namespace kw::writer {
namespace {

class Printer {
 public:
  explicit Printer(const Nest& nest) : nest_(nest) {}

  std::string print() {
    for (const auto& [id, local] : nest_.locals)
      line(fmt::format("local {}[{}]", name(id), list(local.shape)));
    add(nest_.body);
    return std::move(out_);
  }

 private:
  const std::string& name(BufferId id) const {
    return nest_.program.buffers[static_cast<std::size_t>(id)].name;
  }
  std::string text(const ScalarRef& value) const { return to_text(nest_.program, *value); }
  static std::string list(const std::vector<IntExpr>& values) {
    std::vector<std::string> out;
    for (const IntExpr& each : values) out.push_back(each.python());
    return fmt::format("{}", fmt::join(out, ", "));
  }
  static std::string list(const std::vector<Loop>& loops) {
    std::vector<std::string> out;
    for (const Loop& loop : loops)
      out.push_back(fmt::format("{} < {}", loop.variable, loop.extent.python()));
    return fmt::format("{}", fmt::join(out, ", "));
  }

  void line(const std::string& text) { out_ += std::string(2 * indent_, ' ') + text + "\n"; }

  void add(const NestList& nodes) {
    for (const NestNode& node : nodes) std::visit([&](const auto& each) { add(each); }, node.node);
  }

  void add(const NestLoop& loop) {
    const bool from_start = loop.first == IntExpr();
    line(fmt::format("for {}{} < {}", from_start ? "" : loop.first.python() + " <= ", loop.variable,
                     loop.extent.python()));
    ++indent_;
    add(loop.body);
    --indent_;
  }
  void add(const Declare& one) {
    line(fmt::format("{} of {} {}", to_string(one.op), tensor::to_string(one.dtype), one.name));
  }
  void add(const Accumulate& step) {
    const bool placed = step.op == ReduceOp::kArgMin || step.op == ReduceOp::kArgMax;
    line(fmt::format("{} {}= {}{}", step.name, to_string(step.op), text(step.value),
                     placed ? " at " + step.position.python() : ""));
  }
  void add(const Store& put) {
    line(fmt::format("{}[{}] {}= {}{}", name(put.buffer), list(put.index),
                     put.update ? to_string(*put.update) : "", text(put.value),
                     put.accumulator.empty() ? "" : ", reduced " + put.accumulator));
  }
  void add(const Product& one) {
    line(fmt::format("{}[{}] = product of {} and {} over {}, then {}", name(one.out),
                     list(one.index), text(one.left), text(one.right), list(one.depth),
                     text(one.epilogue)));
    line(fmt::format("  for rows {}; columns {}", list(one.rows), list(one.columns)));
  }
  void add(const Routine& one) {
    const Step step = std::visit([](const auto& each) { return Step(each); }, one.step);
    std::string text = to_text(nest_.program, step);
    for (std::size_t end = text.find('\n'); end != std::string::npos; end = text.find('\n')) {
      line(text.substr(0, end));
      text.erase(0, end + 1);
    }
  }

  const Nest& nest_;
  std::string out_;
  std::size_t indent_ = 0;
};

}  // namespace

std::string to_text(const Nest& nest) {
  return Printer(nest).print();
}

}  // namespace kw::writer
