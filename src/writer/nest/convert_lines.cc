// convert_lines: what a loop reads and writes in float16 is converted a line at a time, which the
// machine's vectors do at once, and not element by element with integer arithmetic.
#include <algorithm>

#include <fmt/format.h>

#include "writer/loops/scalar.h"
#include "writer/nest/nest.h"

namespace kw::writer {
namespace {

using tensor::DType;

constexpr std::int64_t kLine = 512;   // elements
constexpr std::int64_t kFewest = 64;  // for which it is done

class Converter {
 public:
  explicit Converter(Nest& nest) : nest_(nest) {}

  void of(NestList& list) {
    for (NestNode& node : list) {
      auto* loop = std::get_if<NestLoop>(&node.node);
      if (loop == nullptr) continue;
      loops_.push_back(loop->variable);
      if (is_plain(*loop))
        convert(*loop);
      else
        of(loop->body);
      loops_.pop_back();
    }
  }

 private:
  struct Line {
    ScalarRef element;  // float16, in memory
    BufferId buffer = 0;
  };

  // Of stores and reductions alone, long at the sizes that were traced.
  bool is_plain(const NestLoop& loop) const {
    const auto extent = traced_extent(nest_, loop);
    return loop.first == IntExpr() && extent && *extent >= kFewest &&
           std::all_of(loop.body.begin(), loop.body.end(), [](const NestNode& node) {
             if (const auto* step = std::get_if<Accumulate>(&node.node))
               return step->op != ReduceOp::kArgMin && step->op != ReduceOp::kArgMax;
             return std::holds_alternative<Store>(node.node);
           });
  }

  // for r: ...  ->  for lines of r: from float16; for r in the line: ...; to float16
  void convert(NestLoop& loop) {
    NestLoop lines{loop.variable + "_line",
                   IntExpr::call(IntFunction::kFloorDiv, loop.extent + IntExpr(kLine - 1), kLine),
                   {}};
    const IntExpr first = IntExpr::symbol(lines.variable) * IntExpr(kLine);
    NestLoop line{loop.variable + "_at",
                  IntExpr::call(IntFunction::kMin, kLine, loop.extent - first), loop.body};
    for (NestNode& node : line.body)
      substitute(node, {{loop.variable, first + IntExpr::symbol(line.variable)}});
    collect(line);
    NestList before, behind;
    for (NestNode& node : line.body) {
      if (auto* step = std::get_if<Accumulate>(&node.node)) {
        step->value = from_lines(step->value, line, before);
      } else {
        auto& put = std::get<Store>(node.node);
        put.value = from_lines(put.value, line, before);
        if (is_rounded(put, line)) behind.push_back(to_line(put, line));
      }
    }
    if (before.empty() && behind.empty()) return;
    for (auto& [id, local] : nest_.locals) {
      if (local.loops != loops_) continue;
      local.loops.back() = lines.variable;
      local.loops.push_back(line.variable);
    }
    lines.body = std::move(before);
    lines.body.push_back({std::move(line)});
    for (NestNode& node : behind) lines.body.push_back(std::move(node));
    loop = std::move(lines);
  }

  void collect(const NestLoop& line) {
    read_.clear();
    written_.clear();
    lines_.clear();
    std::vector<Access> reads, writes;
    for (const NestNode& node : line.body) {
      collect_reads(node, reads);
      collect_writes(node, writes);
    }
    for (const Access& one : reads) ++read_[one.buffer];
    for (const Access& one : writes) ++written_[one.buffer];
  }

  // An element in memory next to that of the iteration before.
  bool is_in_line(BufferId buffer, const std::vector<IntExpr>& index, const NestLoop& line) const {
    if (nest_.program.buffers[static_cast<std::size_t>(buffer)].type.dtype != DType::kFloat16)
      return false;
    return stride(nest_, {buffer, {index.begin(), index.end()}}, line.variable) ==
           std::optional(IntExpr(1));
  }

  // With what it reads out of memory read out of converted lines, which `before` makes.
  ScalarRef from_lines(const ScalarRef& value, const NestLoop& line, NestList& before) {
    // Behind a condition elements may be out of bounds.
    return rewritten_outside_selections(value, [&](const ScalarRef& one) -> ScalarRef {
      const auto* cast = std::get_if<Scalar::Cast>(&one->node);
      if (cast == nullptr || one->dtype != DType::kFloat32) return nullptr;
      const auto* load = std::get_if<Scalar::Load>(&cast->value->node);
      if (load == nullptr || written_.contains(load->buffer)) return nullptr;
      const std::vector<IntExpr> index = known_indices(*load);
      if (index.size() != load->index.size() || !is_in_line(load->buffer, index, line))
        return nullptr;
      auto known = std::find_if(lines_.begin(), lines_.end(), [&](const Line& made) {
        return is_equal(made.element, cast->value, {});
      });
      if (known == lines_.end()) {
        lines_.push_back({cast->value, new_line()});
        known = lines_.end() - 1;
        NestLoop copy{line.variable + "_from", line.extent, {}};
        const IntExpr at = IntExpr::symbol(copy.variable);
        copy.body.push_back({Store{.buffer = known->buffer,
                                   .index = {at},
                                   .value = substitute(one, {{line.variable, at}}),
                                   .accumulator = {},
                                   .update = {}}});
        before.push_back({std::move(copy)});
      }
      return load_at(known->buffer, line.variable);
    });
  }

  bool is_rounded(const Store& put, const NestLoop& line) const {
    const auto* cast = std::get_if<Scalar::Cast>(&put.value->node);
    return cast != nullptr && cast->value->dtype == DType::kFloat32 && !put.update &&
           put.accumulator.empty() && is_in_line(put.buffer, put.index, line) &&
           !read_.contains(put.buffer) && written_.at(put.buffer) == 1;
  }

  // The store goes to a line of float32; the loop that rounds it into memory.
  NestNode to_line(Store& put, const NestLoop& line) {
    const BufferId buffer = new_line();
    NestLoop copy{line.variable + "_to", line.extent, {}};
    const IntExpr at = IntExpr::symbol(copy.variable);
    Store rounded{.buffer = put.buffer,
                  .index = put.index,
                  .value = cast(DType::kFloat16, load_at(buffer, copy.variable)),
                  .accumulator = {},
                  .update = {}};
    for (IntExpr& index : rounded.index) index = index.substitute({{line.variable, at}});
    copy.body.push_back({std::move(rounded)});
    put = Store{.buffer = buffer,
                .index = {IntExpr::symbol(line.variable)},
                .value = std::get<Scalar::Cast>(put.value->node).value,
                .accumulator = {},
                .update = {}};
    return {std::move(copy)};
  }

  BufferId new_line() {
    const auto id = static_cast<BufferId>(nest_.program.buffers.size());
    nest_.program.buffers.push_back(
        {Buffer::Kind::kScratch, fmt::format("t{}", id), {DType::kFloat32, {kLine}}});
    return id;
  }
  static ScalarRef load_at(BufferId buffer, const std::string& variable) {
    return load(buffer, DType::kFloat32, {index_number(IntExpr::symbol(variable))});
  }

  Nest& nest_;
  std::vector<std::string> loops_;          // around the list, outermost first
  std::map<BufferId, int> read_, written_;  // in the loop, how often
  std::vector<Line> lines_;                 // of the loop
};

}  // namespace

void convert_lines(Nest& nest) {
  Converter(nest).of(nest.body);
}

}  // namespace kw::writer
