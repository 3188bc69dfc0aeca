#include "writer/cpp/product_text.h"

#include <algorithm>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "base/check.h"
#include "writer/loops/scalar.h"

namespace kw::writer {
namespace {

using task::DType;

IntExpr extent_of(const std::vector<Loop>& loops) {
  IntExpr out = 1;
  for (const Loop& loop : loops) out = out * loop.extent;
  return out;
}

bool depends(const IntExpr& expr, const std::vector<Loop>& loops) {
  return std::any_of(loops.begin(), loops.end(),
                     [&](const Loop& loop) { return expr.contains(loop.variable); });
}

// The expression over one variable that counts through all of the loops; nullopt: it is not linear
// in that.
std::optional<IntExpr> flattened(const IntExpr& linear, const std::vector<Loop>& loops,
                                 const std::string& flat) {
  if (loops.empty()) return linear;
  IntExpr step, rest = linear;
  for (std::size_t i = loops.size(); i-- > 0;) {
    const auto here = linear.coefficient(loops[i].variable);
    if (!here || depends(*here, loops)) return std::nullopt;
    if (i + 1 == loops.size())
      step = *here;
    else if (!(*here ==
               step * extent_of({loops.begin() + static_cast<std::ptrdiff_t>(i) + 1, loops.end()})))
      return std::nullopt;
    rest = rest.substitute({{loops[i].variable, IntExpr()}});
  }
  return rest + step * IntExpr::symbol(flat);
}

// Loops over which one counter runs.
struct Side {
  std::vector<Loop> loops;
  std::string counter;
  bool flat = false;  // every element is linear in the counter
};

class Printer {
 public:
  Printer(const Product& product, const ProductScope& scope, const CppTuning& tuning,
          std::set<std::string>& functions)
      : product_(product),
        scope_(scope),
        tuning_(tuning),
        functions_(functions),
        type_(cpp_value_type(product.dtype)),
        prefix_(fmt::format("p{}", scope.names++)) {}

  std::vector<std::string> print() {
    functions_.insert("kw_product");
    for (const auto* loops : {&product_.rows, &product_.columns, &product_.depth}) {
      for (const Loop& loop : *loops) scope_.ranges.loop(loop.variable, loop.extent);
    }
    line("{");
    ++indent_;
    operand("left", product_.left, product_.rows);
    if (indirect()) {
      store();
      const Loop& run = product_.columns.back();
      const std::vector<Loop> runs(product_.columns.begin(), product_.columns.end() - 1);
      format(
          "kw_indirect_product<{}, {}>({}, {}, {}, {}, {}_left, {}, {}_offsets.data(), {}_start, "
          "{}_store);",
          type_, tuning_.tile_vectors, scope_.index(extent_of(product_.rows)),
          scope_.index(extent_of(runs)), scope_.index(run.extent),
          scope_.index(extent_of(product_.depth)), prefix_,
          scope_.name(std::get<Scalar::Load>(product_.right->node).buffer), prefix_, prefix_,
          prefix_);
      --indent_;
      line("}");
      return std::move(lines_);
    }
    operand("right", product_.right, product_.columns);
    store();
    const auto columns = extent_of(product_.columns).constant();
    const int vectors = columns && *columns <= 16 ? 1 : tuning_.tile_vectors;
    format("kw_product<{}, {}, {}, {}>({}, {}, {}, {}_left, {}_right, {}_store);", type_, vectors,
           tuning_.depth_block, tuning_.column_block, scope_.index(extent_of(product_.rows)),
           scope_.index(extent_of(product_.columns)), scope_.index(extent_of(product_.depth)),
           prefix_, prefix_, prefix_);
    --indent_;
    line("}");
    return std::move(lines_);
  }

 private:
  void line(const std::string& text) { lines_.push_back(std::string(indent_ * 2, ' ') + text); }
  template <typename... Args>
  void format(fmt::format_string<Args...> text, Args&&... args) {
    line(fmt::format(text, std::forward<Args>(args)...));
  }

  // Whether loads (and `more`) are linear in the side's counter and nothing else depends on it.
  bool is_flat(const ScalarRef& value, const Side& side, const std::vector<IntExpr>& more) const {
    if (side.loops.size() <= 1) return true;
    bool out = std::all_of(more.begin(), more.end(), [&](const IntExpr& linear) {
      return flattened(linear, side.loops, side.counter).has_value();
    });
    std::set<const Scalar*> in_loads;
    visit(value, [&](const Scalar& each) {
      const auto* load = std::get_if<Scalar::Load>(&each.node);
      if (load == nullptr) return;
      const std::vector<IntExpr> index = known_indices(*load);
      if (index.size() != load->index.size()) {
        for (const IntExpr& one : index) out = out && !depends(one, side.loops);
        return;
      }
      if (scope_.buffer(load->buffer).kind == Buffer::Kind::kScalar) return;
      const auto linear = flattened(scope_.linear(load->buffer, index), side.loops, side.counter);
      out = out && linear.has_value();
      for (const ScalarRef& one : load->index) in_loads.insert(one.get());
    });
    visit(value, [&](const Scalar& each) {
      const auto* index = std::get_if<Scalar::Index>(&each.node);
      if (index != nullptr && !in_loads.contains(&each))
        out = out && !depends(index->expr, side.loops);
    });
    return out;
  }

