#include "writer/triton/row_tile.h"

#include <algorithm>

#include "writer/fusion/fusion.h"

namespace kw::writer::triton {

RowTile::RowTile(const Program& program, const std::string& name, const std::vector<Loop>& rows,
                 const Tiling& given, bool is_whole)
    : kernel(program, name),
      printer(kernel),
      tiling(given),
      count_(count_of(rows)),
      is_tile_(given.rows > 1),
      is_whole_(is_whole) {
  if (is_tile_) rows_axis = kernel.add_axis("ROWS", 0);
  lanes_axis = kernel.add_axis("LANES", is_tile_ ? 1 : 0);
  if (is_tile_) {
    kernel.format("row = (tl.program_id(0).to(tl.int64) * ROWS + tl.arange(0, ROWS)){}",
                  kernel.expand(rows_axis));
    kernel.format("row_mask = row < {}", kernel.size(count_));
    kernel.set_mask(rows_axis, {"row_mask", rows_axis});
  } else {
    kernel.line("row = tl.program_id(0).to(tl.int64)");
  }
  for (const char* word : {"row", "row_mask"}) kernel.fresh(word);
  kernel.bind(Flat{"row", "i", rows, rows_axis});
}

void RowTile::open(const IntExpr& count) {
  const std::string last = kernel.size(count);
  if (is_whole_) {
    if (!mask.text.empty()) return;
    lane = kernel.fresh("lane");
    kernel.format("{} = tl.arange(0, LANES){}.to(tl.int64)", lane, kernel.expand(lanes_axis));
    mask = {kernel.fresh("lane_mask"), lanes_axis};
    kernel.format("{} = {} < {}", mask.text, lane, last);
  } else {
    const std::string start = kernel.fresh("start");
    lane = kernel.fresh("lane");
    const std::string mask_name = kernel.fresh("lane_mask");
    const std::size_t scope =
        kernel.open(fmt::format("for {} in range(0, {}, LANES):", start, last));
    kernel.format("{} = {} + tl.arange(0, LANES){}.to(tl.int64)", lane, start,
                  kernel.expand(lanes_axis));
    kernel.format("{} = {} < {}", mask_name, lane, last);
    mask = {mask_name, lanes_axis, kAtom, scope};
  }
  kernel.set_mask(lanes_axis, mask);
}

void RowTile::open(const std::vector<Loop>& lanes) {
  open(count_of(lanes));
  kernel.bind(Flat{lane, "j", lanes, lanes_axis});
}

void RowTile::close() {
  if (!is_whole_) kernel.close();
}

std::string RowTile::shape_of_rows() const {
  return is_tile_ ? kernel.shape(rows_axis) : "[1]";
}

void RowTile::store(BufferId out, const std::vector<Loop>& loops, const Text& value) {
  const Text at = kernel.integer(row_major(loops));
  const Text existing = kernel.mask(at.axes, nullptr);
  const std::string place = at.text == "0"
                                ? kernel.pointer(out)
                                : fmt::format("{} + {}", kernel.pointer(out), wrapped(at, kSum));
  kernel.format("tl.store({}, {}{})", place, value.text,
                existing.text.empty() ? "" : ", mask=" + existing.text);
}

Launch RowTile::launch() {
  Launch out = finished(kernel, printer);
  out.grid =
      is_tile_ ? fmt::format("triton.cdiv({}, {})", count_.python(), tiling.rows) : count_.python();
  out.grid_sizes = {count_};
  if (is_tile_) out.constants.emplace_back("ROWS", fmt::format("{}", tiling.rows));
  out.constants.emplace_back("LANES", fmt::format("{}", tiling.lanes));
  out.tiling = is_tile_ ? fmt::format("ROWS={} LANES={}", tiling.rows, tiling.lanes)
                        : fmt::format("LANES={}", tiling.lanes);
  out.warps = tiling.rows * tiling.lanes >= 4096 ? 8 : 4;
  return out;
}

std::int64_t power_of_2(std::int64_t value) {
  std::int64_t out = 1;
  while (out < value) out *= 2;
  return out;
}

int rows_beside(std::int64_t rows, int lanes) {
  constexpr int kSmallTile = 512;
  if (lanes >= kSmallTile) return 1;
  return static_cast<int>(std::min<std::int64_t>(power_of_2(rows), kSmallTile / lanes));
}

std::int64_t traced_count(const Program& program, const std::vector<Loop>& loops) {
  const auto out = count_of(loops).evaluate(program.sizes);
  return out ? *out : 1;
}

}  // namespace kw::writer::triton
