// Causal attention over packed sequences, for compute capability 9.0: what its passes share. The
// forward pass is in attention_forward.cu, the backward pass in attention_backward.cu; all three
// are compiled as one.
//
// A block of threads is a warp that copies and two warpgroups that compute, 64 rows each of a tile
// of 128. The scores' products have their left side in registers: q in the forward pass, q and the
// derivative of out for the derivative by q, k and v for those by k and v. There the scores are
// transposed, and what a thread has of them is then the left side of the next product as it is.
// FlashAttention-2 (arXiv 2307.08691) has the formulas.
//
// Probabilities are powers of two: exp(s / sqrt(d)) = exp2(s * exponent_scale). `statistics` has
// the logarithm to base 2 of each row's sum of them. Rows behind a sequence's end have infinity
// there, so that their probabilities are 0.
#if KW_WGMMA

struct AttentionInput {
  TensorMap heads;     // [T, (H + 2 G) d]: q, k and v; boxes of 64 rows
  TensorMap attended;  // [T, H d]: out of the forward pass; backward
  TensorMap by_out;    // [T, H d]; backward
  const int4* tiles;   // of sequences: first token, tokens, first statistic, number of the tile
  u16* out;            // [T, H, d]; backward: the derivative by q
  u16* by_k;           // [parts, T, G, d]: each part has some of the query heads of a key head
  u16* by_v;
  float* statistics;   // [H, P]
  float* deltas;       // [H, P]: sums over d of out times the derivative by it; by_q writes them
  i64 tokens, padded;  // T and P
  float exponent_scale, scale;
  int heads_q, heads_kv, parts;
  u32 zero;  // keep()
};

constexpr int kTile = 128, kHalf = 64;  // rows of a block of threads, and of a warpgroup
constexpr int kAttentionThreads = 384;
constexpr u32 kBoxBytes = kHalf * 128;

// A tile of `rows` rows lies in boxes of 64 columns, one behind the other: this is where box c
// begins.
__device__ __forceinline__ u32 box_of(int rows, int c) {
  return c * rows * 128;
}

// It begins to copy kRows rows of kDim columns from `row` and `column` on; the barrier counts their
// bytes.
template <int kRows, int kDim>
__device__ __forceinline__ void copy_tile(u32 shared, const TensorMap& map, int column, int row,
                                          u32 barrier) {
#pragma unroll
  for (int c = 0; c < kDim / 64; ++c)
#pragma unroll
    for (int r = 0; r < kRows / 64; ++r)
      copy_box(shared + box_of(kRows, c) + r * kBoxBytes, map, column + 64 * c, row + 64 * r,
               barrier);
}
__device__ __forceinline__ void copy_numbers(u32 shared, const float* from, u32 bytes,
                                             u32 barrier) {
  asm volatile(
      "cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes [%0], [%1], %2, [%3];" ::
          "r"(shared),
      "l"(from), "r"(bytes), "r"(barrier)
      : "memory");
}
__device__ __forceinline__ void barrier_arrive(u32 barrier) {
  asm volatile("mbarrier.arrive.shared.b64 _, [%0];" ::"r"(barrier) : "memory");
}

// The warps that copy give registers to those that compute.
__device__ __forceinline__ void give_registers() {
  asm volatile("setmaxnreg.dec.sync.aligned.u32 24;");
}
__device__ __forceinline__ void take_registers() {
  asm volatile("setmaxnreg.inc.sync.aligned.u32 240;");
}

// The right side of a product, at a box of 64 columns. Plain: [N, k], 16 of k are 32 bytes on.
// Crossed: [k, N], 16 of k are 2048 bytes on; columns over 64 are in the next box of so many rows.
__device__ __forceinline__ u64 plain_side(u32 shared) {
  return matrix_descriptor(shared);
}
__device__ __forceinline__ u64 crossed_side(u32 shared, int rows) {
  constexpr u64 kSwizzle128 = 1ull << 62, kEightRows = (u64)(1024 >> 4) << 32;
  return kSwizzle128 | kEightRows | (u64)(rows * 128 >> 4) << 16 | ((shared & 0x3ffff) >> 4);
}

// c [64, N] = a [64, 16] b, or this added to c; a in registers as of mma.m16n8k16.
#define KW_MULTIPLY_REGISTERS(NAME, N, NUMBERS, A, B, ADDS, CROSSED, ...)                         \
  __device__ __forceinline__ void NAME(float(&c)[N / 8][4], const u32(&a)[4], u64 b, bool adds) { \
    asm volatile("{\n.reg .pred p;\nsetp.ne.b32 p, " ADDS                                         \
                 ", 0;\n"                                                                         \
                 "wgmma.mma_async.sync.aligned.m64n" #N "k16.f32.bf16.bf16 {" NUMBERS "}, {" A    \
                 "}, " B ", p, 1, 1, " #CROSSED ";\n}"                                            \
                 : __VA_ARGS__                                                                    \
                 : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "l"(b), "r"((u32)adds));           \
  }
