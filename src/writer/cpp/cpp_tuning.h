// CppTuning: the numbers that the C++ strategies leave open.
#pragma once
#include <vector>

namespace kw::writer {

// Numbers of kernels for one core.
struct CppTuning {
  int tile_rows = 0;        // rows of a matmul's sums in registers; 0: as many as the vectors allow
  int tile_vectors = 2;     // vectors of columns of the same tile
  int depth_block = 256;    // steps of a product whose panels are in the cache at once
  int column_block = 8;     // tiles of columns beside each other for one panel of rows
  int lanes = 64;           // partial sums of a long reduction
  int side_by_side = 1024;  // outputs of a strided reduction that are reduced together
  int unroll_windows = 1;   // 0: a window is a loop
  int split_borders = 1;    // 0: conditions stay inside the loops
  int transpose_tile = 64;  // rows and columns of a transposition's block; 0: no blocks
  int stream = 0;           // 1: long outputs are written past the caches
  int vector_bits = 512;    // at most; on a processor with shorter ones the same as 256
};

// visit(name, field, values worth trying). Their order is the one in which a search tries them.
template <typename Visit>
void describe(CppTuning& t, const Visit& visit) {
  visit("tile_vectors", t.tile_vectors, std::vector{1, 2, 3, 4});
  visit("tile_rows", t.tile_rows, std::vector{0, 4, 6, 8, 12, 14});
  visit("depth_block", t.depth_block, std::vector{128, 256, 512, 1024});
  visit("column_block", t.column_block, std::vector{1, 2, 4, 8, 16});
  visit("lanes", t.lanes, std::vector{64, 128, 256});
  visit("side_by_side", t.side_by_side, std::vector{256, 1024, 4096});
  visit("transpose_tile", t.transpose_tile, std::vector{0, 8, 16, 32, 64});
  visit("stream", t.stream, std::vector{0, 1});
  visit("unroll_windows", t.unroll_windows, std::vector{0, 1});
  visit("split_borders", t.split_borders, std::vector{0, 1});
  visit("vector_bits", t.vector_bits, std::vector{256, 512});
}

}  // namespace kw::writer
