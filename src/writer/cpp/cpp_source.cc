#include "writer/cpp/cpp_source.h"

#include <algorithm>
#include <regex>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "base/check.h"
#include "base/text.h"
#include "writer/cpp/cpp_support.h"
#include "writer/cpp/product_text.h"
#include "writer/cpp/scalar_text.h"
#include "writer/cpp/wide_sums.h"
#include "writer/graph/int_ranges.h"

namespace kw::writer {

using task::DType;

namespace {

IntExpr product(const Shape& shape) {
  IntExpr out = 1;
  for (const IntExpr& size : shape) out = out * size;
  return out;
}

bool is_argument(ReduceOp op) {
  return op == ReduceOp::kArgMin || op == ReduceOp::kArgMax;
}

bool is_extreme(ReduceOp op) {
  return op == ReduceOp::kMin || op == ReduceOp::kMax;
}

// The kernel's own variables are of these forms, or begin with kw_.
bool is_own_name(const std::string& name) {
  static const std::regex own("(a|i|order|p|r|row|t|v)[0-9].*");
  return std::regex_match(name, own);
}

class Writer {
 public:
  Writer(const Nest& nest, std::vector<std::string> names, const CppTuning& tuning)
      : nest_(nest),
        names_(std::move(names)),
        tuning_(tuning),
        lanes_(tuning.lanes),
        wide_sums_(wide_sums(nest)) {}

  void body() {
    allocate();
    list(nest_.body, {});
    if (functions.contains("kw_stream")) line("kw_stream_end();");
  }

  std::vector<std::string> lines;
  std::set<std::string> functions;

 private:
  const Buffer& buffer(BufferId id) const {
    return nest_.program.buffers[static_cast<std::size_t>(id)];
  }
  const std::string& name(BufferId id) const { return names_[static_cast<std::size_t>(id)]; }
  const LocalBuffer* local(BufferId id) const {
    auto found = nest_.locals.find(id);
    return found == nest_.locals.end() ? nullptr : &found->second;
  }

  void line(const std::string& text) { lines.push_back(std::string(indent_ * 2, ' ') + text); }
  template <typename... Args>
  void format(fmt::format_string<Args...> text, Args&&... args) {
    line(fmt::format(text, std::forward<Args>(args)...));
  }
  void add(const std::vector<std::string>& more) {
    for (const std::string& one : more) one.starts_with("#") ? lines.push_back(one) : line(one);
  }

  // Divisions whose dividend may be negative round as IntFunction does.
  std::string index_text(const IntExpr& expr) {
    return expr.cpp([this](const IntExpr& dividend) {
      if (ranges_.nonnegative(dividend)) return true;
      functions.insert({"kw_floor_div", "kw_remainder"});
      return false;
    });
  }

  // Of scratch memory: an element of a half type is kept in it.
  static std::string_view element_type(DType dtype) { return task::cpp_type(dtype); }

  void allocate() {
    std::vector<BufferId> in_memory;
    for (std::size_t i = 0; i < nest_.program.buffers.size(); ++i) {
      const auto id = static_cast<BufferId>(i);
      if (buffer(id).kind != Buffer::Kind::kScratch || !used(id)) continue;
      const LocalBuffer* rest = local(id);
      if (rest == nullptr || !rest->shape.empty()) in_memory.push_back(id);
    }
    if (in_memory.empty()) return;
    line("std::size_t kw_scratch_bytes = 64;");
    for (BufferId id : in_memory) {
      const LocalBuffer* rest = local(id);
      const Shape& shape = rest != nullptr ? rest->shape : buffer(id).type.shape;
      format("const std::size_t {}_at = kw_scratch_bytes;", name(id));
      format("kw_scratch_bytes += (static_cast<std::size_t>({}) * sizeof({}) + 63) / 64 * 64;",
             index_text(product(shape)), element_type(buffer(id).type.dtype));
    }
    line("static std::vector<unsigned char> kw_scratch;  // kept between calls");
    line("// vectors read past an end");
    line(
        "if (kw_scratch.size() < kw_scratch_bytes + 64) kw_scratch.resize(kw_scratch_bytes + 64);");
    line(
        "unsigned char* const kw_aligned = kw_scratch.data() + (64 - "
        "reinterpret_cast<std::uintptr_t>(kw_scratch.data()) % 64) % 64;");
    for (BufferId id : in_memory) {
      format("{0}* const {1} = reinterpret_cast<{0}*>(kw_aligned + {1}_at - 64);",
             element_type(buffer(id).type.dtype), name(id));
    }
  }