  IntExpr over_counters(IntExpr linear, const std::vector<const Side*>& sides) const {
    for (const Side* side : sides) {
      if (!side->flat || side->loops.empty()) continue;
      if (side->loops.size() == 1) {
        linear = linear.substitute({{side->loops[0].variable, IntExpr::symbol(side->counter)}});
      } else if (const auto flat = flattened(linear, side->loops, side->counter)) {
        linear = *flat;
      }
    }
    return linear;
  }

  ScalarText text_of(const std::vector<const Side*>& sides) {
    return ScalarText(
        scope_.load,
        [this, sides](BufferId id, const std::vector<IntExpr>& index) {
          if (scope_.buffer(id).kind == Buffer::Kind::kScalar) return scope_.name(id);
          const IntExpr linear = over_counters(scope_.linear(id, index), sides);
          return fmt::format("{}[{}]", scope_.name(id), scope_.index(linear));
        },
        [this, sides](const IntExpr& index) {
          IntExpr out = index;
          for (const Side* side : sides) {
            if (side->flat && side->loops.size() == 1)
              out = out.substitute({{side->loops[0].variable, IntExpr::symbol(side->counter)}});
          }
          return scope_.index(out);
        },
        scope_.names);
  }

  std::string value_text(ScalarText& text, const ScalarRef& value,
                         const std::string& reduced = {}) {
    std::vector<std::string> before;
    std::string out = text.print(value, before, reduced);
    for (const std::string& each : before) line(each);
    functions_.insert(text.functions().begin(), text.functions().end());
    return out;
  }

  Side side_of(const std::vector<Loop>& loops, const char* what) const {
    return {loops, prefix_ + what, false};
  }

  // An operand that lies in memory as it is read is passed by its strides, another by a function
  // that fills panels.
  void operand(const char* which, const ScalarRef& value, const std::vector<Loop>& outer_loops) {
    Side outer = side_of(outer_loops, "n"), depth = side_of(product_.depth, "k");
    outer.flat = is_flat(value, outer, {});
    depth.flat = is_flat(value, depth, {});
    scope_.ranges.loop(outer.counter, extent_of(outer.loops));
    scope_.ranges.loop(depth.counter, extent_of(depth.loops));
    if (strided(which, value, outer, depth)) return;
    const std::string fill = fmt::format("{}_fill_{}", prefix_, which);
    format(
        "const auto {} = [&]({}* kw_to, int64_t kw_width, int64_t kw_first, int64_t kw_count, "
        "int64_t kw_start, int64_t kw_steps) {{",
        fill, type_);
    ++indent_;
    open_depth(depth);
    format("{}* const kw_at = kw_to + kw_step * kw_width;", type_);
    columns_loop(outer, "kw_first", "kw_count", [&](const std::string& place) {
      ScalarText text = text_of({&outer, &depth});
      const std::string one = value_text(text, value);
      format("kw_at[{}] = {};", place, one);
    });
    line("for (int64_t kw_rest = kw_count; kw_rest < kw_width; ++kw_rest) kw_at[kw_rest] = 0;");
    close_depth(depth);
    --indent_;
    line("};");
    format("const kw_gathered<{}, decltype({})> {}_{}{{{}}};", type_, fill, prefix_, which, fill);
  }

