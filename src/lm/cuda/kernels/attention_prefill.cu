// Attention of rows that are several of one slot in a step (prompts): queries as kw_heads left
// them, keys and values from the cache. A block has up to 64 rows of a slot and one head, and goes
// over the positions in tiles of 64 with a running softmax (FlashAttention-2, arXiv:2307.08691). As
// in decoding, queries and probabilities are sums of two bfloat16 numbers.
constexpr int kRows = 64, kTile = 64, kThreads = 128;
constexpr int kPitch = KW_HEAD_DIM + 8;
constexpr int kBlocks = KW_HEAD_DIM / 16;
constexpr int kRestAt = kRows * kPitch * 2;
constexpr int kTilesAt = 2 * kRestAt;  // two buffers of keys and values
constexpr int kTileBytes = kTile * kPitch * 2;
constexpr int kPositionsAt = kTilesAt + 4 * kTileBytes;
constexpr int kPrefillSharedBytes = kPositionsAt + kRows * 4;
static_assert(kPrefillSharedBytes == KW_PREFILL_SHARED_BYTES, "the host asks for as much");

struct PrefillInput {
  HeadInput heads;
  const int* row_list;
  const int2* tiles;  // [gridDim.x]: first of row_list, count; all of one slot, in order
  Activation* out;    // [rows, H d]
};

struct PrefillPlace {
  int slot, kv_head, head, count, last;  // last: the largest position
  const int* rows;
};

__device__ __forceinline__ void load_queries(const PrefillInput& in, const PrefillPlace& p,
                                             char* shared) {
  constexpr int kFours = KW_HEAD_DIM / 4;
  for (int i = threadIdx.x; i < kRows * kFours; i += kThreads) {
    const int row = i / kFours, at = (i % kFours) * 4;
    float4 q = make_float4(0, 0, 0, 0);
    if (row < p.count)
      q = __ldcg((const float4*)(in.heads.qkv + (i64)__ldcg(p.rows + row) * kQkvWidth +
                                 p.head * KW_HEAD_DIM + at));
    u32 u0, r0, u1, r1;
    split_pair(q.x, q.y, u0, r0);
    split_pair(q.z, q.w, u1, r1);
    char* to = shared + (row * kPitch + at) * 2;
    *(uint2*)to = make_uint2(u0, u1);
    *(uint2*)(to + kRestAt) = make_uint2(r0, r1);
  }
}

__device__ __forceinline__ void load_keys_values(const PrefillInput& in, const PrefillPlace& p,
                                                 int tile, char* shared) {
  constexpr int kPieces = KW_HEAD_DIM / 8;
#pragma unroll
  for (int which = 0; which < 2; ++which) {
    const KvElement* from =
        in.heads.kv + kv_offset(in.heads, p.slot, p.kv_head, which, tile * kTile);
    char* to = shared + kTilesAt + ((tile & 1) * 2 + which) * kTileBytes;
    for (int i = threadIdx.x; i < kTile * kPieces; i += kThreads) {
      const int position = i / kPieces, piece = i % kPieces;
      char* target = to + position * kPitch * 2 + piece * 16;
      if (tile * kTile + position <= p.last)
        copy_async(shared_address(target), from + (i64)position * KW_HEAD_DIM + piece * 8);
      else
        *(uint4*)target = make_uint4(0, 0, 0, 0);
    }
  }
}

// The running result of a warp's 16 rows. A lane has rows g and g + 8.
struct RowState {
  float largest[2], sum[2];
  float out[2 * kBlocks][4];
};

// scores [16, 64] = queries keys^T
__device__ __forceinline__ void score(float (&scores)[8][4], const char* shared, u32 keys) {
  const int warp = threadIdx.x / 32, lane = threadIdx.x & 31;
  const u32 queries =
      shared_address(shared) + (warp * 16 + (lane & 15)) * kPitch * 2 + (lane >> 4) * 16;
  const u32 key = keys + ((lane & 7) + (lane >> 4) * 8) * kPitch * 2 + ((lane >> 3) & 1) * 16;
#pragma unroll
  for (int k = 0; k < kBlocks; ++k) {
    u32 upper[4], rest[4];
    load_matrices(upper, queries + k * 32);
    load_matrices(rest, queries + kRestAt + k * 32);
#pragma unroll
    for (int n = 0; n < 4; ++n) {
      u32 b[4];
      load_matrices(b, key + n * 16 * kPitch * 2 + k * 32);
      multiply_add(scores[2 * n], upper, b[0], b[1]);
      multiply_add(scores[2 * n + 1], upper, b[2], b[3]);
      multiply_add(scores[2 * n], rest, b[0], b[1]);
      multiply_add(scores[2 * n + 1], rest, b[2], b[3]);
    }
  }
}

