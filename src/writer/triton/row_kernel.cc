// Kernels that run row by row: a program has one row, or a tile of several.
#include <algorithm>
#include <map>
#include <optional>

#include "writer/fusion/fusion.h"
#include "writer/loops/scalar.h"
#include "writer/triton/accumulator.h"
#include "writer/triton/row_tile.h"

namespace kw::writer::triton {

using tensor::DType;

namespace {

bool of_places(const Stage& stage) {
  return stage.op == ReduceOp::kArgMin || stage.op == ReduceOp::kArgMax;
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
      : group_(group), is_whole_(is_whole), tile_(program, name, group.rows, tiling, is_whole) {}

  Launch made() {
    for (std::size_t i = 0; i < group_.parts.size(); ++i) {
      const RowPart& part = group_.parts[i];
      if (part.stage.reduced.empty()) {
        write(part);
      } else if (tile_.tiling.online && i + 1 < group_.parts.size() &&
                 is_exponential_sum(part, group_.parts[i + 1])) {
        maximum_and_sum(part, group_.parts[i + 1]);
        ++i;
      } else {
        reduce(part);
      }
    }
    return tile_.launch();
  }

 private:
  void reduce(const RowPart& part) {
    const Stage& stage = part.stage;
    const DType dtype = of_places(stage) ? stage.body->dtype : stage.accumulator;
    const unsigned axes = tile_.axes();
    const Collected of{.op = stage.op, .dtype = dtype, .axes = axes};
    std::optional<Accumulator> sum;
    if (!is_whole_) sum.emplace(kernel_, printer_, of);
    tile_.open(part.lanes);
    const Text value = printer_.tensor(stage.body);
    const bool is_masked = stage.op == ReduceOp::kSum && is_zero_outside(stage.body) &&
                           (value.axes & tile_.lanes_axis) != 0;
    const Text mask = is_masked ? Text{} : tile_.mask;
    const Text position = of_places(stage) ? kernel_.integer(row_major(part.lanes)) : Text{};
    if (is_whole_)
      sum.emplace(kernel_, printer_, of, value, mask, position);
    else
      sum->step(value, mask, position);
    tile_.close();
    finish(part, sum->over_axis(tile_.lanes_axis, tile_.lanes_dimension()));
  }

  void finish(const RowPart& part, const Text& reduced) {
    printer_.set_reduced(reduced);
    const Stage& stage = part.stage;
    const Text total = stage.epilogue
                           ? printer_.variable(stage.epilogue, kernel_.buffer(stage.out).name)
                           : reduced;
    printer_.hold(stage.out, total);
    if (part.is_stored) tile_.store(stage.out, stage.loops, total);
  }

  // Milakov and Gimelshein, "Online normalizer calculation for softmax" (2018), in each lane; the
  // lanes are brought to one maximum at the end.
  void maximum_and_sum(const RowPart& largest, const RowPart& sum) {
    const std::string shape = kernel_.shape(tile_.axes());
    const std::string high = kernel_.fresh("high"), acc = kernel_.fresh("acc"),
                      next = kernel_.fresh("next"), shift = kernel_.fresh("shift");
    kernel_.format("{} = tl.full({}, float(\"-inf\"), tl.float32)", high, shape);
    kernel_.format("{} = tl.full({}, 0.0, tl.float32)", acc, shape);
    tile_.open(largest.lanes);
    const Text value = printer_.tensor(largest.stage.body);
    const std::string x = kernel_.fresh("value");
    kernel_.format("{} = tl.where({}, {}, float(\"-inf\"))", x, tile_.mask.text, value.text);
    kernel_.format("{} = tl.maximum({}, {}, propagate_nan=tl.PropagateNan.ALL)", next, high, x);
    // -inf less -inf would be NaN.
    kernel_.format("{0} = tl.where({1} == float(\"-inf\"), 0.0, {1})", shift, next);
    kernel_.format("{0} = {0} * tl.exp({1} - {2}) + tl.exp({3} - {2})", acc, high, shift, x);
    kernel_.format("{} = {}", high, next);
    tile_.close();
    const std::string total = kernel_.fresh("largest"), base = kernel_.fresh("base"),
                      all = kernel_.fresh("total");
    const char* keep = tile_.rows_axis != 0 ? "True" : "False";
    kernel_.format("{} = {}({}, {}, {})", total, printer_.function("max_with_nan"), high,
                   tile_.lanes_dimension(), keep);
    kernel_.format("{0} = tl.where({1} == float(\"-inf\"), 0.0, {1})", base, total);
    kernel_.format("{} = tl.sum({} * tl.exp({} - {}), axis={}, keep_dims={})", all, acc, high, base,
                   tile_.lanes_dimension(), keep);
    finish(largest, {total, tile_.rows_axis});
    finish(sum, {all, tile_.rows_axis});
  }

  void write(const RowPart& part) {
    tile_.open(part.lanes);
    tile_.store(part.stage.out, part.stage.loops, printer_.print(part.stage.body));
    tile_.close();
  }

  const RowGroup& group_;
  const bool is_whole_;
  RowTile tile_;
  KernelText& kernel_ = tile_.kernel;
  ScalarPrinter& printer_ = tile_.printer;
};

}  // namespace

bool is_for_lanes(const Program& program, const RowGroup& group) {
  if (group.parts.size() != 1) return false;
  const Stage& stage = group.parts.front().stage;
  const std::vector<Loop> reduced = real_loops(stage.reduced);
  constexpr std::int64_t kFewTerms = 64, kManyRows = 1 << 14;
  const std::int64_t terms = traced_count(program, reduced);
  if (terms <= kFewTerms) return true;
  return traced_count(program, group.rows) >= kManyRows && !reduced.empty() &&
         !walks_along(program, stage, reduced.back().variable);
}

Tiling tiling_of(const Program& program, const RowGroup& group, const TritonTuning& tuning) {
  std::int64_t lanes = 1;
  bool rows_are_contiguous = false;
  for (const RowPart& part : group.parts) {
    lanes = std::max(lanes, traced_count(program, part.lanes));
    if (!part.lanes.empty() && !group.rows.empty() &&
        !walks_along(program, part.stage, part.lanes.back().variable) &&
        walks_along(program, part.stage, group.rows.back().variable))
      rows_are_contiguous = true;
  }
  const std::int64_t rows = traced_count(program, group.rows);
  Tiling out{.online = tuning.online != 0};
  if (rows_are_contiguous && rows > 1) {
    out.rows = static_cast<int>(std::min<std::int64_t>(power_of_2(rows), 32));
    out.lanes = static_cast<int>(
        std::clamp<std::int64_t>(power_of_2(lanes), 2, std::max(tuning.lanes / out.rows, 2)));
    return out;
  }
  out.lanes = static_cast<int>(std::clamp<std::int64_t>(power_of_2(lanes), 16, tuning.lanes));
  out.rows = rows_beside(rows, out.lanes);
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
  const std::int64_t lanes = power_of_2(traced_count(program, group.parts.front().lanes));
  if (lanes > most || lanes < 2) return std::nullopt;
  Tiling whole = tiling;
  whole.online = false;
  whole.lanes = static_cast<int>(lanes);
  constexpr int kMaxElements = 4096;
  whole.rows = std::max(1, std::min(tiling.rows, kMaxElements / whole.lanes));
  Launch out = RowKernel(program, group, name, whole, true).made();
  if (count.constant()) return out;
  return limited(std::move(out), count, whole.lanes,
                 RowKernel(program, group, "long_" + name, tiling, false).made());
}

}  // namespace kw::writer::triton