  // The right operand where neighbouring columns are neighbours in memory: how far each step of the
  // sum is from the first one, and where each run of the innermost loop begins.
  bool indirect() {
    const auto* load = std::get_if<Scalar::Load>(&product_.right->node);
    if (load == nullptr || product_.columns.empty()) return false;
    const Buffer& from = scope_.buffer(load->buffer);
    if (from.type.dtype != product_.dtype) return false;
    if (from.kind != Buffer::Kind::kScratch && from.kind != Buffer::Kind::kInput) return false;
    const std::vector<IntExpr> index = known_indices(*load);
    if (index.size() != load->index.size()) return false;
    const IntExpr linear = scope_.linear(load->buffer, index);
    const Side depth = side_of(product_.depth, "k");
    if (flattened(linear, depth.loops, depth.counter)) return false;
    IntExpr start = linear, offset = linear;
    for (const Loop& loop : product_.depth) start = start.substitute({{loop.variable, IntExpr()}});
    offset = offset - start;
    if (depends(offset, product_.columns)) return false;
    const Loop& run = product_.columns.back();
    if (!(start.coefficient(run.variable) == std::optional(IntExpr(1)))) return false;
    start = start.substitute({{run.variable, IntExpr()}});
    format("static std::vector<int64_t> {}_offsets;", prefix_);
    format("{}_offsets.clear();", prefix_);
    for (const Loop& loop : product_.depth) {
      format("for (int64_t {0} = 0; {0} < {1}; ++{0}) {{", loop.variable,
             scope_.index(loop.extent));
      ++indent_;
    }
    format("{}_offsets.push_back({});", prefix_, scope_.index(offset));
    for (std::size_t i = 0; i < product_.depth.size(); ++i) {
      --indent_;
      line("}");
    }
    format("const auto {}_start = [&]([[maybe_unused]] int64_t kw_run) {{", prefix_);
    ++indent_;
    declare_variables({product_.columns.begin(), product_.columns.end() - 1}, "kw_run", true);
    format("return {};", scope_.index(start));
    --indent_;
    line("};");
    return true;
  }

  bool strided(const char* which, const ScalarRef& value, const Side& outer, const Side& depth) {
    const auto* load = std::get_if<Scalar::Load>(&value->node);
    if (load == nullptr || !outer.flat || !depth.flat) return false;
    if (scope_.buffer(load->buffer).type.dtype != product_.dtype) return false;
    const std::vector<IntExpr> index = known_indices(*load);
    if (index.size() != load->index.size()) return false;
    IntExpr linear = scope_.linear(load->buffer, index);
    IntExpr steps[2];
    const Side* sides[] = {&outer, &depth};
    for (int i = 0; i < 2; ++i) {
      const auto flat = flattened(linear, sides[i]->loops, sides[i]->counter);
      if (!flat) return false;
      const auto step = flat->coefficient(sides[i]->counter);
      if (!step) return false;
      steps[i] = *step;
      linear = flat->substitute({{sides[i]->counter, IntExpr()}});
    }
    format("const kw_strided<{}> {}_{}{{{} + ({}), {}, {}}};", type_, prefix_, which,
           scope_.name(load->buffer), scope_.index(linear), scope_.index(steps[0]),
           scope_.index(steps[1]));
    return true;
  }

  void open_depth(const Side& depth) {
    if (depth.flat) {
      line("for (int64_t kw_step = 0; kw_step < kw_steps; ++kw_step) {");
      ++indent_;
      format("const int64_t {} = kw_start + kw_step;", depth.counter);
      return;
    }
    declare_variables(depth.loops, "kw_start", false);
    line("for (int64_t kw_step = 0; kw_step < kw_steps; ++kw_step) {");
    ++indent_;
  }
  void close_depth(const Side& depth) {
    if (!depth.flat) advance(depth.loops);
    --indent_;
    line("}");
  }

  // The loops' variables at a place of their counter.
  void declare_variables(const std::vector<Loop>& loops, const std::string& place, bool constant) {
    IntExpr behind = 1;
    std::vector<std::string> out;
    for (std::size_t i = loops.size(); i-- > 0;) {
      std::string value = place;
      if (!(behind == IntExpr(1))) value = fmt::format("{} / ({})", value, scope_.index(behind));
      if (i > 0) value = fmt::format("{} % ({})", value, scope_.index(loops[i].extent));
      out.push_back("[[maybe_unused]] " + fmt::format("{}int64_t {} = {};",
                                                      constant ? "const " : "", loops[i].variable,
                                                      value));
      behind = behind * loops[i].extent;
    }
    for (const std::string& each : out) line(each);
  }

  void advance(const std::vector<Loop>& loops) {
    for (std::size_t i = loops.size(); i-- > 0;) {
      if (i == 0) {
        format("++{};", loops[i].variable);
        break;
      }
      format("if (++{} == {}) {{", loops[i].variable, scope_.index(loops[i].extent));
      format("  {} = 0;", loops[i].variable);
      ++indent_;
    }
    for (std::size_t i = 1; i < loops.size(); ++i) {
      --indent_;
      line("}");
    }
  }