// Scores become probabilities relative to the largest score so far; what is there is corrected.
__device__ __forceinline__ void soften(float (&scores)[8][4], RowState& state,
                                       const int (&positions)[2], int first) {
  const int t = threadIdx.x & 3;
#pragma unroll
  for (int r = 0; r < 2; ++r) {
    float here = KW_NEGATIVE_INFINITY;
#pragma unroll
    for (int n = 0; n < 8; ++n) {
#pragma unroll
      for (int c = 0; c < 2; ++c) {
        float& one = scores[n][2 * r + c];
        if (first + n * 8 + 2 * t + c > positions[r]) one = KW_NEGATIVE_INFINITY;
        here = fmaxf(here, one);
      }
    }
    here = fmaxf(here, __shfl_xor_sync(0xffffffffu, here, 1));
    here = fmaxf(here, __shfl_xor_sync(0xffffffffu, here, 2));
    const float largest = fmaxf(state.largest[r], here);
    const float correction = exp2_of((state.largest[r] - largest) * kLog2E);
    float sum = 0;
#pragma unroll
    for (int n = 0; n < 8; ++n) {
#pragma unroll
      for (int c = 0; c < 2; ++c) {
        float& one = scores[n][2 * r + c];
        one = exp2_of((one - largest) * kLog2E);
        sum += one;
      }
    }
    state.sum[r] = state.sum[r] * correction + sum;  // of this lane's columns; added up at the end
    state.largest[r] = largest;
#pragma unroll
    for (int n = 0; n < 2 * kBlocks; ++n) {
      state.out[n][2 * r] *= correction;
      state.out[n][2 * r + 1] *= correction;
    }
  }
}

__device__ __forceinline__ void add_values(const float (&scores)[8][4], RowState& state,
                                           u32 values) {
  const int lane = threadIdx.x & 31;
  const u32 value = values + (lane & 15) * kPitch * 2 + (lane >> 4) * 16;
#pragma unroll
  for (int k = 0; k < 4; ++k) {
    u32 upper[4], rest[4];
#pragma unroll
    for (int i = 0; i < 4; ++i)
      split_pair(scores[2 * k + i / 2][(i % 2) * 2], scores[2 * k + i / 2][(i % 2) * 2 + 1],
                 upper[i], rest[i]);
#pragma unroll
    for (int n = 0; n < kBlocks; ++n) {
      u32 b[4];
      load_matrices_transposed(b, value + k * 16 * kPitch * 2 + n * 32);
      multiply_add(state.out[2 * n], upper, b[0], b[1]);
      multiply_add(state.out[2 * n + 1], upper, b[2], b[3]);
      multiply_add(state.out[2 * n], rest, b[0], b[1]);
      multiply_add(state.out[2 * n + 1], rest, b[2], b[3]);
    }
  }
}

__device__ __forceinline__ void write_rows(const PrefillInput& in, const PrefillPlace& p,
                                           RowState& state) {
  const int warp = threadIdx.x / 32, lane = threadIdx.x & 31, g = lane / 4, t = lane % 4;
#pragma unroll
  for (int r = 0; r < 2; ++r) {
    float sum = state.sum[r];
    sum += __shfl_xor_sync(0xffffffffu, sum, 1);
    sum += __shfl_xor_sync(0xffffffffu, sum, 2);
    const int row = warp * 16 + g + r * 8;
    if (row >= p.count) continue;
    const float inverse = 1.0f / sum;
    Activation* to = in.out + ((i64)__ldcg(p.rows + row) * KW_HEADS + p.head) * KW_HEAD_DIM;
#pragma unroll
    for (int n = 0; n < 2 * kBlocks; ++n)
      *(u32*)(to + n * 8 + 2 * t) =
          bf16_pair(state.out[n][2 * r] * inverse, state.out[n][2 * r + 1] * inverse);
  }
}

KW_KERNEL __launch_bounds__(kThreads) kw_attention_prefill(const PrefillInput in) {
  extern __shared__ __align__(128) char shared[];
  let_next_kernel_start();
  wait_for_previous_kernel();
  // The tiles with the most positions stand last in each slot and take the longest: they go first.
  const int2 tile = __ldcg(in.tiles + (gridDim.x - 1 - blockIdx.x));
  PrefillPlace p;
  p.rows = in.row_list + tile.x;
  p.count = tile.y;
  p.head = blockIdx.y;
  p.kv_head = p.head / (KW_HEADS / KW_KV_HEADS);
  p.slot = __ldcg(in.heads.slots + __ldcg(p.rows));
  p.last = __ldcg(in.heads.positions + __ldcg(p.rows + p.count - 1));
  load_keys_values(in, p, 0, shared);
  copy_async_commit();
  load_queries(in, p, shared);
  int* all_positions = (int*)(shared + kPositionsAt);
  if (threadIdx.x < kRows)  // rows that are not there see the first position
    all_positions[threadIdx.x] =
        (int)threadIdx.x < p.count ? __ldcg(in.heads.positions + __ldcg(p.rows + threadIdx.x)) : 0;
  __syncthreads();
  const int warp = threadIdx.x / 32, g = (threadIdx.x & 31) / 4;
  const int positions[2] = {all_positions[warp * 16 + g], all_positions[warp * 16 + g + 8]};
  const int warp_last = __reduce_max_sync(0xffffffffu, max(positions[0], positions[1]));
  RowState state = {};
  state.largest[0] = state.largest[1] = KW_NEGATIVE_INFINITY;
  const int tiles = p.last / kTile + 1;
  for (int i = 0; i < tiles; ++i) {
    if (i + 1 < tiles) load_keys_values(in, p, i + 1, shared);
    copy_async_commit();
    copy_async_wait<1>();
    __syncthreads();
    // A tile that no row of the warp sees would change nothing.
    if (i * kTile <= warp_last) {
      const u32 keys = shared_address(shared + kTilesAt + (i & 1) * 2 * kTileBytes);
      float scores[8][4] = {};
      score(scores, shared, keys);
      soften(scores, state, positions, i * kTile);
      add_values(scores, state, keys + kTileBytes);
    }
    __syncthreads();
  }
  write_rows(in, p, state);
}
