// A program that has a row, or a tile of several, and looks at a block of their lanes at a time.
#pragma once
#include "writer/triton/launch.h"

namespace kw::writer::triton {

class RowTile {
 public:
  // rows: over all of them. is_whole: all lanes of a row are there at once.
  RowTile(const Program& program, const std::string& name, const std::vector<Loop>& rows,
          const Tiling& tiling, bool is_whole);
  RowTile(const RowTile&) = delete;
  RowTile& operator=(const RowTile&) = delete;

  // A loop over blocks of so many lanes, or all of them: `lane` is the number of each, `mask` says
  // which exist. close() ends it.
  void open(const IntExpr& count);
  // .. with these loops' variables taken from the number.
  void open(const std::vector<Loop>& lanes);
  void close();

  unsigned axes() const { return rows_axis | lanes_axis; }
  int lanes_dimension() const { return is_tile_ ? 1 : 0; }
  std::string shape_of_rows() const;  // shape of a value that each row has once
  // Stores into the element of `out` at the row-major place of the loops.
  void store(BufferId out, const std::vector<Loop>& loops, const Text& value);
  Launch launch();

  KernelText kernel;
  ScalarPrinter printer;
  const Tiling tiling;
  unsigned rows_axis = 0, lanes_axis = 0;
  std::string lane;  // the number of a lane in the open loop
  Text mask;

 private:
  IntExpr count_;  // number of rows
  bool is_tile_ = false, is_whole_ = false;
};

std::int64_t power_of_2(std::int64_t value);  // the least that is not smaller
// How many of the rows are in one tile, where each has so many lanes.
int rows_beside(std::int64_t rows, int lanes);
// At the sizes that were traced.
std::int64_t traced_count(const Program& program, const std::vector<Loop>& loops);

}  // namespace kw::writer::triton
