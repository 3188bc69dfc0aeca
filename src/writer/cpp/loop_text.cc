#include "writer/cpp/loop_text.h"

#include <algorithm>

#include <fmt/ranges.h>

#include "writer/cpp/copy_text.h"
#include "writer/cpp/product_text.h"
#include "writer/cpp/routine_text.h"
#include "writer/loops/scalar.h"

namespace kw::writer {
namespace {

using tensor::DType;

class LoopWriter {
 public:
  LoopWriter(const CppTuning& tuning, CppText& text)
      : tuning_(tuning), lanes_(tuning.lanes), text_(text) {}

  // loops: around the list.
  void list(const NestList& nodes, const std::vector<std::string>& loops) {
    for (std::size_t i = 0; i < text_.nest.program.buffers.size(); ++i) {
      const auto id = static_cast<BufferId>(i);
      const LocalBuffer* rest = text_.local(id);
      if (rest == nullptr || !rest->shape.empty() || rest->loops != loops) continue;
      if (is_stored_once(nodes, id)) {
        constants_.insert(id);
        continue;
      }
      constants_.erase(id);
      text_.format("{} {};", element_type(text_.buffer(id).type.dtype), text_.name(id));
    }
    for (std::size_t i = 0; i < nodes.size(); ++i) {
      const NestNode& node = nodes[i];
      ScalarText scope = text_.scope();
      if (const auto* one = std::get_if<NestLoop>(&node.node)) {
        loop(*one, loops);
      } else if (const auto* declared = std::get_if<Declare>(&node.node)) {
        text_.declare(*declared);
      } else if (const auto* step = std::get_if<Accumulate>(&node.node)) {
        text_.accumulate(*step, scope);
      } else if (const auto* put = std::get_if<Store>(&node.node)) {
        store(*put, scope);
      } else if (const auto* product = std::get_if<Product>(&node.node)) {
        write_product(*product, tuning_, text_);
      } else {
        const auto& routine = std::get<Routine>(node.node);
        const auto* next =
            i + 1 < nodes.size() ? std::get_if<Routine>(&nodes[i + 1].node) : nullptr;
        if (next != nullptr && write_together(routine, *next, text_))
          ++i;
        else
          write_routine(routine, text_);
      }
    }
  }

 private:
  // By a statement of the list: it is declared there.
  bool is_stored_once(const NestList& nodes, BufferId id) const {
    if (!half_name(text_.buffer(id).type.dtype).empty()) return false;
    int times = 0;
    for (const NestNode& node : nodes) {
      std::vector<Access> writes;
      collect_writes(node, writes);
      const auto stores = std::count_if(writes.begin(), writes.end(),
                                        [&](const Access& write) { return write.buffer == id; });
      const auto* put = std::get_if<Store>(&node.node);
      if (stores > 0 && (put == nullptr || put->update)) return false;
      times += static_cast<int>(stores);
    }
    return times == 1;
  }

  void loop(const NestLoop& loop, std::vector<std::string> loops) {
    if (is_argument_search(loop)) return argument_search(loop, loops);
    if (write_copy(loop, text_)) return;
    whole_loop(loop, std::move(loops));
  }

  // One reduction to a place, over one loop. What goes on from a part of it may have found that
  // part's best already, and it is the first place that counts.
  static bool is_argument_search(const NestLoop& loop) {
    if (loop.body.size() != 1 || !(loop.first == IntExpr())) return false;
    const auto* step = std::get_if<Accumulate>(&loop.body.front().node);
    return step != nullptr && is_argument(step->op) &&
           step->position == IntExpr::symbol(loop.variable);
  }