  bool used(BufferId id) {
    if (used_.empty()) {
      std::vector<Access> all;
      for (const NestNode& node : nest_.body) {
        collect_reads(node, all);
        collect_writes(node, all);
      }
      for (const Access& access : all) used_.insert(access.buffer);
    }
    return used_.contains(id);
  }

  std::string element(BufferId id, const std::vector<std::string>& index) {
    const Buffer& b = buffer(id);
    if (b.kind == Buffer::Kind::kScalar) return name(id);
    std::vector<std::size_t> dims;
    const LocalBuffer* rest = local(id);
    for (std::size_t d = 0; d < index.size(); ++d) dims.push_back(d);
    if (rest != nullptr) dims = rest->dims;
    if (rest != nullptr && dims.empty()) return name(id);
    std::string linear;
    for (std::size_t d : dims) {
      const std::string& one = index[d];
      if (linear.empty())
        linear = one;
      else
        linear = fmt::format("({}) * ({}) + {}", linear, index_text(b.type.shape[d]), one);
    }
    return fmt::format("{}[{}]", name(id), linear.empty() ? "0" : linear);
  }

  // One linear expression where every index is known: the compiler sees its strides.
  std::string element(BufferId id, const std::vector<IntExpr>& index) {
    const LocalBuffer* rest = local(id);
    const bool scalar = buffer(id).kind == Buffer::Kind::kScalar;
    if (scalar || (rest != nullptr && rest->dims.empty())) return name(id);
    return fmt::format("{}[{}]", name(id), index_text(linear(id, index)));
  }

  IntExpr linear(BufferId id, const std::vector<IntExpr>& index) const {
    const Buffer& b = buffer(id);
    const LocalBuffer* rest = local(id);
    std::vector<std::size_t> dims;
    for (std::size_t d = 0; d < index.size(); ++d) dims.push_back(d);
    if (rest != nullptr) dims = rest->dims;
    IntExpr out;
    for (std::size_t d : dims) out = out * b.type.shape[d] + index[d];
    return out;
  }

  ScalarText scope() {
    return ScalarText(
        [this](BufferId id, const std::vector<std::string>& index) { return element(id, index); },
        [this](BufferId id, const std::vector<IntExpr>& index) { return element(id, index); },
        [this](const IntExpr& expr) { return index_text(expr); }, constants_);
  }
  std::string print(ScalarText& scope, const ScalarRef& value, const std::string& reduced = {}) {
    std::vector<std::string> before;
    std::string out = scope.print(value, before, reduced);
    add(before);
    functions.insert(scope.functions().begin(), scope.functions().end());
    return out;
  }

  void list(const NestList& nodes, const std::vector<std::string>& loops) {
    for (std::size_t i = 0; i < nest_.program.buffers.size(); ++i) {
      const auto id = static_cast<BufferId>(i);
      const LocalBuffer* rest = local(id);
      if (rest == nullptr || !rest->shape.empty() || rest->loops != loops) continue;
      format("{} {};", element_type(buffer(id).type.dtype), name(id));
    }
    for (const NestNode& node : nodes) {
      ScalarText text = scope();
      if (const auto* one = std::get_if<NestLoop>(&node.node)) {
        loop(*one, loops);
      } else if (const auto* declared = std::get_if<Declare>(&node.node)) {
        declare(*declared);
      } else if (const auto* step = std::get_if<Accumulate>(&node.node)) {
        accumulate(*step, text);
      } else if (const auto* put = std::get_if<Store>(&node.node)) {
        store(*put, text);
      } else if (const auto* product = std::get_if<Product>(&node.node)) {
        add(product_text(*product, product_scope(), tuning_, functions));
      } else {
        routine(std::get<Routine>(node.node));
      }
    }
  }

