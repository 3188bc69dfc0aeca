#include "writer/cpp/product_text.h"

#include <algorithm>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "base/check.h"
#include "writer/loops/scalar.h"

namespace kw::writer {
namespace {

using tensor::DType;

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

class ProductWriter {
 public:
  ProductWriter(const Product& product, const CppTuning& tuning, CppText& text)
      : product_(product),
        tuning_(tuning),
        text_(text),
        type_(cpp_value_type(product.dtype)),
        prefix_(text.new_name("p")) {}

  void write() {
    text_.functions.insert("kw_product");
    text_.choices.insert({"tile_rows", "tile_vectors"});
    for (const auto* loops : {&product_.rows, &product_.columns, &product_.depth}) {
      for (const Loop& loop : *loops) text_.ranges.loop(loop.variable, loop.extent);
    }
    text_.open("");
    operand("left", product_.left, product_.rows);
    if (indirect()) {
      store();
      const Loop& run = product_.columns.back();
      const std::vector<Loop> runs(product_.columns.begin(), product_.columns.end() - 1);
      text_.format(
          "kw_indirect_product<{}, {}>({}, {}, {}, {}, {}_left, {}, {}_offsets.data(), {}_start, "
          "{}_store);",
          type_, tuning_.tile_vectors, text_.index_text(extent_of(product_.rows)),
          text_.index_text(extent_of(runs)), text_.index_text(run.extent),
          text_.index_text(extent_of(product_.depth)), prefix_,
          text_.pointer(std::get<Scalar::Load>(product_.right->node).buffer), prefix_, prefix_,
          prefix_);
      text_.close();
      return;
    }
    operand("right", product_.right, product_.columns);
    store();
    text_.choices.insert({"depth_block", "column_block"});
    const auto columns = extent_of(product_.columns).constant();
    const int vectors = columns && *columns <= 16 ? 1 : tuning_.tile_vectors;
    text_.format("kw_product<{}, {}, {}, {}>({}, {}, {}, {}_left, {}_right, {}_store);", type_,
                 vectors, tuning_.depth_block, tuning_.column_block,
                 text_.index_text(extent_of(product_.rows)),
                 text_.index_text(extent_of(product_.columns)),
                 text_.index_text(extent_of(product_.depth)), prefix_, prefix_, prefix_);
    text_.close();
  }

 private:
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
      if (text_.buffer(load->buffer).kind == Buffer::Kind::kScalar) return;
      const auto linear =
          flattened(linear_index(text_.nest, load->buffer, index), side.loops, side.counter);
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
        [this](BufferId id, const std::vector<std::string>& index) {
          return text_.element(id, index);
        },
        [this, sides](BufferId id, const std::vector<IntExpr>& index) {
          if (text_.buffer(id).kind == Buffer::Kind::kScalar) return text_.pointer(id);
          const IntExpr linear = over_counters(linear_index(text_.nest, id, index), sides);
          return fmt::format("{}[{}]", text_.pointer(id), text_.index_text(linear));
        },
        [this, sides](const IntExpr& index) {
          IntExpr out = index;
          for (const Side* side : sides) {
            if (side->flat && side->loops.size() == 1)
              out = out.substitute({{side->loops[0].variable, IntExpr::symbol(side->counter)}});
          }
          return text_.index_text(out);
        },
        text_.names);
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
    text_.ranges.loop(outer.counter, extent_of(outer.loops));
    text_.ranges.loop(depth.counter, extent_of(depth.loops));
    if (strided(which, value, outer, depth)) return;
    const std::string fill = fmt::format("{}_fill_{}", prefix_, which);
    text_.open(fmt::format(
        "const auto {} = [&]({}* kw_to, int64_t kw_width, int64_t kw_first, int64_t kw_count, "
        "int64_t kw_start, int64_t kw_steps)",
        fill, type_));
    open_depth(depth);
    text_.format("{}* const kw_at = kw_to + kw_step * kw_width;", type_);
    columns_loop(outer, "kw_first", "kw_count", [&](const std::string& place) {
      ScalarText scope = text_of({&outer, &depth});
      const std::string one = text_.print(scope, value);
      text_.format("kw_at[{}] = {};", place, one);
    });
    text_.line(
        "for (int64_t kw_rest = kw_count; kw_rest < kw_width; ++kw_rest) kw_at[kw_rest] = 0;");
    close_depth(depth);
    text_.close("};");
    text_.format("const kw_gathered<{}, decltype({})> {}_{}{{{}}};", type_, fill, prefix_, which,
                 fill);
  }