  // The best value first, which vectors find, then its first place.
  void argument_search(const NestLoop& loop, const std::vector<std::string>& loops) {
    const auto& step = std::get<Accumulate>(loop.body.front().node);
    const ReduceOp best = step.op == ReduceOp::kArgMax ? ReduceOp::kMax : ReduceOp::kMin;
    NestLoop extreme = loop;
    auto& found = std::get<Accumulate>(extreme.body.front().node);
    found.op = best;
    found.name = step.name + "_best";
    whole_loop(extreme, loops);
    const std::string& r = loop.variable;
    const std::string extent = text_.index_text(loop.extent);
    const auto is_it = [&] {
      ScalarText scope = text_.scope();
      const std::string v = text_.new_name("v"), value = text_.print(scope, step.value);
      text_.format("const {} {} = {};", cpp_value_type(step.value->dtype), v, value);
      return fmt::format("{0} == {1}_best || {0} != {0}", v, step.name);
    };
    text_.open(
        fmt::format("for (int64_t {0}_block = 0; {0}_block < {1}; {0}_block += 64)", r, extent));
    text_.format("const int64_t {0}_end = std::min<int64_t>({1}, {0}_block + 64);", r, extent);
    text_.line("int kw_hit = 0;");
    text_.directive("#pragma omp simd reduction(|:kw_hit)");
    text_.open_loop(r, r + "_block", r + "_end");
    text_.line(fmt::format("kw_hit |= ({}) ? 1 : 0;", is_it()));
    text_.close();
    text_.line("if (kw_hit == 0) continue;");
    text_.open_loop(r, r + "_block", r + "_end");
    text_.line(fmt::format("if (!({})) continue;", is_it()));
    text_.format("{} = {};", step.name, r);
    text_.line("break;");
    text_.close();
    text_.line("break;");
    text_.close();
  }

  void whole_loop(const NestLoop& loop, std::vector<std::string> loops) {
    if (!is_long_reduction(loop)) return plain_loop(loop, std::move(loops));
    // Each accumulator as lanes, of which several vectors are added to side by side; where loads
    // are placed by data, which vectors are slow at, a few scalars, whose sums are long.
    constexpr std::int64_t kScalars = 8;
    const bool in_vectors = !is_placed_by_data(loop);
    const std::int64_t count = in_vectors ? lanes_ : kScalars;
    const char* const parts = in_vectors ? "lanes" : "parts";
    if (in_vectors) text_.choices.insert("lanes");
    const std::string& r = loop.variable;
    const std::string extent = text_.index_text(loop.extent), block = r + "_block",
                      lane = r + "_lane";
    text_.open("");
    NestLoop lanes{lane, count, {}};
    std::vector<std::string> combining;
    for (const NestNode& node : loop.body) {
      NestNode moved = node;
      if (auto* step = std::get_if<Accumulate>(&moved.node)) {
        const DType dtype = step->value->dtype;
        const bool in_double =
            !in_vectors && step->op == ReduceOp::kSum && dtype == DType::kFloat32;
        const std::string_view type = cpp_value_type(in_double ? DType::kFloat64 : dtype);
        const std::string array = fmt::format("{}_{}", step->name, parts);
        text_.format("{} {}[{}];", type, array, count);
        text_.format("std::fill_n({}, {}, {}({}));", array, count, type,
                     identity_text(step->op, dtype));
        const std::string all = step->name + "_all";
        combining.push_back(
            fmt::format("const {0} {1} = kw_combine<{2}>({3}, []({0} a, {0} b) {{ return {4}; }});",
                        type, all, count, array, text_.combine(step->op, dtype, "a", "b")));
        const bool is_narrowed = in_double && !text_.is_wide(step->name);
        combining.push_back(fmt::format(
            "{} = {};", step->name,
            text_.combine(step->op, dtype, step->name,
                          is_narrowed ? fmt::format("static_cast<float>({})", all) : all)));
        step->name = fmt::format("{}[{}]", array, lane);
      }
      substitute(moved, {{r, IntExpr::symbol(block) + IntExpr::symbol(lane)}});
      lanes.body.push_back(std::move(moved));
    }
    text_.functions.insert("kw_combine");
    text_.ranges.loop(block, loop.extent);
    text_.format("int64_t {} = {};", block, text_.index_text(loop.first));
    text_.open(fmt::format("for (; {0} + {1} <= {2}; {0} += {1})", block, count, extent));
    loops.push_back(r);
    side_by_side(lanes, loops, in_vectors);
    text_.close();
    lanes.extent = loop.extent - IntExpr::symbol(block);
    side_by_side(lanes, loops, in_vectors);
    for (const std::string& each : combining) text_.line(each);
    text_.close();
  }

  static bool is_placed_by_data(const NestLoop& loop) {
    std::vector<Access> reads;
    for (const NestNode& node : loop.body) collect_reads(node, reads);
    return std::any_of(reads.begin(), reads.end(), [](const Access& read) {
      return std::any_of(read.index.begin(), read.index.end(),
                         [](const auto& index) { return !index; });
    });
  }

