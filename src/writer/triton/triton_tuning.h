// TritonTuning: the numbers that the Triton strategies leave open.
#pragma once
#include <vector>

namespace kw::writer {

// Block sizes are powers of two.
struct TritonTuning {
  int block = 1024;   // elements a program, of pointwise kernels
  int outputs = 128;  // outputs a program, where each is reduced in a loop
  int lanes = 2048;   // elements of a row at once, in a loop over them
  int whole_row = 0;  // rows up to this length at once, without a loop
  int online = 0;     // 1: softmax's maximum and sum in one pass
  int chunk = 0;      // terms of a part, of long reductions of few outputs; 0: none is split
  int product_m = 64, product_n = 64, product_k = 32;
  int warps = 0;   // warps of every kernel; 0: 8 for large tiles of matmuls, else 4
  int stages = 0;  // stages of the loops of matmuls; 0: Triton's own number
};

// visit(name, field, values worth trying). Their order is the one in which a search tries them.
template <typename Visit>
void describe(TritonTuning& t, const Visit& visit) {
  visit("product_m", t.product_m, std::vector{32, 64, 128});
  visit("product_n", t.product_n, std::vector{32, 64, 128, 256});
  visit("product_k", t.product_k, std::vector{16, 32, 64});
  visit("stages", t.stages, std::vector{0, 2, 3, 4});
  visit("warps", t.warps, std::vector{0, 2, 4, 8});
  visit("block", t.block, std::vector{256, 512, 1024, 2048, 4096});
  visit("lanes", t.lanes, std::vector{512, 1024, 2048, 4096});
  visit("whole_row", t.whole_row, std::vector{0, 8192, 16384});
  visit("outputs", t.outputs, std::vector{32, 64, 128, 256});
  visit("chunk", t.chunk, std::vector{4096, 16384, 65536});
  visit("online", t.online, std::vector{0, 1});
}

}  // namespace kw::writer
