// Causal attention over packed sequences, for compute capability 9.0: forward, and backward without
// atomics, so that the same batch gives the same bits.
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

template <int kDim>
struct ForwardShape {
  static constexpr int kStages = 2, kTileBytes = kTile * kDim * 2;
  using Layout = SharedLayout<kTileBytes, 2 * kTileBytes, kStages>;
};

// Grid: query heads, tiles.
template <int kDim>
__device__ __forceinline__ void attention_forward(const AttentionInput& in) {
  using Shape = ForwardShape<kDim>;
  const typename Shape::Layout shared;
  const int4 tile = in.tiles[blockIdx.y];
  const int head = blockIdx.x, key_head = head / (in.heads_q / in.heads_kv);
  const int first = tile.x, block = tile.w;
  shared.begin_barriers();
  auto ring = shared.ring();
  if (threadIdx.x < 128) {
    give_registers();
    if (threadIdx.x != 0) return;
    barrier_arrive(shared.stay_barrier(), Shape::kTileBytes);
    copy_tile<kTile, kDim>(shared.stays, in.heads, head * kDim, first + block * kTile,
                           shared.stay_barrier());
    for (int n = block; n >= 0; --n, ring.advance()) {
      ring.begin_to_fill(2 * Shape::kTileBytes);
      const u32 place = shared.place(ring.stage);
      copy_tile<kTile, kDim>(place, in.heads, (in.heads_q + key_head) * kDim, first + n * kTile,
                             ring.full_here());
      copy_tile<kTile, kDim>(place + Shape::kTileBytes, in.heads,
                             (in.heads_q + in.heads_kv + key_head) * kDim, first + n * kTile,
                             ring.full_here());
    }
    return;
  }
  take_registers();
  const ThreadPlace place = thread_place();
  u32 q[kDim / 16][4];
  barrier_wait(shared.stay_barrier(), 0);
  load_side<kTile, kDim>(q, shared.stays, kHalf * place.group);
  float out[kDim / 8][4], most[2] = {KW_NEGATIVE_INFINITY, KW_NEGATIVE_INFINITY}, sums[2] = {0, 0};
  clear(out);
  float s[kTile / 8][4];
  ring.await();
  warpgroup_begin();
  multiply_by_rows<kTile, kDim>(s, q, shared.place(ring.stage));
  warpgroup_commit();
  warpgroup_wait<0>();
  mask_later_keys(s, place, 0);
  for (int n = block; n >= 0; --n) {
#pragma unroll
    for (int half = 0; half < 2; ++half) {
      float top = most[half];
#pragma unroll
      for (int b = 0; b < kTile / 8; ++b)
        top = fmaxf(top, fmaxf(s[b][2 * half], s[b][2 * half + 1]));
      top = quad_max(top);
      const float shift = top * in.exponent_scale;
      const float factor = exp2_of(most[half] * in.exponent_scale - shift);
      most[half] = top;
      float sum = 0;
#pragma unroll
      for (int b = 0; b < kTile / 8; ++b)
#pragma unroll
        for (int i = 2 * half; i < 2 * half + 2; ++i) {
          s[b][i] = exp2_of(s[b][i] * in.exponent_scale - shift);
          sum += s[b][i];
        }
      sums[half] = sums[half] * factor + sum;
#pragma unroll
      for (int b = 0; b < kDim / 8; ++b) {
        out[b][2 * half] *= factor;
        out[b][2 * half + 1] *= factor;
      }
    }
    u32 p[kTile / 16][4];
    as_side(p, s);
    // The next tile's scores with this tile's values: one wait for both.
    Ring<Shape::kStages> next = ring;
    next.advance();
    if (n > 0) {
      keep(q, in.zero);
      next.await();
      warpgroup_begin();
      multiply_by_rows<kTile, kDim>(s, q, shared.place(next.stage));
    } else {
      warpgroup_begin();
    }
    add_product<kTile>(out, p, shared.place(ring.stage) + Shape::kTileBytes);
    warpgroup_commit();
    warpgroup_wait<0>();
    ring.leave();
    ring = next;
  }
  const int rows_left = tile.y - block * kTile;
  float* const statistics = in.statistics + head * in.padded + tile.z + block * kTile;
  float factors[2];
#pragma unroll
  for (int half = 0; half < 2; ++half) {
    const float sum = quad_sum(sums[half]);
    const int row = place.row + 8 * half;
    factors[half] = 1 / sum;
    if (place.column == 0)
      statistics[row] =
          row < rows_left ? most[half] * in.exponent_scale + log2f(sum) : -KW_NEGATIVE_INFINITY;
  }
  const i64 pitch = (i64)in.heads_q * kDim;
  store_rows<kDim>(out, place, rows_left, in.out + (first + block * kTile) * pitch + head * kDim,
                   pitch, factors[0], factors[1]);
}

