// y += x W^T in the pieces of k in which the engine decodes, and in its order, by blocks that make
// one piece after the other: with many rows there is work for all blocks, and nothing is gained by
// pieces side by side. It is compiled after the engine's matmul.cu.
using AddingMatmul = Matmul<KW_MATMUL_COLUMNS, KW_MATMUL_STAGES, kParts>;

// A lane's pair of sums of a block of 8 columns, in y; null: beyond its ends.
__device__ __forceinline__ float2* pair_in_y(const AddingMatmul& m, int half, int b) {
  const int row = m.row_of(half);
  const int column = m.column_block * m.in.width + b * 8 + 2 * ((int)threadIdx.x & 3);
  const bool is_there = row < m.in.rows && b * 8 < m.in.width && column < m.in.n;
  return is_there ? (float2*)((float*)m.in.y + (i64)row * m.in.pitch + column) : nullptr;
}

// in: as of parts, with k in one piece. piece_steps: kStep columns each, of a piece of k.
KW_KERNEL __launch_bounds__(kThreads)
    kw_adding_matmul(const __grid_constant__ MatmulInput in, const int piece_steps) {
  extern __shared__ __align__(1024) char shared[];
  const AddingMatmul m(in, shared);
  constexpr int kBlocks = AddingMatmul::kBlocks, kStages = KW_MATMUL_STAGES;
  const bool loads = threadIdx.x == 0;
  if (loads) {
    m.begin();
    for (int s = 0; s < kStages; ++s) m.load_rows(s);
  }
  AddingMatmul::Sums sums, piece;
#pragma unroll
  for (int b = 0; b < kBlocks; ++b)
#pragma unroll
    for (int half = 0; half < 2; ++half) {
      const float2* from = pair_in_y(m, half, b);
      const float2 two = from != nullptr ? *from : make_float2(0, 0);
      sums[b][2 * half] = two.x;
      sums[b][2 * half + 1] = two.y;
    }
  __syncthreads();  // the barriers have begun
  int of_piece = 0;
  for (int s = 0; s < m.steps; ++s) {
    barrier_wait(m.barrier(s), s / kStages & 1);
    m.multiply_stage(s, of_piece == 0, piece);
    warpgroup_wait<1>();
    __syncthreads();  // the stage before is read
    if (loads && s > 0) {
      m.load_weights(s - 1 + kStages);
      m.load_rows(s - 1 + kStages);
    }
    if (++of_piece < piece_steps && s + 1 < m.steps) continue;
    of_piece = 0;
    warpgroup_wait<0>();
#pragma unroll
    for (int i = 0; i < kBlocks * 4; ++i) {
      asm volatile("" : "+f"(piece[i / 4][i % 4]));  // it is read after the wait
      sums[i / 4][i % 4] += piece[i / 4][i % 4];
    }
  }
#pragma unroll
  for (int b = 0; b < kBlocks; ++b)
#pragma unroll
    for (int half = 0; half < 2; ++half)
      if (float2* to = pair_in_y(m, half, b))
        *to = make_float2(sums[b][2 * half], sums[b][2 * half + 1]);
}
