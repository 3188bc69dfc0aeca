// Attention's forward pass (attention_common.cu).
#if KW_WGMMA

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

KW_ATTENTION(forward, attention_forward, 64)
KW_ATTENTION(forward, attention_forward, 128)

#endif