  // body(place) for `count` places from `first` on; the side's variables, or its counter, are set.
  template <typename Body>
  void columns_loop(const Side& side, const std::string& first, const std::string& count,
                    const Body& body) {
    const std::string place = prefix_ + "j";
    if (side.flat || side.loops.empty()) {
      lines_.emplace_back("#pragma omp simd");
      format("for (int64_t {0} = 0; {0} < {1}; ++{0}) {{", place, count);
      ++indent_;
      if (!side.loops.empty()) format("const int64_t {} = {} + {};", side.counter, first, place);
      body(place);
      --indent_;
      return line("}");
    }
    // A run of the innermost loop after the other.
    const Loop inner = side.loops.back();
    const std::vector<Loop> outer(side.loops.begin(), side.loops.end() - 1);
    const std::string extent = scope_.index(inner.extent), begin = prefix_ + "b",
                      done = prefix_ + "d", length = prefix_ + "l", run = prefix_ + "x";
    line("{");
    ++indent_;
    format("int64_t {} = {} % ({});", begin, first, extent);
    format("const int64_t {0}o = {1} / ({2});", prefix_, first, extent);
    declare_variables(outer, prefix_ + "o", false);
    format("for (int64_t {0} = 0, {1} = 0; {0} < {2}; {0} += {1}, {3} = 0) {{", done, length, count,
           begin);
    ++indent_;
    format("{} = std::min({} - {}, {} - {});", length, count, done, extent, begin);
    lines_.emplace_back("#pragma omp simd");
    format("for (int64_t {0} = 0; {0} < {1}; ++{0}) {{", run, length);
    ++indent_;
    format("const int64_t {} = {} + {};", inner.variable, begin, run);
    body(fmt::format("{} + {}", done, run));
    --indent_;
    line("}");
    advance(outer);
    --indent_;
    line("}");
    --indent_;
    line("}");
  }

  void store() {
    Side rows = side_of(product_.rows, "m"), columns = side_of(product_.columns, "n");
    const IntExpr linear = scope_.linear(product_.out, product_.index);
    rows.flat = is_flat(product_.epilogue, rows, {linear});
    columns.flat = is_flat(product_.epilogue, columns, {linear});
    scope_.ranges.loop(rows.counter, extent_of(rows.loops));
    scope_.ranges.loop(columns.counter, extent_of(columns.loops));
    format(
        "const auto {}_store = [&](int64_t kw_first_row, int64_t kw_first, int64_t kw_rows, "
        "int64_t kw_count, int64_t kw_width, const {}* kw_sums) {{",
        prefix_, type_);
    ++indent_;
    line("for (int64_t kw_row = 0; kw_row < kw_rows; ++kw_row) {");
    ++indent_;
    format("const {}* const kw_sum = kw_sums + kw_row * kw_width;", type_);
    if (rows.flat) {
      format("const int64_t {} = kw_first_row + kw_row;", rows.counter);
    } else {
      line("const int64_t kw_at_row = kw_first_row + kw_row;");
      declare_variables(rows.loops, "kw_at_row", true);
    }
    columns_loop(columns, "kw_first", "kw_count", [&](const std::string& place) {
      ScalarText text = text_of({&rows, &columns});
      const DType to = scope_.buffer(product_.out).type.dtype;
      const ScalarRef& kept = before_rounding(product_.epilogue, to);
      const std::string value = value_text(text, kept, fmt::format("kw_sum[{}]", place));
      const std::string at = fmt::format("{}[{}]", scope_.name(product_.out),
                                         scope_.index(over_counters(linear, {&rows, &columns})));
      line(store_text(at, value, to, kept->dtype, functions_));
    });
    --indent_;
    line("}");
    --indent_;
    line("};");
  }

  const Product& product_;
  const ProductScope& scope_;
  const CppTuning& tuning_;
  std::set<std::string>& functions_;
  std::string type_, prefix_;
  std::vector<std::string> lines_;
  std::size_t indent_ = 0;
};

}  // namespace

std::vector<std::string> product_text(const Product& product, const ProductScope& scope,
                                      const CppTuning& tuning, std::set<std::string>& functions) {
  return Printer(product, scope, tuning, functions).print();
}

std::string store_text(const std::string& place, const std::string& value, DType to, DType from,
                       std::set<std::string>& functions) {
  if (const std::string half = half_name(to); !half.empty()) {
    functions.insert("kw_" + half);
    return fmt::format("*reinterpret_cast<kw_bits*>(&{}) = kw_to_{}({});", place, half,
                       from == DType::kFloat32 || from == to
                           ? value
                           : fmt::format("static_cast<float>({})", value));
  }
  const bool as_it_is =
      (to == from && task::is_floating(to) && task::size_of(to) >= sizeof(float)) ||
      (to == DType::kBool && from == DType::kBool);
  if (as_it_is) return fmt::format("{} = {};", place, value);
  return fmt::format("{} = static_cast<{}>({});", place, task::cpp_type(to), value);
}

const ScalarRef& before_rounding(const ScalarRef& value, DType to) {
  const auto* cast = std::get_if<Scalar::Cast>(&value->node);
  const bool rounds = cast != nullptr && value->dtype == to && !half_name(to).empty() &&
                      cast->value->dtype == DType::kFloat32;
  return rounds ? cast->value : value;
}

}  // namespace kw::writer
