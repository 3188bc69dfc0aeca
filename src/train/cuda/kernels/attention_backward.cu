// Attention's backward pass (attention_common.cu), in two kernels without atomics, so that the same
// batch gives the same bits.
#if KW_WGMMA

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

KW_ATTENTION(by_q, attention_by_q, 64)
KW_ATTENTION(by_q, attention_by_q, 128)
KW_ATTENTION(by_k_v, attention_by_k_v, 64)
KW_ATTENTION(by_k_v, attention_by_k_v, 128)

#endif
