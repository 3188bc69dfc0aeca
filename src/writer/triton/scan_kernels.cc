// Running sums and the like: a lane walks along the axis, or a block of lanes at a time is scanned.
#include <algorithm>

#include "base/check.h"
#include "writer/fusion/fusion.h"
#include "writer/triton/accumulator.h"
#include "writer/triton/block.h"
#include "writer/triton/row_tile.h"

namespace kw::writer::triton {
namespace {

using tensor::DType;

std::vector<Loop> all_but_axis(const Scan& scan) {
  std::vector<Loop> out = scan.stage.loops;
  out.erase(out.begin() + static_cast<std::ptrdiff_t>(scan.axis));
  return out;
}

// Of a block of lanes along the axis of that number.
std::string scanned(ScalarPrinter& printer, ReduceOp op, DType dtype, const std::string& value,
                    int axis) {
  const bool floating = tensor::is_floating(dtype);
  switch (op) {
    case ReduceOp::kSum:
      return fmt::format("tl.cumsum({}, axis={})", value, axis);
    case ReduceOp::kProd:
      return fmt::format("tl.cumprod({}, axis={})", value, axis);
    case ReduceOp::kMin:
    case ReduceOp::kMax: {
      const char* word = op == ReduceOp::kMin ? "smaller" : "larger";
      const std::string name = fmt::format("{}{}", word, floating ? "_or_nan" : "");
      return fmt::format("tl.associative_scan({}, {}, {})", value, axis, printer.function(name));
    }
    case ReduceOp::kLogAddExp:
      return fmt::format("tl.associative_scan({}, {}, {})", value, axis,
                         printer.function("log_add_exp"));
    default:
      KW_CHECK(false);
  }
}

}  // namespace

Launch scan_kernel(const Program& program, const Scan& scan, const std::string& name,
                   const TritonTuning& tuning) {
  const Stage& stage = scan.stage;
  Block at(program, name, all_but_axis(scan));
  const Loop& axis = stage.loops[scan.axis];
  const bool is_wide = needs_double(program, stage, {axis});
  const DType dtype = is_wide ? DType::kFloat64 : collected(stage);
  Accumulator sum(at.kernel, at.printer,
                  {.op = stage.op, .dtype = dtype, .axes = at.axis, .last = true});
  const std::string step = at.kernel.fresh("step"), along = at.kernel.fresh("k");
  const std::string extent = at.kernel.size(axis.extent);
  const std::size_t scope = at.kernel.open(fmt::format("for {} in range(0, {}):", step, extent));
  at.kernel.format("{} = tl.cast({}, tl.int64)", along,
                   scan.reversed ? fmt::format("{} - 1 - {}", extent, step) : step);
  at.kernel.bind(axis, {along, 0, kAtom, scope});
  const Text value = at.printer.tensor(stage.body);
  sum.step(value, {}, at.kernel.integer(IntExpr::symbol(axis.variable)));
  Text result = sum.lanes();
  if (is_wide) result.text += ".to(tl.float32)";
  result.scope = at.kernel.scope();
  at.printer.set_reduced(result);
  at.store(stage.out, at.kernel.integer(row_major(stage.loops)),
           stage.epilogue ? at.printer.print(stage.epilogue) : result);
  at.kernel.close();
  return at.launch(tuning.outputs);
}

bool is_scan_of_rows(const Program& program, const Scan& scan) {
  constexpr std::int64_t kFew = 8;
  const Stage& stage = scan.stage;
  switch (stage.op) {
    case ReduceOp::kSum:
    case ReduceOp::kProd:
    case ReduceOp::kMin:
    case ReduceOp::kMax:
    case ReduceOp::kLogAddExp:
      return scan.axis + 1 == stage.loops.size() &&
             traced_count(program, {stage.loops.back()}) >= kFew;
    default:
      return false;
  }
}

Launch row_scan_kernel(const Program& program, const Scan& scan, const std::string& name,
                       const TritonTuning& tuning) {
  constexpr int kFewLanes = 8;
  const Stage& stage = scan.stage;
  const Loop& axis = stage.loops[scan.axis];
  const std::vector<Loop> rows = all_but_axis(scan);
  Tiling tiling;
  tiling.lanes = static_cast<int>(
      std::clamp<std::int64_t>(power_of_2(traced_count(program, {axis})), kFewLanes, tuning.lanes));
  tiling.rows = rows_beside(traced_count(program, rows), tiling.lanes);
  RowTile tile(program, name, rows, tiling, false);
  KernelText& kernel = tile.kernel;
  const DType dtype = stage.accumulator;
  const int along = tile.lanes_dimension();
  const std::string carry = kernel.fresh("carry"), extent = kernel.size(axis.extent);
  const std::string identity = identity_text(stage.op, dtype);
  kernel.format("{} = tl.full({}, {}, {})", carry, tile.shape_of_rows(), identity,
                value_type(dtype));
  tile.open(axis.extent);
  Text place{tile.lane, tile.lanes_axis, kAtom, kernel.scope()};
  if (scan.reversed) {
    place.text = kernel.fresh("place");
    kernel.format("{} = {} - 1 - {}", place.text, extent, tile.lane);
  }
  kernel.bind(axis, place);
  const Text value = tile.printer.tensor(stage.body);
  const std::string block = kernel.fresh("block"), result = kernel.fresh("result");
  kernel.format("{} = tl.where({}, {}, {}).to({})", block, tile.mask.text, value.text, identity,
                value_type(dtype));
  kernel.format("{} = {}", result,
                combined_text(tile.printer, stage.op, dtype, carry,
                              scanned(tile.printer, stage.op, dtype, block, along)));
  // What the last lane has is what comes before the next block.
  kernel.format(
      "{} = tl.sum(tl.where(tl.arange(0, LANES){} == LANES - 1, {}, 0), axis={}, "
      "keep_dims=True).to({})",
      carry, kernel.expand(tile.lanes_axis), result, along, value_type(dtype));
  tile.printer.set_reduced({result, tile.axes(), kAtom, kernel.scope()});
  tile.store(stage.out, stage.loops,
             stage.epilogue ? tile.printer.print(stage.epilogue)
                            : Text{result, tile.axes(), kAtom, kernel.scope()});
  tile.close();
  return tile.launch();
}

}  // namespace kw::writer::triton