  void side_by_side(const NestLoop& lanes, const std::vector<std::string>& loops, bool in_vectors) {
    if (in_vectors) text_.directive("#pragma omp simd");
    text_.open_loop(lanes.variable, "0", text_.index_text(lanes.extent));
    text_.ranges.loop(lanes.variable, lanes.extent);
    list(lanes.body, loops);
    text_.close();
  }

  // A loop for vectors with reductions, long at the sizes that were traced.
  bool is_long_reduction(const NestLoop& loop) {
    const auto extent = traced_extent(text_.nest, loop);
    if (!extent || *extent < 2 * lanes_) return false;
    bool reduces = false;
    for (const NestNode& node : loop.body) {
      const auto* step = std::get_if<Accumulate>(&node.node);
      if (step == nullptr) continue;
      if (step->op == ReduceOp::kAny || step->op == ReduceOp::kAll) return false;
      reduces = true;
    }
    return reduces && !simd(loop).empty();
  }

  void plain_loop(const NestLoop& loop, std::vector<std::string> loops) {
    if (const Store* put = streamed_store(loop)) return streamed_loop(loop, *put, std::move(loops));
    if (std::string pragma = simd(loop); !pragma.empty()) {
      keep_invariants(loop);
      text_.directive(pragma);
    }
    text_.open_loop(loop.variable, text_.index_text(loop.first), text_.index_text(loop.extent));
    text_.ranges.loop(loop.variable, loop.extent);
    loops.push_back(loop.variable);
    list(loop.body, loops);
    text_.close();
    text_.forget_kept();
  }

  // Elements that every iteration reads become constants before a loop of vectors whose stores, for
  // all that the compiler knows, change them: of bytes, and of a half's bits.
  void keep_invariants(const NestLoop& loop) {
    bool hides = false;
    std::vector<Access> reads, writes;
    for (const NestNode& node : loop.body) {
      collect_reads(node, reads);
      collect_writes(node, writes);
    }
    std::set<BufferId> written;
    for (const Access& write : writes) {
      written.insert(write.buffer);
      hides |= !text_.is_variable(write.buffer) && may_alias(text_.buffer(write.buffer).type.dtype);
    }
    if (!hides) return;
    for (const Access& read : reads) {
      if (written.contains(read.buffer)) continue;
      const Shape& shape = text_.buffer(read.buffer).type.shape;
      std::vector<IntExpr> index;
      for (std::size_t d = 0; d < read.index.size(); ++d) {
        const std::optional<IntExpr>& at = read.index[d];
        // Inside the buffer, whatever a condition around the read says.
        if (at && !at->contains(loop.variable) && text_.ranges.nonnegative(*at) &&
            text_.ranges.less(*at, shape[d]))
          index.push_back(*at);
      }
      if (index.size() == shape.size()) text_.keep(read.buffer, index);
    }
  }

  static bool may_alias(DType dtype) {
    return !half_name(dtype).empty() || (tensor::size_of(dtype) == 1 && dtype != DType::kBool);
  }

  // The one store of the loop into an output, in single steps, of what it does not read.
  const Store* streamed_store(const NestLoop& loop) {
    if (tuning_.stream == 0 || simd(loop).empty()) return nullptr;
    const Store* out = nullptr;
    std::vector<Access> reads;
    for (const NestNode& node : loop.body) {
      const auto* put = std::get_if<Store>(&node.node);
      if (put == nullptr) return nullptr;
      collect_reads(node, reads);
      if (text_.is_variable(put->buffer)) continue;
      if (out != nullptr || put->update || text_.buffer(put->buffer).kind != Buffer::Kind::kOutput)
        return nullptr;
      if (linear_index(text_.nest, put->buffer, put->index).coefficient(loop.variable) !=
          std::optional(IntExpr(1)))
        return nullptr;
      out = put;
    }
    const bool is_read = out != nullptr && std::any_of(reads.begin(), reads.end(), [&](auto& read) {
                           return read.buffer == out->buffer;
                         });
    return is_read ? nullptr : out;
  }