// For a thread's two rows it sums up, over d, the side times the rows of a tile.
template <int kDim>
__device__ __forceinline__ void sum_products(float (&sums)[2], const u32 (&side)[kDim / 16][4],
                                             u32 tile, int first_row) {
  u32 other[kDim / 16][4];
  load_side<kTile, kDim>(other, tile, first_row);
  sums[0] = sums[1] = 0;
#pragma unroll
  for (int j = 0; j < kDim / 16; ++j)
#pragma unroll
    for (int i = 0; i < 4; ++i)
      sums[i & 1] +=
          low_of(side[j][i]) * low_of(other[j][i]) + high_of(side[j][i]) * high_of(other[j][i]);
  sums[0] = quad_sum(sums[0]);
  sums[1] = quad_sum(sums[1]);
}

template <int kDim>
struct QueryShape {
  // Columns of scores: as many as registers allow.
  static constexpr int kKeys = kDim == 64 ? 128 : 64, kStages = kDim == 64 ? 2 : 3;
  static constexpr int kTileBytes = kTile * kDim * 2, kKeyBytes = kKeys * kDim * 2;
  using Layout = SharedLayout<3 * kTileBytes, 2 * kKeyBytes, kStages>;
};

// The derivative by q. Grid: query heads, tiles.
template <int kDim>
__device__ __forceinline__ void attention_by_q(const AttentionInput& in) {
  using Shape = QueryShape<kDim>;
  constexpr int kKeys = Shape::kKeys;
  const typename Shape::Layout shared;
  const int4 tile = in.tiles[blockIdx.y];
  const int head = blockIdx.x, key_head = head / (in.heads_q / in.heads_kv);
  const int first = tile.x, block = tile.w;
  const int last = (block + 1) * (kTile / kKeys) - 1;
  shared.begin_barriers();
  auto ring = shared.ring();
  if (threadIdx.x < 128) {
    give_registers();
    if (threadIdx.x != 0) return;
    barrier_arrive(shared.stay_barrier(), 3 * Shape::kTileBytes);
    copy_tile<kTile, kDim>(shared.stays, in.heads, head * kDim, first + block * kTile,
                           shared.stay_barrier());
    copy_tile<kTile, kDim>(shared.stays + Shape::kTileBytes, in.by_out, head * kDim,
                           first + block * kTile, shared.stay_barrier());
    copy_tile<kTile, kDim>(shared.stays + 2 * Shape::kTileBytes, in.attended, head * kDim,
                           first + block * kTile, shared.stay_barrier());
    for (int n = last; n >= 0; --n, ring.advance()) {
      ring.begin_to_fill(2 * Shape::kKeyBytes);
      const u32 place = shared.place(ring.stage);
      copy_tile<kKeys, kDim>(place, in.heads, (in.heads_q + key_head) * kDim, first + n * kKeys,
                             ring.full_here());
      copy_tile<kKeys, kDim>(place + Shape::kKeyBytes, in.heads,
                             (in.heads_q + in.heads_kv + key_head) * kDim, first + n * kKeys,
                             ring.full_here());
    }
    return;
  }
  take_registers();
  const ThreadPlace place = thread_place();
  const i64 row = head * in.padded + tile.z + block * kTile + place.row;
  const float statistics[2] = {in.statistics[row], in.statistics[row + 8]};
  u32 q[kDim / 16][4], by_out[kDim / 16][4];
  barrier_wait(shared.stay_barrier(), 0);
  load_side<kTile, kDim>(q, shared.stays, kHalf * place.group);
  load_side<kTile, kDim>(by_out, shared.stays + Shape::kTileBytes, kHalf * place.group);
  float deltas[2];
  sum_products<kDim>(deltas, by_out, shared.stays + 2 * Shape::kTileBytes, kHalf * place.group);
#pragma unroll
  for (int half = 0; half < 2; ++half) {
    if (place.row + 8 * half >= tile.y - block * kTile) deltas[half] = 0;
    if (place.column == 0) in.deltas[row + 8 * half] = deltas[half];
  }
  float by_q[kDim / 8][4];
  clear(by_q);
  for (int n = last; n >= 0; --n, ring.advance()) {
    const u32 keys = shared.place(ring.stage), values = keys + Shape::kKeyBytes;
    float s[kKeys / 8][4], by_p[kKeys / 8][4];
    keep(q, in.zero);
    keep(by_out, in.zero);
    ring.await();
    warpgroup_begin();
    multiply_by_rows<kKeys, kDim>(s, q, keys);
    warpgroup_commit();
    multiply_by_rows<kKeys, kDim>(by_p, by_out, values);
    warpgroup_commit();
    warpgroup_wait<1>();
    if ((n + 1) * kKeys > block * kTile) mask_later_keys(s, place, n * kKeys - block * kTile);
#pragma unroll
    for (int b = 0; b < kKeys / 8; ++b)
#pragma unroll
      for (int i = 0; i < 4; ++i)
        s[b][i] = exp2_of(s[b][i] * in.exponent_scale - statistics[i / 2]);
    warpgroup_wait<0>();
#pragma unroll
    for (int b = 0; b < kKeys / 8; ++b)
#pragma unroll
      for (int i = 0; i < 4; ++i) s[b][i] *= by_p[b][i] - deltas[i / 2];
    u32 by_s[kKeys / 16][4];
    as_side(by_s, s);
    warpgroup_begin();
    add_product<kKeys>(by_q, by_s, keys);
    warpgroup_commit();
    warpgroup_wait<0>();
    ring.leave();
  }
  const i64 pitch = (i64)in.heads_q * kDim;
  store_rows<kDim>(by_q, place, tile.y - block * kTile,
                   in.out + (first + block * kTile) * pitch + head * kDim, pitch, in.scale,
                   in.scale);
}