  void loop(const NestLoop& loop, std::vector<std::string> loops) {
    if (is_argument_search(loop)) return argument_search(loop, loops);
    whole_loop(loop, std::move(loops));
  }

  // One reduction to a place, over one loop.
  static bool is_argument_search(const NestLoop& loop) {
    if (loop.body.size() != 1) return false;
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
    const std::string extent = index_text(loop.extent);
    const auto is_it = [&](ScalarText text) {
      const std::string v = fmt::format("v{}", constants_++), value = print(text, step.value);
      format("const {} {} = {};", cpp_value_type(step.value->dtype), v, value);
      return fmt::format("{0} == {1}_best || {0} != {0}", v, step.name);
    };
    format("for (int64_t {0}_block = 0; {0}_block < {1}; {0}_block += 64) {{", r, extent);
    ++indent_;
    format("const int64_t {0}_end = std::min<int64_t>({1}, {0}_block + 64);", r, extent);
    line("int kw_hit = 0;");
    lines.emplace_back("#pragma omp simd reduction(|:kw_hit)");
    format("for (int64_t {0} = {0}_block; {0} < {0}_end; ++{0}) {{", r);
    ++indent_;
    line(fmt::format("kw_hit |= ({}) ? 1 : 0;", is_it(scope())));
    --indent_;
    line("}");
    line("if (kw_hit == 0) continue;");
    format("for (int64_t {0} = {0}_block; {0} < {0}_end; ++{0}) {{", r);
    ++indent_;
    line(fmt::format("if (!({})) continue;", is_it(scope())));
    format("{} = {};", step.name, r);
    line("break;");
    --indent_;
    line("}");
    line("break;");
    --indent_;
    line("}");
  }

  void whole_loop(const NestLoop& loop, std::vector<std::string> loops) {
    if (!is_long_reduction(loop)) return plain_loop(loop, std::move(loops));
    // Each accumulator as lanes, of which several vectors are added to side by side.
    const std::string& r = loop.variable;
    const std::string extent = index_text(loop.extent), block = r + "_block", lane = r + "_lane";
    line("{");
    ++indent_;
    NestLoop lanes{lane, lanes_, {}};
    std::vector<std::string> combining;
    for (const NestNode& node : loop.body) {
      NestNode moved = node;
      if (auto* step = std::get_if<Accumulate>(&moved.node)) {
        const DType dtype = step->value->dtype;
        const std::string_view type = cpp_value_type(dtype);
        format("{} {}_lanes[{}];", type, step->name, lanes_);
        format("std::fill_n({}_lanes, {}, {}({}));", step->name, lanes_, type,
               identity_text(step->op, dtype));
        const std::string all = step->name + "_all";
        combining.push_back(fmt::format(
            "const {0} {1} = kw_combine<{2}>({3}_lanes, []({0} a, {0} b) {{ return {4}; }});", type,
            all, lanes_, step->name, combine(step->op, dtype, "a", "b")));
        combining.push_back(
            fmt::format("{} = {};", step->name, combine(step->op, dtype, step->name, all)));
        step->name += fmt::format("_lanes[{}]", lane);
      }
      substitute(moved, {{r, IntExpr::symbol(block) + IntExpr::symbol(lane)}});
      lanes.body.push_back(std::move(moved));
    }
    functions.insert("kw_combine");
    ranges_.loop(block, loop.extent);
    format("int64_t {} = 0;", block);
    format("for (; {0} + {1} <= {2}; {0} += {1}) {{", block, lanes_, extent);
    ++indent_;
    loops.push_back(r);
    side_by_side(lanes, loops);
    --indent_;
    line("}");
    lanes.extent = loop.extent - IntExpr::symbol(block);
    side_by_side(lanes, loops);
    for (const std::string& each : combining) line(each);
    --indent_;
    line("}");
  }

