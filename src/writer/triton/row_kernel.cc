// Kernels that run row by row: a program has one row, or a tile of several.
#include <algorithm>
#include <map>
#include <optional>

#include "writer/fusion/fusion.h"
#include "writer/triton/accumulator.h"
#include "writer/triton/launch.h"

namespace kw::writer::triton {

using task::DType;

namespace {

bool of_places(const Stage& stage) {
  return stage.op == ReduceOp::kArgMin || stage.op == ReduceOp::kArgMax;
}

IntExpr row_major(const std::vector<Loop>& loops) {
  IntExpr out;
  for (const Loop& loop : loops) {
    out = out * loop.extent;
    if (loop.extent.constant() != 1) out = out + IntExpr::symbol(loop.variable);
  }
  return out;
}

std::int64_t traced(const Program& program, const std::vector<Loop>& loops) {
  const auto out = count_of(loops).evaluate(program.sizes);
  return out ? *out : 1;
}

std::int64_t power_of_2(std::int64_t value) {
  std::int64_t out = 1;
  while (out < value) out *= 2;
  return out;
}

// Whether neighbouring iterations of the loop read neighbouring elements somewhere in the stage.
bool walks_along(const Program& program, const Stage& stage, const std::string& variable) {
  bool out = false;
  for_each_load(Step(stage), [&](const Scalar::Load& load) {
    const Shape& shape = program.buffers[static_cast<std::size_t>(load.buffer)].type.shape;
    IntExpr linear;
    for (std::size_t d = 0; d < load.index.size(); ++d) {
      const auto* index = std::get_if<Scalar::Index>(&load.index[d]->node);
      linear = linear * shape[d] + (index == nullptr ? IntExpr() : index->expr);
    }
    const auto step = linear.coefficient(variable);
    out = out || (step && step->constant() == 1);
  });
  return out;
}

// A load, perhaps cast or chosen by a condition, that is 0 in lanes which are masked out.
bool is_zero_outside(const ScalarRef& value) {
  if (std::holds_alternative<Scalar::Load>(value->node)) return true;
  const auto* cast = std::get_if<Scalar::Cast>(&value->node);
  return cast != nullptr && is_zero_outside(cast->value);
}

// Of the same form, where loops of one are those of the other at the same place.
bool is_equal(const ScalarRef& a, const ScalarRef& b, const std::map<std::string, IntExpr>& names) {
  if (a->dtype != b->dtype || a->node.index() != b->node.index()) return false;
  const auto all = [&](const std::vector<ScalarRef>& x, const std::vector<ScalarRef>& y) {
    if (x.size() != y.size()) return false;
    for (std::size_t i = 0; i < x.size(); ++i) {
      if (!is_equal(x[i], y[i], names)) return false;
    }
    return true;
  };
  if (const auto* x = std::get_if<Scalar::Constant>(&a->node)) {
    const auto& y = std::get<Scalar::Constant>(b->node);
    return x->number == y.number && x->integer == y.integer;
  }
  if (const auto* x = std::get_if<Scalar::Index>(&a->node))
    return x->expr.substitute(names) == std::get<Scalar::Index>(b->node).expr;
  if (const auto* x = std::get_if<Scalar::Load>(&a->node)) {
    const auto& y = std::get<Scalar::Load>(b->node);
    return x->buffer == y.buffer && all(x->index, y.index);
  }
  if (const auto* x = std::get_if<Scalar::Call>(&a->node)) {
    const auto& y = std::get<Scalar::Call>(b->node);
    return x->op == y.op && all(x->arguments, y.arguments);
  }
  if (const auto* x = std::get_if<Scalar::Cast>(&a->node))
    return is_equal(x->value, std::get<Scalar::Cast>(b->node).value, names);
  return true;
}

// The second is the sum of exp(x - the first), and the first the maximum of x.
bool is_exponential_sum(const RowPart& largest, const RowPart& sum) {
  const Stage &first = largest.stage, &second = sum.stage;
  if (first.op != ReduceOp::kMax || second.op != ReduceOp::kSum || second.reduced.empty() ||
      first.accumulator != DType::kFloat32 || largest.lanes.size() != sum.lanes.size())
    return false;
  const auto* exponential = std::get_if<Scalar::Call>(&second.body->node);
  if (exponential == nullptr || exponential->op != ScalarOp::kExp) return false;
  const auto* below = std::get_if<Scalar::Call>(&exponential->arguments[0]->node);
  if (below == nullptr || below->op != ScalarOp::kSub || first.epilogue) return false;
  const auto* shift = std::get_if<Scalar::Load>(&below->arguments[1]->node);
  if (shift == nullptr || shift->buffer != first.out) return false;
  std::map<std::string, IntExpr> names;
  for (std::size_t i = 0; i < largest.lanes.size(); ++i) {
    if (!(largest.lanes[i].extent == sum.lanes[i].extent)) return false;
    names[largest.lanes[i].variable] = IntExpr::symbol(sum.lanes[i].variable);
  }
  return is_equal(first.body, below->arguments[0], names);
}

class RowKernel {
 public:
  RowKernel(const Program& program, const RowGroup& group, const std::string& name,
            const Tiling& tiling, bool is_whole)
      : group_(group),
        kernel_(program, name),
        printer_(kernel_),
        tiling_(tiling),
        is_whole_(is_whole) {
    is_tile_ = tiling.rows > 1;
    if (is_tile_) rows_axis_ = kernel_.add_axis("ROWS", 0);
    lanes_axis_ = kernel_.add_axis("LANES", is_tile_ ? 1 : 0);
  }