template <int kDim>
struct KeyShape {
  static constexpr int kRows = 64;  // of queries at once
  static constexpr int kStages = 3, kTileBytes = kTile * kDim * 2, kRowBytes = kRows * kDim * 2;
  static constexpr int kNumberBytes = kRows * 4;
  using Layout = SharedLayout<2 * kTileBytes, 2 * kRowBytes + 1024, kStages>;
};

// v's part of the left side: in registers, or in shared memory where registers are few.
template <int kDim>
struct ValueSide {
  u32 side[kDim / 16][4];
  __device__ __forceinline__ ValueSide(u32 tile, int first_row) {
    load_side<kTile, kDim>(side, tile, first_row);
  }
  __device__ __forceinline__ void keep(u32 zero) { ::keep(side, zero); }
  template <int kEights>
  __device__ __forceinline__ void multiply(float (&c)[kEights][4], u32 rows) const {
    multiply_by_rows<KeyShape<kDim>::kRows, kDim>(c, side, rows);
  }
};
template <>
struct ValueSide<128> {
  u32 tile;
  __device__ __forceinline__ ValueSide(u32 whole, int first_row) : tile(whole + first_row * 128) {}
  __device__ __forceinline__ void keep(u32 /*zero*/) {}
  __device__ __forceinline__ void multiply(float (&c)[8][4], u32 rows) const {
#pragma unroll
    for (int j = 0; j < 8; ++j)
      warpgroup_multiply(
          c, matrix_descriptor(tile + box_of(kTile, j / 4) + 32 * (j % 4)),
          matrix_descriptor(rows + box_of(KeyShape<128>::kRows, j / 4) + 32 * (j % 4)), j > 0);
  }
};