#define KW_64 KW_NUMBERS_0 "," KW_NUMBERS_1
#define KW_128 KW_64 "," KW_NUMBERS_2 "," KW_NUMBERS_3
KW_MULTIPLY_REGISTERS(multiply_plain, 64, KW_64, "%32,%33,%34,%35", "%36", "%37", 0,
                      KW_COLUMNS_32(0), KW_COLUMNS_32(1))
KW_MULTIPLY_REGISTERS(multiply_crossed, 64, KW_64, "%32,%33,%34,%35", "%36", "%37", 1,
                      KW_COLUMNS_32(0), KW_COLUMNS_32(1))
KW_MULTIPLY_REGISTERS(multiply_plain, 128, KW_128, "%64,%65,%66,%67", "%68", "%69", 0,
                      KW_COLUMNS_32(0), KW_COLUMNS_32(1), KW_COLUMNS_32(2), KW_COLUMNS_32(3))
KW_MULTIPLY_REGISTERS(multiply_crossed, 128, KW_128, "%64,%65,%66,%67", "%68", "%69", 1,
                      KW_COLUMNS_32(0), KW_COLUMNS_32(1), KW_COLUMNS_32(2), KW_COLUMNS_32(3))

// A left side of a product: 64 rows of a tile in shared memory, in registers.
template <int kRows, int kDim>
__device__ __forceinline__ void load_side(u32 (&side)[kDim / 16][4], u32 tile, int first_row) {
  const int lane = threadIdx.x & 31, warp = (threadIdx.x >> 5) & 3;
#pragma unroll
  for (int j = 0; j < kDim / 16; ++j)
    load_matrices(side[j],
                  tile + box_of(kRows, j / 4) +
                      place_of(first_row + 16 * warp + (lane & 15), 2 * (j % 4) + (lane >> 4)));
}

// c [64, N] = side [64, d] times the tile [N, d] transposed.
template <int kRows, int kDim, int kEights>
__device__ __forceinline__ void multiply_by_rows(float (&c)[kEights][4],
                                                 const u32 (&side)[kDim / 16][4], u32 tile) {
#pragma unroll
  for (int j = 0; j < kDim / 16; ++j)
    multiply_plain(c, side[j], plain_side(tile + box_of(kRows, j / 4) + 32 * (j % 4)), j > 0);
}
// c [64, d] += side [64, rows] times the tile [rows, d].
template <int kRows, int kEights>
__device__ __forceinline__ void add_product(float (&c)[kEights][4],
                                            const u32 (&side)[kRows / 16][4], u32 tile) {
#pragma unroll
  for (int i = 0; i < kRows / 16; ++i)
    multiply_crossed(c, side[i], crossed_side(tile + 2048 * i, kRows), true);
}

// It rounds results for the left side of the next product.
template <int kEights>
__device__ __forceinline__ void as_side(u32 (&side)[kEights / 2][4], const float (&c)[kEights][4]) {
#pragma unroll
  for (int i = 0; i < kEights / 2; ++i) {
    side[i][0] = bf16_pair(c[2 * i][0], c[2 * i][1]);
    side[i][1] = bf16_pair(c[2 * i][2], c[2 * i][3]);
    side[i][2] = bf16_pair(c[2 * i + 1][0], c[2 * i + 1][1]);
    side[i][3] = bf16_pair(c[2 * i + 1][2], c[2 * i + 1][3]);
  }
}

template <int kEights>
__device__ __forceinline__ void clear(float (&c)[kEights][4]) {
#pragma unroll
  for (int b = 0; b < kEights; ++b) c[b][0] = c[b][1] = c[b][2] = c[b][3] = 0;
}

// A left side that stays through a loop must be used by another instruction in each round:
// ptxas 13.0 does not see that a product in the next round still needs its registers, and gives
// them away. zero: 0, which the compiler does not know.
template <int kSixteens>
__device__ __forceinline__ void keep(u32 (&side)[kSixteens][4], u32 zero) {
#pragma unroll
  for (int j = 0; j < kSixteens; ++j)
#pragma unroll
    for (int i = 0; i < 4; ++i) side[j][i] ^= zero;
}

// A thread has two of a warpgroup's 64 rows, and two columns of each eight, of which this is the
// first one.
struct ThreadPlace {
  int group, row, column;  // rows are `row` and `row` + 8 of the tile
};
__device__ __forceinline__ ThreadPlace thread_place() {
  const int lane = threadIdx.x & 31, warp = (threadIdx.x >> 5) & 3, group = threadIdx.x / 128 - 1;
  return {group, kHalf * group + 16 * warp + lane / 4, 2 * (lane % 4)};
}

// It stores the rows of c that belong to the sequence, times the factors. to: the tile's first row.
template <int kDim>
__device__ __forceinline__ void store_rows(const float (&c)[kDim / 8][4], const ThreadPlace& place,
                                           int rows_left, u16* to, i64 pitch, float upper,
                                           float lower) {
#pragma unroll
  for (int half = 0; half < 2; ++half) {
    const int row = place.row + 8 * half;
    if (row >= rows_left) continue;
    u16* const begin = to + row * pitch + place.column;
    const float factor = half == 0 ? upper : lower;
#pragma unroll
    for (int b = 0; b < kDim / 8; ++b)
      *(u32*)(begin + 8 * b) = bf16_pair(c[b][2 * half] * factor, c[b][2 * half + 1] * factor);
  }
}