  Launch made() {
    const IntExpr count = count_of(group_.rows);
    if (is_tile_) {
      kernel_.format("row = (tl.program_id(0).to(tl.int64) * ROWS + tl.arange(0, ROWS)){}",
                     kernel_.expand(rows_axis_));
      kernel_.format("row_mask = row < {}", kernel_.size(count));
      kernel_.set_mask(rows_axis_, {"row_mask", rows_axis_});
    } else {
      kernel_.line("row = tl.program_id(0).to(tl.int64)");
    }
    for (const char* word : {"row", "row_mask"}) kernel_.fresh(word);
    kernel_.bind(Flat{"row", "i", group_.rows, rows_axis_});
    for (std::size_t i = 0; i < group_.parts.size(); ++i) {
      const RowPart& part = group_.parts[i];
      if (part.stage.reduced.empty()) {
        write(part);
      } else if (tiling_.online && i + 1 < group_.parts.size() &&
                 is_exponential_sum(part, group_.parts[i + 1])) {
        maximum_and_sum(part, group_.parts[i + 1]);
        ++i;
      } else {
        reduce(part);
      }
    }
    Launch out = finished(kernel_, printer_);
    out.grid = is_tile_ ? fmt::format("triton.cdiv({}, {})", count.python(), tiling_.rows)
                        : count.python();
    out.grid_sizes = {count};
    if (is_tile_) out.constants.emplace_back("ROWS", fmt::format("{}", tiling_.rows));
    out.constants.emplace_back("LANES", fmt::format("{}", tiling_.lanes));
    out.tiling = is_tile_ ? fmt::format("ROWS={} LANES={}", tiling_.rows, tiling_.lanes)
                          : fmt::format("LANES={}", tiling_.lanes);
    out.warps = tiling_.rows * tiling_.lanes >= 4096 ? 8 : 4;
    return out;
  }

 private:
  // A loop over blocks of lanes, or all of them.
  void open(const std::vector<Loop>& lanes) {
    const std::string count = kernel_.size(count_of(lanes));
    if (is_whole_) {
      if (mask_.text.empty()) {
        kernel_.format("{} = tl.arange(0, LANES){}.to(tl.int64)", kernel_.fresh("lane"),
                       kernel_.expand(lanes_axis_));
        kernel_.format("{} = lane < {}", kernel_.fresh("lane_mask"), count);
        mask_ = {"lane_mask", lanes_axis_};
        kernel_.set_mask(lanes_axis_, mask_);
      }
      kernel_.bind(Flat{"lane", "j", lanes, lanes_axis_});
      return;
    }
    const std::string start = kernel_.fresh("start"), lane = kernel_.fresh("lane"),
                      mask = kernel_.fresh("lane_mask");
    const std::size_t scope =
        kernel_.open(fmt::format("for {} in range(0, {}, LANES):", start, count));
    kernel_.format("{} = {} + tl.arange(0, LANES){}.to(tl.int64)", lane, start,
                   kernel_.expand(lanes_axis_));
    kernel_.format("{} = {} < {}", mask, lane, count);
    mask_ = {mask, lanes_axis_, kAtom, scope};
    kernel_.set_mask(lanes_axis_, mask_);
    kernel_.bind(Flat{lane, "j", lanes, lanes_axis_});
  }
  void close() {
    if (!is_whole_) kernel_.close();
  }