// The derivatives by k and v. Grid: key heads times parts, tiles (of keys).
template <int kDim>
__device__ __forceinline__ void attention_by_k_v(const AttentionInput& in) {
  using Shape = KeyShape<kDim>;
  constexpr int kRows = Shape::kRows;
  const typename Shape::Layout shared;
  const int4 tile = in.tiles[blockIdx.y];
  const int key_head = blockIdx.x % in.heads_kv, part = blockIdx.x / in.heads_kv;
  const int group = in.heads_q / in.heads_kv;
  const int head_begin = key_head * group + part * group / in.parts;
  const int head_end = key_head * group + (part + 1) * group / in.parts;
  const int first = tile.x, block = tile.w;
  const int row_begin = block * (kTile / kRows), row_end = (tile.y + kRows - 1) / kRows;
  shared.begin_barriers();
  auto ring = shared.ring();
  if (threadIdx.x < 128) {
    give_registers();
    if (threadIdx.x != 0) return;
    barrier_arrive(shared.stay_barrier(), 2 * Shape::kTileBytes);
    copy_tile<kTile, kDim>(shared.stays, in.heads, (in.heads_q + key_head) * kDim,
                           first + block * kTile, shared.stay_barrier());
    copy_tile<kTile, kDim>(shared.stays + Shape::kTileBytes, in.heads,
                           (in.heads_q + in.heads_kv + key_head) * kDim, first + block * kTile,
                           shared.stay_barrier());
    for (int head = head_begin; head < head_end; ++head)
      for (int m = row_begin; m < row_end; ++m, ring.advance()) {
        ring.begin_to_fill(2 * Shape::kRowBytes + 2 * Shape::kNumberBytes);
        const u32 place = shared.place(ring.stage);
        copy_tile<kRows, kDim>(place, in.heads, head * kDim, first + m * kRows, ring.full_here());
        copy_tile<kRows, kDim>(place + Shape::kRowBytes, in.by_out, head * kDim, first + m * kRows,
                               ring.full_here());
        const i64 number = head * in.padded + tile.z + m * kRows;
        copy_numbers(place + 2 * Shape::kRowBytes, in.statistics + number, Shape::kNumberBytes,
                     ring.full_here());
        copy_numbers(place + 2 * Shape::kRowBytes + Shape::kNumberBytes, in.deltas + number,
                     Shape::kNumberBytes, ring.full_here());
      }
    return;
  }
  take_registers();
  const ThreadPlace place = thread_place();
  u32 k[kDim / 16][4];
  barrier_wait(shared.stay_barrier(), 0);
  load_side<kTile, kDim>(k, shared.stays, kHalf * place.group);
  ValueSide<kDim> v(shared.stays + Shape::kTileBytes, kHalf * place.group);
  float by_k[kDim / 8][4], by_v[kDim / 8][4];
  clear(by_k);
  clear(by_v);
  for (int head = head_begin; head < head_end; ++head)
    for (int m = row_begin; m < row_end; ++m, ring.advance()) {
      const u32 queries = shared.place(ring.stage), by_out = queries + Shape::kRowBytes;
      const u32 numbers = by_out + Shape::kRowBytes;
      float s[kRows / 8][4], by_p[kRows / 8][4];  // transposed: a key's row
      keep(k, in.zero);
      v.keep(in.zero);
      ring.await();
      warpgroup_begin();
      multiply_by_rows<kRows, kDim>(s, k, queries);
      warpgroup_commit();
      v.multiply(by_p, by_out);
      warpgroup_commit();
      warpgroup_wait<1>();
      if ((m + 1) * kRows <= (block + 1) * kTile)
        mask_earlier_queries(s, place, m * kRows - block * kTile);
#pragma unroll
      for (int b = 0; b < kRows / 8; ++b) {
        const float2 statistics = load_shared_pair(numbers + 4 * (8 * b + place.column));
#pragma unroll
        for (int i = 0; i < 4; ++i)
          s[b][i] =
              exp2_of(s[b][i] * in.exponent_scale - ((i & 1) == 0 ? statistics.x : statistics.y));
      }
      u32 side[kRows / 16][4];
      as_side(side, s);
      warpgroup_begin();
      add_product<kRows>(by_v, side, by_out);
      warpgroup_commit();
      warpgroup_wait<1>();
#pragma unroll
      for (int b = 0; b < kRows / 8; ++b) {
        const float2 deltas =
            load_shared_pair(numbers + Shape::kNumberBytes + 4 * (8 * b + place.column));
#pragma unroll
        for (int i = 0; i < 4; ++i) s[b][i] *= by_p[b][i] - ((i & 1) == 0 ? deltas.x : deltas.y);
      }
      u32 by_s[kRows / 16][4];
      as_side(by_s, s);
      warpgroup_begin();
      add_product<kRows>(by_k, by_s, queries);
      warpgroup_commit();
      warpgroup_wait<0>();
      ring.leave();
    }
  const i64 pitch = (i64)in.heads_kv * kDim;
  const i64 begin = (part * in.tokens + first + block * kTile) * pitch + key_head * kDim;
  const int rows_left = tile.y - block * kTile;
  store_rows<kDim>(by_k, place, rows_left, in.by_k + begin, pitch, in.scale, in.scale);
  store_rows<kDim>(by_v, place, rows_left, in.by_v + begin, pitch, 1, 1);
}

#define KW_ATTENTION(NAME, PASS, DIM)                                          \
  KW_KERNEL __launch_bounds__(kAttentionThreads, 1)                            \
      kw_attention_##NAME##_##DIM(const __grid_constant__ AttentionInput in) { \
    PASS<DIM>(in);                                                             \
  }
KW_ATTENTION(forward, attention_forward, 64)
KW_ATTENTION(forward, attention_forward, 128)
KW_ATTENTION(by_q, attention_by_q, 64)
KW_ATTENTION(by_q, attention_by_q, 128)
KW_ATTENTION(by_k_v, attention_by_k_v, 64)
KW_ATTENTION(by_k_v, attention_by_k_v, 128)

#endif