__device__ __forceinline__ float2 load_shared_pair(u32 shared) {
  float2 v;
  asm volatile("ld.shared.v2.f32 {%0,%1}, [%2];" : "=f"(v.x), "=f"(v.y) : "r"(shared) : "memory");
  return v;
}

__device__ __forceinline__ float quad_max(float v) {
  v = fmaxf(v, __shfl_xor_sync(0xffffffffu, v, 1));
  return fmaxf(v, __shfl_xor_sync(0xffffffffu, v, 2));
}
__device__ __forceinline__ float quad_sum(float v) {
  v += __shfl_xor_sync(0xffffffffu, v, 1);
  return v + __shfl_xor_sync(0xffffffffu, v, 2);
}

// A ring of kStages places in shared memory between the copying thread and the two warpgroups.
template <int kStages>
struct Ring {
  u32 full, empty;  // barriers, 8 bytes each
  int stage = 0;
  u32 phase = 0;

  __device__ __forceinline__ u32 full_here() const { return full + 8 * stage; }
  __device__ __forceinline__ u32 empty_here() const { return empty + 8 * stage; }
  __device__ __forceinline__ void advance() {
    if (++stage == kStages) stage = 0, phase ^= 1;
  }
  __device__ __forceinline__ static void begin(u32 full, u32 empty) {
    for (int i = 0; i < kStages; ++i) {
      barrier_begin(full + 8 * i, 1);
      barrier_begin(empty + 8 * i, 8);  // a thread of each warp that computes
    }
  }
  // The copying thread waits until all warps have left the place, and then expects the bytes.
  __device__ __forceinline__ void begin_to_fill(u32 bytes) const {
    barrier_wait(empty_here(), phase ^ 1);
    barrier_arrive(full_here(), bytes);
  }
  __device__ __forceinline__ void await() const { barrier_wait(full_here(), phase); }
  __device__ __forceinline__ void leave() const {
    __syncwarp();
    if ((threadIdx.x & 31) == 0) barrier_arrive(empty_here());
  }
};

// Shared memory begins at a multiple of 1024 bytes: what stays, then the ring's places, then
// barriers. A place is a multiple of 1024 bytes.
template <int kStay, int kPlace, int kStages>
struct SharedLayout {
  static constexpr u32 kBarriers = kStay + kStages * kPlace;
  static constexpr u32 kBytes = kBarriers + 16 * kStages + 16 + 1024;
  u32 stays, places, barriers;
  __device__ __forceinline__ SharedLayout() {
    extern __shared__ u8 memory[];
    stays = (shared_address(memory) + 1023) & ~1023u;
    places = stays + kStay;
    barriers = stays + kBarriers;
    u32 given;
    asm("mov.u32 %0, %dynamic_smem_size;" : "=r"(given));
    if (given < kBytes) __trap();  // kernels.cc says how much
  }
  __device__ __forceinline__ u32 place(int stage) const { return places + stage * kPlace; }
  // This barrier is for what stays.
  __device__ __forceinline__ u32 stay_barrier() const { return barriers + 16 * kStages; }
  __device__ __forceinline__ Ring<kStages> ring() const {
    return {barriers, barriers + 8 * kStages};
  }
  __device__ __forceinline__ void begin_barriers() const {
    if (threadIdx.x == 0) {
      Ring<kStages>::begin(barriers, barriers + 8 * kStages);
      barrier_begin(stay_barrier(), 1);
      barriers_have_begun();
    }
    __syncthreads();
  }
};

// Scores of keys behind the row's own token become minus infinity. first_column: of the keys, from
// the tile's first row.
template <int kEights>
__device__ __forceinline__ void mask_later_keys(float (&s)[kEights][4], const ThreadPlace& place,
                                                int first_column) {
#pragma unroll
  for (int b = 0; b < kEights; ++b)
#pragma unroll
    for (int i = 0; i < 4; ++i)
      if (first_column + 8 * b + place.column + (i & 1) > place.row + 8 * (i / 2))
        s[b][i] = KW_NEGATIVE_INFINITY;
}

// The same of transposed scores. first_column: of the queries, from the tile's first row.
template <int kEights>
__device__ __forceinline__ void mask_earlier_queries(float (&s)[kEights][4],
                                                     const ThreadPlace& place, int first_column) {
#pragma unroll
  for (int b = 0; b < kEights; ++b)
#pragma unroll
    for (int i = 0; i < 4; ++i)
      if (first_column + 8 * b + place.column + (i & 1) < place.row + 8 * (i / 2))
        s[b][i] = KW_NEGATIVE_INFINITY;
}

// A kernel of a pass for heads of one size.
#define KW_ATTENTION(NAME, PASS, DIM)                                          \
  KW_KERNEL __launch_bounds__(kAttentionThreads, 1)                            \
      kw_attention_##NAME##_##DIM(const __grid_constant__ AttentionInput in) { \
    PASS<DIM>(in);                                                             \
  }

#endif