  int lanes_dimension() const { return is_tile_ ? 1 : 0; }

  void reduce(const RowPart& part) {
    const Stage& stage = part.stage;
    const DType dtype = of_places(stage) ? stage.body->dtype : stage.accumulator;
    const unsigned axes = rows_axis_ | lanes_axis_;
    std::optional<Accumulator> sum;
    if (!is_whole_) sum.emplace(kernel_, printer_, stage.op, dtype, axes);
    open(part.lanes);
    const Text value = printer_.tensor(stage.body);
    const bool is_masked = stage.op == ReduceOp::kSum && is_zero_outside(stage.body) &&
                           (value.axes & lanes_axis_) != 0;
    const Text mask = is_masked ? Text{} : mask_;
    const Text position = of_places(stage) ? kernel_.integer(row_major(part.lanes)) : Text{};
    if (is_whole_)
      sum.emplace(kernel_, printer_, stage.op, dtype, axes, value, mask, position);
    else
      sum->step(value, mask, position);
    close();
    finish(part, sum->over_axis(lanes_axis_, lanes_dimension()));
  }

  void finish(const RowPart& part, const Text& reduced) {
    printer_.set_reduced(reduced);
    const Stage& stage = part.stage;
    const Text total = stage.epilogue
                           ? printer_.variable(stage.epilogue, kernel_.buffer(stage.out).name)
                           : reduced;
    printer_.hold(stage.out, total);
    if (part.is_stored) store(stage, total);
  }

  // Milakov and Gimelshein, "Online normalizer calculation for softmax" (2018), in each lane; the
  // lanes are brought to one maximum at the end.
  void maximum_and_sum(const RowPart& largest, const RowPart& sum) {
    const std::string shape = kernel_.shape(rows_axis_ | lanes_axis_);
    const std::string high = kernel_.fresh("high"), acc = kernel_.fresh("acc"),
                      next = kernel_.fresh("next"), shift = kernel_.fresh("shift");
    kernel_.format("{} = tl.full({}, float(\"-inf\"), tl.float32)", high, shape);
    kernel_.format("{} = tl.full({}, 0.0, tl.float32)", acc, shape);
    open(largest.lanes);
    const Text value = printer_.tensor(largest.stage.body);
    const std::string x = kernel_.fresh("value");
    kernel_.format("{} = tl.where({}, {}, float(\"-inf\"))", x, mask_.text, value.text);
    kernel_.format("{} = tl.maximum({}, {}, propagate_nan=tl.PropagateNan.ALL)", next, high, x);
    // -inf less -inf would be NaN.
    kernel_.format("{0} = tl.where({1} == float(\"-inf\"), 0.0, {1})", shift, next);
    kernel_.format("{0} = {0} * tl.exp({1} - {2}) + tl.exp({3} - {2})", acc, high, shift, x);
    kernel_.format("{} = {}", high, next);
    close();
    const std::string total = kernel_.fresh("largest"), base = kernel_.fresh("base"),
                      all = kernel_.fresh("total");
    const char* keep = is_tile_ ? "True" : "False";
    kernel_.format("{} = {}({}, {}, {})", total, printer_.function("max_with_nan"), high,
                   lanes_dimension(), keep);
    kernel_.format("{0} = tl.where({1} == float(\"-inf\"), 0.0, {1})", base, total);
    kernel_.format("{} = tl.sum({} * tl.exp({} - {}), axis={}, keep_dims={})", all, acc, high, base,
                   lanes_dimension(), keep);
    finish(largest, {total, rows_axis_});
    finish(sum, {all, rows_axis_});
  }

  void write(const RowPart& part) {
    open(part.lanes);
    store(part.stage, printer_.print(part.stage.body));
    close();
  }