  // Through a line that stays in the cache into memory that does not come there.
  void streamed_loop(const NestLoop& loop, const Store& put, std::vector<std::string> loops) {
    constexpr int kLine = 512;
    const std::string &r = loop.variable, block = r + "_block", end = r + "_end";
    text_.functions.insert("kw_stream");
    const std::string extent = text_.index_text(loop.extent);
    text_.open(fmt::format("for (int64_t {0} = {1}; {0} < {2}; {0} += {3})", block,
                           text_.index_text(loop.first), extent, kLine));
    text_.format("const int64_t {} = std::min<int64_t>({}, {} + {});", end, extent, block, kLine);
    text_.format("{} kw_line[{}];", element_type(text_.buffer(put.buffer).type.dtype), kLine);
    keep_invariants(loop);
    text_.directive("#pragma omp simd");
    text_.open_loop(r, block, end);
    text_.ranges.loop(r, loop.extent);
    loops.push_back(r);
    streamed_ = {put.buffer, fmt::format("kw_line[{} - {}]", r, block)};
    list(loop.body, loops);
    streamed_.reset();
    text_.close();
    text_.forget_kept();
    text_.ranges.loop(block, loop.extent);
    const IntExpr first =
        linear_index(text_.nest, put.buffer, put.index).substitute({{r, IntExpr::symbol(block)}});
    text_.format("kw_stream({} + {}, kw_line, {} - {});", text_.name(put.buffer),
                 text_.index_text(first), end, block);
    text_.close();
  }

  // Innermost loops only.
  std::string simd(const NestLoop& loop) {
    std::map<std::string, std::set<std::string>> reductions;
    for (const NestNode& node : loop.body) {
      if (const auto* step = std::get_if<Accumulate>(&node.node)) {
        static const std::map<ReduceOp, std::string> signs = {
            {ReduceOp::kSum, "+"},   {ReduceOp::kProd, "*"}, {ReduceOp::kMin, "min"},
            {ReduceOp::kMax, "max"}, {ReduceOp::kAny, "||"}, {ReduceOp::kAll, "&&"}};
        auto sign = signs.find(step->op);
        if (sign == signs.end()) return {};
        const bool own = is_extreme(step->op) && tensor::is_floating(step->value->dtype);
        std::string name = own ? "kw_nan_" + sign->second : sign->second;
        if (own) {
          text_.functions.insert("kw_" + sign->second);
          text_.functions.insert(name + "_" + std::string(cpp_value_type(step->value->dtype)));
        }
        reductions[name].insert(step->name);
      } else if (const auto* put = std::get_if<Store>(&node.node)) {
        if (put->update &&
            std::none_of(put->index.begin(), put->index.end(),
                         [&](const IntExpr& index) { return index.contains(loop.variable); }))
          return {};
        if (!put->accumulator.empty()) return {};
      } else {
        return {};
      }
    }
    // Combining the lanes costs more than so few steps.
    constexpr int kFewSteps = 8;
    const auto steps = traced_extent(text_.nest, loop);
    if (!reductions.empty() && steps && *steps <= kFewSteps) return {};
    std::string out = "#pragma omp simd";
    for (const auto& [sign, names] : reductions)
      out += fmt::format(" reduction({}:{})", sign, fmt::join(names, ", "));
    return out;
  }

  void store(const Store& put, ScalarText& scope) {
    const DType to = text_.buffer(put.buffer).type.dtype;
    const ScalarRef& kept = put.update ? put.value : before_rounding(put.value, to);
    const bool wide = text_.is_wide(put.accumulator);
    std::string value = text_.print(
        scope, kept,
        wide ? fmt::format("static_cast<float>({})", put.accumulator) : put.accumulator);
    const bool is_streamed = streamed_ && streamed_->first == put.buffer;
    std::string place = is_streamed ? streamed_->second : text_.element(put.buffer, put.index);
    if (constants_.contains(put.buffer))
      place = fmt::format("const {} {}", element_type(to), place);
    if (put.update) value = text_.combine(*put.update, to, place, fmt::format("({})", value));
    text_.store(place, value, to, kept->dtype);
  }

  const CppTuning& tuning_;
  const std::int64_t lanes_;  // of a reduction: some vectors, so that none waits for itself
  CppText& text_;
  std::set<BufferId> constants_;  // locals that are declared where they are stored
  std::optional<std::pair<BufferId, std::string>> streamed_;  // the place of its elements
};

}  // namespace

void write_nest(const CppTuning& tuning, CppText& text) {
  LoopWriter(tuning, text).list(text.nest.body, {});
}

}  // namespace kw::writer
