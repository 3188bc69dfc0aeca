// Sorts of rows: each lane counts what comes before its element, or whole rows go through a
// network. (Triton's interpreter needs seconds for a row with tl.sort.)
#include <algorithm>

#include "writer/fusion/fusion.h"
#include "writer/triton/block.h"
#include "writer/triton/row_tile.h"

namespace kw::writer::triton {

using tensor::DType;

Launch sort_kernel(const Program& program, const Sort& sort, const std::string& name,
                   const TritonTuning& tuning) {
  const Buffer& in = program.buffers[static_cast<std::size_t>(sort.in)];
  const std::vector<Loop> loops = loops_over(in.type.shape, "@s");
  Block at(program, name, loops);
  KernelText& kernel = at.kernel;
  const IntExpr length = in.type.shape.back();
  const IntExpr kept = sort.first ? *sort.first : length;
  const std::string pointer = kernel.pointer(sort.in);
  const bool floating = tensor::is_floating(in.type.dtype);
  const std::string cast =
      value_type(in.type.dtype) == triton_type(in.type.dtype) ? "" : ".to(tl.float32)";
  kernel.format("row = at // {}", kernel.size(length));
  kernel.format("place = at - row * {}", kernel.size(length));
  kernel.format("x = tl.load({} + at, mask=mask, other=0){}", pointer, cast);
  kernel.line("rank = tl.zeros([BLOCK], tl.int64)");
  kernel.open(fmt::format("for other in range(0, {}):", kernel.size(length)));
  kernel.format("y = tl.load({} + row * {} + other, mask=mask, other=0){}", pointer,
                kernel.size(length), cast);
  const char* sign = sort.descending ? ">" : "<";
  if (floating) {
    // NaN is the greatest.
    const char* greater = sort.descending ? "y" : "x";
    const char* smaller = sort.descending ? "x" : "y";
    kernel.format("before = (y {0} x) | (({1} != {1}) & ({2} == {2}))", sign, greater, smaller);
    kernel.line("equal = (y == x) | ((x != x) & (y != y))");
  } else {
    kernel.format("before = y {} x", sign);
    kernel.line("equal = y == x");
  }
  kernel.line("rank += (before | (equal & (other < place))).to(tl.int64)");
  kernel.close();
  const std::string mask = "mask & (rank < " + kernel.size(kept) + ")";
  const Text to{fmt::format("row * {} + rank", kernel.size(kept)), at.axis, kSum};
  at.store(sort.values, to, {"x"}, mask);
  at.store(sort.indices, to, {"place"}, mask);
  return at.launch(tuning.outputs);
}

namespace {

constexpr int kLongestRow = 4096;           // row that is sorted at once
constexpr int kTile = 2048, kMaxRows = 16;  // elements and rows at once, of shorter ones

// A 32-bit integer that is in the order of the values: NaN is the greatest, zeros are equal.
std::string ordered(KernelText& kernel, DType dtype, const std::string& value) {
  const std::string order = kernel.fresh("order");
  if (!tensor::is_floating(dtype)) {
    kernel.format("{} = {}.to(tl.int32)", order, value);
    return order;
  }
  const std::string bits = kernel.fresh("bits");
  kernel.format("{} = tl.where({} == 0.0, 0.0, {}).to(tl.int32, bitcast=True)", bits, value, value);
  kernel.format("{0} = {1} ^ (({1} >> 31) & 2147483647)", order, bits);
  kernel.format("{0} = tl.where({1} != {1}, 2147483647, {0})", order, value);
  return order;
}

// By the length of the rows that it is called with.
void set_tile(Launch& out, const IntExpr& rows, const IntExpr& length) {
  const std::string lanes = fmt::format("triton.next_power_of_2({})", length.python());
  const std::string tall = fmt::format("min({}, max(1, {} // {}))", kMaxRows, kTile, lanes);
  for (auto& [name, value] : out.constants) {
    if (name == "LANES") value = lanes;
    if (name != "ROWS") continue;
    value = tall;
    out.grid = fmt::format("triton.cdiv({}, {})", rows.python(), tall);
  }
  out.constants.emplace_back("LOG_LANES", fmt::format("{}.bit_length() - 1", lanes));
  out.grid_sizes.push_back(length);
}

// Batcher's bitonic network, along the rows of `key`. In one piece: the interpreter takes a
// millisecond for each call of a function.
void sort_keys(RowTile& tile) {
  KernelText& kernel = tile.kernel;
  const char* const all = tile.rows_axis != 0 ? "ROWS * LANES" : "LANES";
  kernel.constant("LOG_LANES");
  kernel.format("key = tl.reshape(key, [{}])", all);
  kernel.open("for stage in tl.static_range(1, LOG_LANES + 1):");
  kernel.open("for step in tl.static_range(0, stage):");
  // Elements 1 << (stage - 1 - step) apart are exchanged.
  kernel.format(
      "pairs = tl.reshape(key, [{} // (2 << (stage - 1 - step)), 2, 1 << (stage - 1 - "
      "step)])",
      all);
  kernel.line("a, b = tl.split(tl.permute(pairs, (0, 2, 1)))");
  kernel.format(
      "first = tl.arange(0, {} // (2 << (stage - 1 - step)))[:, None] * (2 << (stage - 1 "
      "- step)) % LANES",
      all);
  kernel.line("swap = (a > b) != ((first & (1 << stage)) != 0)");
  kernel.line("pairs = tl.join(tl.where(swap, b, a), tl.where(swap, a, b))");
  kernel.format("key = tl.reshape(tl.permute(pairs, (0, 2, 1)), [{}])", all);
  kernel.close();
  kernel.close();
  kernel.format("key = tl.reshape(key, {})", kernel.shape(tile.axes()));
}

}  // namespace

std::optional<Launch> row_sort_kernel(const Program& program, const Sort& sort,
                                      const std::string& name, const TritonTuning& tuning) {
  const Buffer& in = program.buffers[static_cast<std::size_t>(sort.in)];
  const DType dtype = in.type.dtype;
  if (tensor::size_of(dtype) > 4 || in.type.shape.empty()) return std::nullopt;
  std::vector<Loop> rows = loops_over(in.type.shape, "@s");
  const Loop last = rows.back();
  rows.pop_back();
  const std::int64_t lanes = power_of_2(traced_count(program, {last}));
  if (lanes < 2 || lanes > kLongestRow) return std::nullopt;
  Tiling tiling;
  tiling.lanes = static_cast<int>(lanes);
  tiling.rows = static_cast<int>(std::clamp<std::int64_t>(
      std::min(power_of_2(traced_count(program, rows)), kTile / lanes), 1, kMaxRows));
  RowTile tile(program, name, rows, tiling, true);
  KernelText& kernel = tile.kernel;
  tile.open(last.extent);
  const std::string pointer = kernel.pointer(sort.in), length = kernel.size(last.extent);
  const std::string kept = kernel.size(sort.first ? *sort.first : last.extent);
  const std::string mask = kernel.mask(tile.axes(), nullptr).text;
  const char* const wide = tensor::is_floating(dtype) ? ".to(tl.float32)" : "";
  kernel.format("x = tl.load({} + row * {} + {}, mask={}, other=0){}", pointer, length, tile.lane,
                mask, wide);
  const std::string order = ordered(kernel, dtype, "x");
  // Equal ones stay in their order.
  kernel.format("key = (({}{}).to(tl.int64) << 32) | {}", order, sort.descending ? " ^ -1" : "",
                tile.lane);
  kernel.format("key = tl.where({}, key, 9223372036854775807)", tile.mask.text);
  sort_keys(tile);
  kernel.line("place = key & 4294967295");
  kernel.format("kept = ({}) & ({} < {})", mask, tile.lane, kept);
  kernel.format("value = tl.load({} + row * {} + place, mask=kept, other=0)", pointer, length);
  kernel.format("tl.store({} + row * {} + {}, value, mask=kept)", kernel.pointer(sort.values), kept,
                tile.lane);
  kernel.format("tl.store({} + row * {} + {}, place, mask=kept)", kernel.pointer(sort.indices),
                kept, tile.lane);
  Launch out = tile.launch();
  set_tile(out, count_of(rows), last.extent);
  if (last.extent.constant()) return out;
  return limited(std::move(out), last.extent, kLongestRow,
                 sort_kernel(program, sort, "long_" + name, tuning));
}

}  // namespace kw::writer::triton