  void side_by_side(const NestLoop& lanes, const std::vector<std::string>& loops) {
    lines.emplace_back("#pragma omp simd");
    format("for (int64_t {0} = 0; {0} < {1}; ++{0}) {{", lanes.variable, index_text(lanes.extent));
    ranges_.loop(lanes.variable, lanes.extent);
    ++indent_;
    list(lanes.body, loops);
    --indent_;
    line("}");
  }

  // A loop for vectors with reductions, long at the sizes that were traced.
  bool is_long_reduction(const NestLoop& loop) {
    const auto extent = loop.extent.evaluate(nest_.program.sizes);
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
    if (std::string pragma = simd(loop); !pragma.empty()) lines.push_back(pragma);
    format("for (int64_t {0} = {1}; {0} < {2}; ++{0}) {{", loop.variable, index_text(loop.first),
           index_text(loop.extent));
    ranges_.loop(loop.variable, loop.extent);
    ++indent_;
    loops.push_back(loop.variable);
    list(loop.body, loops);
    --indent_;
    line("}");
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
      if (const LocalBuffer* rest = local(put->buffer); rest != nullptr && rest->dims.empty())
        continue;
      if (out != nullptr || put->update || buffer(put->buffer).kind != Buffer::Kind::kOutput)
        return nullptr;
      if (linear(put->buffer, put->index).coefficient(loop.variable) != std::optional(IntExpr(1)))
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
    functions.insert("kw_stream");
    const std::string extent = index_text(loop.extent);
    format("for (int64_t {0} = {1}; {0} < {2}; {0} += {3}) {{", block, index_text(loop.first),
           extent, kLine);
    ++indent_;
    format("const int64_t {} = std::min<int64_t>({}, {} + {});", end, extent, block, kLine);
    format("{} kw_line[{}];", element_type(buffer(put.buffer).type.dtype), kLine);
    lines.emplace_back("#pragma omp simd");
    format("for (int64_t {0} = {1}; {0} < {2}; ++{0}) {{", r, block, end);
    ranges_.loop(r, loop.extent);
    ++indent_;
    loops.push_back(r);
    streamed_ = {put.buffer, fmt::format("kw_line[{} - {}]", r, block)};
    list(loop.body, loops);
    streamed_.reset();
    --indent_;
    line("}");
    ranges_.loop(block, loop.extent);
    const IntExpr first = linear(put.buffer, put.index).substitute({{r, IntExpr::symbol(block)}});
    format("kw_stream({} + {}, kw_line, {} - {});", name(put.buffer), index_text(first), end,
           block);
    --indent_;
    line("}");
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
        const bool own = is_extreme(step->op) && task::is_floating(step->value->dtype);
        std::string name = own ? "kw_nan_" + sign->second : sign->second;
        if (own) {
          functions.insert("kw_" + sign->second);
          functions.insert(name + "_" + std::string(cpp_value_type(step->value->dtype)));
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
    std::string out = "#pragma omp simd";
    for (const auto& [sign, names] : reductions)
      out += fmt::format(" reduction({}:{})", sign, fmt::join(names, ", "));
    return out;
  }

  ProductScope product_scope() {
    return {
        [this](BufferId id) -> const Buffer& { return buffer(id); },
        [this](BufferId id) {
          const LocalBuffer* rest = local(id);
          const bool scalar = rest != nullptr && rest->dims.empty();
          return scalar ? fmt::format("(&{})", name(id)) : name(id);
        },
        [this](BufferId id, const std::vector<IntExpr>& index) { return linear(id, index); },
        [this](BufferId id, const std::vector<std::string>& index) { return element(id, index); },
        [this](const IntExpr& expr) { return index_text(expr); },
        ranges_,
        constants_};
  }

  void declare(const Declare& one) {
    const std::string_view type =
        wide_sums_.contains(one.name) ? "double" : cpp_value_type(one.dtype);
    if (!is_argument(one.op)) {
      format("{} {} = {};", type, one.name, identity_text(one.op, one.dtype));
      return;
    }
    const ReduceOp best = one.op == ReduceOp::kArgMax ? ReduceOp::kMax : ReduceOp::kMin;
    format("{} {}_best = {};", type, one.name, identity_text(best, one.dtype));
    format("int64_t {} = 0;", one.name);
  }

  void accumulate(const Accumulate& step, ScalarText& text) {
    std::string value = print(text, step.value);
    const DType dtype = step.value->dtype;
    if (is_argument(step.op)) {
      const std::string v = fmt::format("v{}", constants_++);
      format("const {} {} = {};", cpp_value_type(dtype), v, value);
      const char* better = step.op == ReduceOp::kArgMax ? ">" : "<";
      std::string condition = fmt::format("{} {} {}_best", v, better, step.name);
      if (task::is_floating(dtype))
        condition += fmt::format(" || ({0} != {0} && {1}_best == {1}_best)", v, step.name);
      format("if ({}) {{", condition);
      format("  {}_best = {};", step.name, v);
      format("  {} = {};", step.name, index_text(step.position));
      line("}");
      return;
    }
    switch (step.op) {
      case ReduceOp::kSum:
        return format("{} += {};", step.name, value);
      case ReduceOp::kProd:
        return format("{} *= {};", step.name, value);
      case ReduceOp::kAny:
        return format("{0} = {0} || {1};", step.name, value);
      case ReduceOp::kAll:
        return format("{0} = {0} && {1};", step.name, value);
      default: {
        const std::string v = fmt::format("v{}", constants_++);
        format("const {} {} = {};", cpp_value_type(dtype), v, value);
        format("{} = {};", step.name, combine(step.op, dtype, step.name, v));
      }
    }
  }

  std::string combine(ReduceOp op, DType dtype, const std::string& a, const std::string& b) {
    if (is_extreme(op) && task::is_floating(dtype))
      functions.insert(op == ReduceOp::kMin ? "kw_min" : "kw_max");
    return combined(op, dtype, a, b);
  }

  void store(const Store& put, ScalarText& text) {
    const DType to = buffer(put.buffer).type.dtype;
    const ScalarRef& kept = put.update ? put.value : before_rounding(put.value, to);
    const bool wide = wide_sums_.contains(put.accumulator);
    std::string value =
        print(text, kept,
              wide ? fmt::format("static_cast<float>({})", put.accumulator) : put.accumulator);
    const bool is_streamed = streamed_ && streamed_->first == put.buffer;
    const std::string place = is_streamed ? streamed_->second : element(put.buffer, put.index);
    if (put.update) value = combine(*put.update, to, place, fmt::format("({})", value));
    line(store_text(place, value, to, kept->dtype, functions));
  }

  // ---- routines ----
  void routine(const Routine& one) {
    if (const auto* scan = std::get_if<Scan>(&one.step)) return scan_routine(*scan);
    if (const auto* sort = std::get_if<Sort>(&one.step)) return sort_routine(*sort);
    scatter_routine(std::get<Scatter>(one.step));
  }

  void scan_routine(const Scan& scan) {
    const Stage& stage = scan.stage;
    std::vector<IntExpr> index;
    for (const Loop& loop : stage.loops) index.push_back(IntExpr::symbol(loop.variable));
    for (std::size_t d = 0; d < stage.loops.size(); ++d) {
      if (d != scan.axis) open(stage.loops[d]);
    }
    const std::string accumulator = fmt::format("a{}", stage.out);
    declare({accumulator, stage.op, is_argument(stage.op) ? stage.body->dtype : stage.accumulator});
    const Loop& axis = stage.loops[scan.axis];
    if (scan.reversed) {
      open({axis.variable + "_back", axis.extent});
      format("const int64_t {0} = {1} - 1 - {0}_back;", axis.variable, index_text(axis.extent));
      ranges_.loop(axis.variable, axis.extent);
    } else {
      open(axis);
    }
    ScalarText text = scope();
    if (is_argument(stage.op)) {
      // The last of equal ones.
      const std::string value = print(text, stage.body), v = fmt::format("v{}", constants_++);
      format("const {} {} = {};", cpp_value_type(stage.body->dtype), v, value);
      format("if ({0} {1} {2}_best || {0} != {0}) {{", v,
             stage.op == ReduceOp::kArgMax ? ">=" : "<=", accumulator);
      format("  {}_best = {};", accumulator, v);
      format("  {} = {};", accumulator, axis.variable);
      line("}");
    } else {
      if (stage.op == ReduceOp::kLogAddExp) functions.insert("kw_log_add_exp");
      accumulate({accumulator, stage.op, stage.body, {}}, text);
    }
    const DType to = buffer(stage.out).type.dtype;
    const DType from = stage.epilogue ? stage.epilogue->dtype : stage.accumulator;
    std::string value = stage.epilogue ? print(text, stage.epilogue, accumulator) : accumulator;
    line(store_text(element(stage.out, index), value, to, from, functions));
    for (std::size_t d = 0; d < stage.loops.size(); ++d) close();
  }

  void sort_routine(const Sort& sort) {
    const Shape& shape = buffer(sort.in).type.shape;
    const IntExpr length = shape.empty() ? IntExpr(1) : shape.back();
    const IntExpr kept = sort.first ? *sort.first : length;
    Shape rows = shape;
    if (!rows.empty()) rows.pop_back();
    const std::string order = fmt::format("order{}", sort.indices),
                      row = fmt::format("row{}", sort.indices);
    const DType dtype = buffer(sort.in).type.dtype;
    const bool narrow = task::size_of(dtype) <= 4;
    functions.insert(narrow ? "kw_sort_keys" : "kw_sort_values");
    format("static std::vector<{}> {};  // kept between calls", narrow ? "uint64_t" : "int64_t",
           order);
    open({row, product(rows)});
    format("const auto* const kw_values = {} + {} * ({});", name(sort.in), row, index_text(length));
    format("{}<{}>(kw_values, {}, {}, {}, {});", narrow ? "kw_sort_keys" : "kw_sort_values",
           cpp_value_type(dtype), index_text(length), index_text(kept), sort.descending, order);
    format("for (int64_t kw_i = 0; kw_i < {}; ++kw_i) {{", index_text(kept));
    format("  const auto kw_place = static_cast<int64_t>({}[static_cast<std::size_t>(kw_i)]{});",
           order, narrow ? " & 0xffffffffu" : "");
    if (used(sort.values))
      format("  {}[{} * ({}) + kw_i] = kw_values[kw_place];", name(sort.values), row,
             index_text(kept));
    if (used(sort.indices))
      format("  {}[{} * ({}) + kw_i] = kw_place;", name(sort.indices), row, index_text(kept));
    line("}");
    close();
  }

  void scatter_routine(const Scatter& scatter) {
    for (const Loop& loop : scatter.loops) open(loop);
    ScalarText text = scope();
    std::vector<std::string> index;
    for (const ScalarRef& one : scatter.index)
      index.push_back(fmt::format("({})", print(text, one)));
    const DType to = buffer(scatter.out).type.dtype;
    std::string value = print(text, scatter.value);
    const std::string place = element(scatter.out, index);
    switch (scatter.op) {
      case ScatterOp::kAssign:
        break;
      case ScatterOp::kAdd:
        value = combine(ReduceOp::kSum, to, place, value);
        break;
      case ScatterOp::kMultiply:
        value = combine(ReduceOp::kProd, to, place, value);
        break;
      case ScatterOp::kMin:
        value = combine(ReduceOp::kMin, to, place, fmt::format("({})", value));
        break;
      case ScatterOp::kMax:
        value = combine(ReduceOp::kMax, to, place, fmt::format("({})", value));
        break;
    }
    format("{} = static_cast<{}>({});", place, element_type(to), value);
    for (std::size_t i = 0; i < scatter.loops.size(); ++i) close();
  }

  void open(const Loop& loop) {
    format("for (int64_t {0} = 0; {0} < {1}; ++{0}) {{", loop.variable, index_text(loop.extent));
    ranges_.loop(loop.variable, loop.extent);
    ++indent_;
  }
  void close() {
    --indent_;
    line("}");
  }

  const Nest& nest_;
  std::vector<std::string> names_;  // of buffers
  const CppTuning tuning_;
  const std::int64_t lanes_;  // of a reduction: some vectors, so that none waits for itself
  std::set<BufferId> used_;
  std::optional<std::pair<BufferId, std::string>> streamed_;  // the place of its elements
  std::set<std::string> wide_sums_;                           // accumulators
  IntRanges ranges_;                                          // of the loops printed so far
  std::size_t indent_ = 1;
  int constants_ = 0;
};

}  // namespace

Result<std::string> cpp_source(const Nest& nest, const task::Signature& signature,
                               const CppTuning& tuning) {
  std::vector<task::CppParameter> parameters = task::cpp_parameters(signature);
  const Program& program = nest.program;
  for (task::CppParameter& parameter : parameters) {
    if (!is_own_name(parameter.name)) continue;
    // A number's name is part of expressions.
    if (!parameter.type.ends_with('*'))
      return fail(ErrorCode::kUnsupported,
                  "the kernel has variables of its own with names such as {}", parameter.name);
    parameter.name.insert(0, "kw_");
  }
  std::vector<std::string> names(program.buffers.size());
  std::size_t inputs = 0;
  for (std::size_t i = 0; i < program.buffers.size(); ++i) {
    const Buffer& buffer = program.buffers[i];
    const bool given = buffer.kind == Buffer::Kind::kInput || buffer.kind == Buffer::Kind::kScalar;
    if (given) ++inputs;
    names[i] = given && i < parameters.size() ? parameters[i].name : fmt::format("t{}", i);
  }
  const std::size_t wanted = signature.inputs.size() + signature.statics.size();
  if (inputs != wanted || program.outputs.size() != signature.outputs.size())
    return fail(ErrorCode::kInvalidArgument,
                "the graph has {} inputs and {} outputs, the problem {} and {}", inputs,
                program.outputs.size(), wanted, signature.outputs.size());
  for (std::size_t i = 0; i < program.outputs.size(); ++i)
    names[static_cast<std::size_t>(program.outputs[i])] = parameters[wanted + i].name;

  Writer writer(nest, names, tuning);
  writer.body();
  std::vector<std::string> declared;
  for (const task::CppParameter& parameter : parameters)
    declared.push_back(fmt::format("[[maybe_unused]] {} {}", parameter.type, parameter.name));
  // Without it, no operation on a float is moved out of what a condition guards.
  std::string out = "// flags: -fno-trapping-math\n";
  out +=
      "#include <algorithm>\n#include <bit>\n#include <cmath>\n#include <cstdint>\n#include "
      "<cstring>\n#include "
      "<limits>\n#include <type_traits>\n#include <utility>\n#include <vector>\n\n";
  if (writer.functions.contains("kw_stream"))
    out.insert(out.size() - 1, "#if defined(__SSE2__)\n#include <immintrin.h>\n#endif\n");
  out += support_text(writer.functions, tuning);
  out += fmt::format("\nextern \"C\" void run({}) {{\n", fmt::join(declared, ", "));
  for (const std::string& line : writer.lines) out += line + "\n";
  return out + "}\n";
}

}  // namespace kw::writer