  void store(const Stage& stage, const Text& value) {
    const Text at = kernel_.integer(row_major(stage.loops));
    const Text mask = kernel_.mask(at.axes, nullptr);
    const std::string place =
        at.text == "0" ? kernel_.pointer(stage.out)
                       : fmt::format("{} + {}", kernel_.pointer(stage.out), wrapped(at, kSum));
    kernel_.format("tl.store({}, {}{})", place, value.text,
                   mask.text.empty() ? "" : ", mask=" + mask.text);
  }

  const RowGroup& group_;
  KernelText kernel_;
  ScalarPrinter printer_;
  Tiling tiling_;
  bool is_tile_ = false, is_whole_ = false;
  unsigned rows_axis_ = 0, lanes_axis_ = 0;
  Text mask_;
};

}  // namespace

bool is_for_lanes(const Program& program, const RowGroup& group) {
  if (group.parts.size() != 1) return false;
  const Stage& stage = group.parts.front().stage;
  const std::vector<Loop> reduced = real_loops(stage.reduced);
  constexpr std::int64_t kFewTerms = 64, kManyRows = 1 << 14;
  const std::int64_t terms = traced(program, reduced);
  if (terms <= kFewTerms) return true;
  return traced(program, group.rows) >= kManyRows && !reduced.empty() &&
         !walks_along(program, stage, reduced.back().variable);
}

Tiling tiling_of(const Program& program, const RowGroup& group, const TritonTuning& tuning) {
  std::int64_t lanes = 1;
  bool rows_are_contiguous = false;
  for (const RowPart& part : group.parts) {
    lanes = std::max(lanes, traced(program, part.lanes));
    if (!part.lanes.empty() && !group.rows.empty() &&
        !walks_along(program, part.stage, part.lanes.back().variable) &&
        walks_along(program, part.stage, group.rows.back().variable))
      rows_are_contiguous = true;
  }
  const std::int64_t rows = traced(program, group.rows);
  Tiling out{.online = tuning.online != 0};
  if (rows_are_contiguous && rows > 1) {
    out.rows = static_cast<int>(std::min<std::int64_t>(power_of_2(rows), 32));
    out.lanes = static_cast<int>(
        std::clamp<std::int64_t>(power_of_2(lanes), 2, std::max(tuning.lanes / out.rows, 2)));
    return out;
  }
  out.lanes = static_cast<int>(std::clamp<std::int64_t>(power_of_2(lanes), 16, tuning.lanes));
  constexpr int kSmallTile = 512;
  if (out.lanes < kSmallTile && rows > 1)
    out.rows = static_cast<int>(std::min<std::int64_t>(power_of_2(rows), kSmallTile / out.lanes));
  return out;
}

Launch row_kernel(const Program& program, const RowGroup& group, const std::string& name,
                  const Tiling& tiling) {
  return RowKernel(program, group, name, tiling, false).made();
}

std::optional<Launch> whole_row_kernel(const Program& program, const RowGroup& group,
                                       const std::string& name, const Tiling& tiling, int most) {
  const IntExpr count = count_of(group.parts.front().lanes);
  for (const RowPart& part : group.parts) {
    if (!(count_of(part.lanes) == count)) return std::nullopt;
  }
  const std::int64_t lanes = power_of_2(traced(program, group.parts.front().lanes));
  if (lanes > most || lanes < 2) return std::nullopt;
  Tiling whole = tiling;
  whole.online = false;
  whole.lanes = static_cast<int>(lanes);
  constexpr int kMostElements = 4096;
  whole.rows = std::max(1, std::min(tiling.rows, kMostElements / whole.lanes));
  Launch out = RowKernel(program, group, name, whole, true).made();
  if (count.constant()) return out;
  out.limited = count;
  out.limit = whole.lanes;
  Launch longer = RowKernel(program, group, "long_" + name, tiling, false).made();
  out.functions.insert(longer.functions.begin(), longer.functions.end());
  out.libdevice = out.libdevice || longer.libdevice;
  out.text += "\n\n" + longer.text;
  out.otherwise.push_back(std::move(longer));
  return out;
}

}  // namespace kw::writer::triton