  // The right operand where neighbouring columns are neighbours in memory: how far each step of the
  // sum is from the first one, and where each run of the innermost loop begins.
  bool indirect() {
    const auto* load = std::get_if<Scalar::Load>(&product_.right->node);
    if (load == nullptr || product_.columns.empty()) return false;
    const Buffer& from = text_.buffer(load->buffer);
    if (from.type.dtype != product_.dtype) return false;
    if (from.kind != Buffer::Kind::kScratch && from.kind != Buffer::Kind::kInput) return false;
    const std::vector<IntExpr> index = known_indices(*load);
    if (index.size() != load->index.size()) return false;
    const IntExpr linear = linear_index(text_.nest, load->buffer, index);
    const Side depth = side_of(product_.depth, "k");
    if (flattened(linear, depth.loops, depth.counter)) return false;
    IntExpr start = linear, offset = linear;
    for (const Loop& loop : product_.depth) start = start.substitute({{loop.variable, IntExpr()}});
    offset = offset - start;
    if (depends(offset, product_.columns)) return false;
    const Loop& run = product_.columns.back();
    if (!(start.coefficient(run.variable) == std::optional(IntExpr(1)))) return false;
    start = start.substitute({{run.variable, IntExpr()}});
    text_.format("static std::vector<int64_t> {}_offsets;", prefix_);
    text_.format("{}_offsets.clear();", prefix_);
    for (const Loop& loop : product_.depth)
      text_.open_loop(loop.variable, "0", text_.index_text(loop.extent));
    text_.format("{}_offsets.push_back({});", prefix_, text_.index_text(offset));
    for (std::size_t i = 0; i < product_.depth.size(); ++i) text_.close();
    text_.open(fmt::format("const auto {}_start = [&]([[maybe_unused]] int64_t kw_run)", prefix_));
    declare_variables({product_.columns.begin(), product_.columns.end() - 1}, "kw_run", true);
    text_.format("return {};", text_.index_text(start));
    text_.close("};");
    return true;
  }

  bool strided(const char* which, const ScalarRef& value, const Side& outer, const Side& depth) {
    const auto* load = std::get_if<Scalar::Load>(&value->node);
    if (load == nullptr || !outer.flat || !depth.flat) return false;
    if (text_.buffer(load->buffer).type.dtype != product_.dtype) return false;
    const std::vector<IntExpr> index = known_indices(*load);
    if (index.size() != load->index.size()) return false;
    IntExpr linear = linear_index(text_.nest, load->buffer, index);
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
    text_.format("const kw_strided<{}> {}_{}{{{} + ({}), {}, {}}};", type_, prefix_, which,
                 text_.pointer(load->buffer), text_.index_text(linear), text_.index_text(steps[0]),
                 text_.index_text(steps[1]));
    return true;
  }

  void open_depth(const Side& depth) {
    if (depth.flat) {
      text_.open("for (int64_t kw_step = 0; kw_step < kw_steps; ++kw_step)");
      text_.format("const int64_t {} = kw_start + kw_step;", depth.counter);
      return;
    }
    declare_variables(depth.loops, "kw_start", false);
    text_.open("for (int64_t kw_step = 0; kw_step < kw_steps; ++kw_step)");
  }
  void close_depth(const Side& depth) {
    if (!depth.flat) advance(depth.loops);
    text_.close();
  }

  // The loops' variables at a place of their counter.
  void declare_variables(const std::vector<Loop>& loops, const std::string& place, bool constant) {
    IntExpr behind = 1;
    std::vector<std::string> out;
    for (std::size_t i = loops.size(); i-- > 0;) {
      std::string value = place;
      if (!(behind == IntExpr(1)))
        value = fmt::format("{} / ({})", value, text_.index_text(behind));
      if (i > 0) value = fmt::format("{} % ({})", value, text_.index_text(loops[i].extent));
      out.push_back("[[maybe_unused]] " + fmt::format("{}int64_t {} = {};",
                                                      constant ? "const " : "", loops[i].variable,
                                                      value));
      behind = behind * loops[i].extent;
    }
    for (const std::string& each : out) text_.line(each);
  }

