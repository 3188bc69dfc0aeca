// Kernels that run row by row: a program has one row, or a tile of several.
#include <algorithm>

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

class RowKernel {
 public:
  RowKernel(const Program& program, const RowGroup& group, const std::string& name,
            const Tiling& tiling)
      : group_(group), kernel_(program, name), printer_(kernel_), tiling_(tiling) {
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
    for (const RowPart& part : group_.parts) {
      if (part.stage.reduced.empty())
        write(part);
      else
        reduce(part);
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
  // A loop over blocks of lanes.
  void open(const std::vector<Loop>& lanes) {
    const std::string count = kernel_.size(count_of(lanes));
    const std::string start = kernel_.fresh("start"), lane = kernel_.fresh("lane"),
                      mask = kernel_.fresh("lane_mask");
    const std::size_t scope =
        kernel_.open(fmt::format("for {} in range(0, {}, LANES):", start, count));
    kernel_.format("{} = {} + tl.arange(0, LANES){}.to(tl.int64)", lane, start,
                   kernel_.expand(lanes_axis_));
    kernel_.format("{} = {} < {}", mask, lane, count);
    kernel_.set_mask(lanes_axis_, {mask, lanes_axis_, kAtom, scope});
    kernel_.bind(Flat{lane, "j", lanes, lanes_axis_});
    mask_ = {mask, lanes_axis_, kAtom, scope};
  }

  void reduce(const RowPart& part) {
    const Stage& stage = part.stage;
    Accumulator sum(kernel_, printer_, stage.op,
                    of_places(stage) ? stage.body->dtype : stage.accumulator,
                    rows_axis_ | lanes_axis_);
    open(part.lanes);
    const Text value = printer_.tensor(stage.body);
    const bool is_masked = stage.op == ReduceOp::kSum && is_zero_outside(stage.body) &&
                           (value.axes & lanes_axis_) != 0;
    const Text position = of_places(stage) ? kernel_.integer(row_major(part.lanes)) : Text{};
    sum.step(value, is_masked ? Text{} : mask_, position);
    kernel_.close();
    printer_.set_reduced(sum.over_axis(lanes_axis_, is_tile_ ? 1 : 0));
    const Buffer& out = kernel_.buffer(stage.out);
    const ScalarRef result = stage.epilogue;
    const Text total = result ? printer_.variable(result, out.name) : printer_.reduced();
    printer_.hold(stage.out, total);
    if (part.is_stored) store(stage, total);
  }

  void write(const RowPart& part) {
    open(part.lanes);
    store(part.stage, printer_.print(part.stage.body));
    kernel_.close();
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
  bool is_tile_ = false;
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

Tiling tiling_of(const Program& program, const RowGroup& group, const Tuning& tuning) {
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
  Tiling out;
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
  return RowKernel(program, group, name, tiling).made();
}

}  // namespace kw::writer::triton