  void advance(const std::vector<Loop>& loops) {
    for (std::size_t i = loops.size(); i-- > 0;) {
      if (i == 0) {
        text_.format("++{};", loops[i].variable);
        break;
      }
      text_.open(
          fmt::format("if (++{} == {})", loops[i].variable, text_.index_text(loops[i].extent)));
      text_.format("{} = 0;", loops[i].variable);
    }
    for (std::size_t i = 1; i < loops.size(); ++i) text_.close();
  }

  // body(place) for `count` places from `first` on; the side's variables, or its counter, are set.
  template <typename Body>
  void columns_loop(const Side& side, const std::string& first, const std::string& count,
                    const Body& body) {
    const std::string place = prefix_ + "j";
    if (side.flat || side.loops.empty()) {
      text_.directive("#pragma omp simd");
      text_.open_loop(place, "0", count);
      if (!side.loops.empty())
        text_.format("const int64_t {} = {} + {};", side.counter, first, place);
      body(place);
      return text_.close();
    }
    // A run of the innermost loop after the other.
    const Loop inner = side.loops.back();
    const std::vector<Loop> outer(side.loops.begin(), side.loops.end() - 1);
    const std::string extent = text_.index_text(inner.extent), begin = prefix_ + "b",
                      done = prefix_ + "d", length = prefix_ + "l", run = prefix_ + "x";
    text_.open("");
    text_.format("int64_t {} = {} % ({});", begin, first, extent);
    text_.format("const int64_t {0}o = {1} / ({2});", prefix_, first, extent);
    declare_variables(outer, prefix_ + "o", false);
    text_.open(fmt::format("for (int64_t {0} = 0, {1} = 0; {0} < {2}; {0} += {1}, {3} = 0)", done,
                           length, count, begin));
    text_.format("{} = std::min({} - {}, {} - {});", length, count, done, extent, begin);
    text_.directive("#pragma omp simd");
    text_.open_loop(run, "0", length);
    text_.format("const int64_t {} = {} + {};", inner.variable, begin, run);
    body(fmt::format("{} + {}", done, run));
    text_.close();
    advance(outer);
    text_.close();
    text_.close();
  }

  void store() {
    Side rows = side_of(product_.rows, "m"), columns = side_of(product_.columns, "n");
    const IntExpr linear = linear_index(text_.nest, product_.out, product_.index);
    rows.flat = is_flat(product_.epilogue, rows, {linear});
    columns.flat = is_flat(product_.epilogue, columns, {linear});
    text_.ranges.loop(rows.counter, extent_of(rows.loops));
    text_.ranges.loop(columns.counter, extent_of(columns.loops));
    text_.open(fmt::format(
        "const auto {}_store = [&](int64_t kw_first_row, int64_t kw_first, int64_t kw_rows, "
        "int64_t kw_count, int64_t kw_width, const {}* kw_sums)",
        prefix_, type_));
    text_.open("for (int64_t kw_row = 0; kw_row < kw_rows; ++kw_row)");
    text_.format("const {}* const kw_sum = kw_sums + kw_row * kw_width;", type_);
    if (rows.flat) {
      text_.format("const int64_t {} = kw_first_row + kw_row;", rows.counter);
    } else {
      text_.line("const int64_t kw_at_row = kw_first_row + kw_row;");
      declare_variables(rows.loops, "kw_at_row", true);
    }
    columns_loop(columns, "kw_first", "kw_count", [&](const std::string& place) {
      ScalarText scope = text_of({&rows, &columns});
      const DType to = text_.buffer(product_.out).type.dtype;
      const ScalarRef& kept = before_rounding(product_.epilogue, to);
      const std::string value = text_.print(scope, kept, fmt::format("kw_sum[{}]", place));
      const std::string at =
          fmt::format("{}[{}]", text_.pointer(product_.out),
                      text_.index_text(over_counters(linear, {&rows, &columns})));
      text_.store(at, value, to, kept->dtype);
    });
    text_.close();
    text_.close("};");
  }

  const Product& product_;
  const CppTuning& tuning_;
  CppText& text_;
  std::string type_, prefix_;
};

}  // namespace

void write_product(const Product& product, const CppTuning& tuning, CppText& text) {
  ProductWriter(product, tuning, text).write();
}

}  // namespace kw::writer
