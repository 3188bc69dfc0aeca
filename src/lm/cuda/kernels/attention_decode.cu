// Attention of rows that are the only one of their slot in a step (decoding), with all that comes
// between the product with q, k and v and it: bias, norm of heads, rotation, writing of the cache.
//
// A block has one row, one key/value head and up to 8 of the query heads that share it (a "tile"),
// and kSplit positions. Keys and values are read once, straight to shared memory, beginning before
// the kernel before is complete: they are of earlier steps. Both products are on tensor cores; what
// is float32 on the CPU (queries, probabilities) is the sum of two bfloat16 numbers here. Where a
// row has several splits, the last block to end adds them up, always from the first to the last:
// a row's result does not depend on what else is in the batch.
constexpr int kGroup = KW_HEADS / KW_KV_HEADS;
constexpr int kHeadTiles = (kGroup + 7) / 8;
constexpr int kTileHeads = kGroup < 8 ? kGroup : 8;  // of the partial results in memory
constexpr int kTile = 128;                           // positions at once
constexpr int kSplit = kTile * KW_SPLIT_TILES;
constexpr int kThreads = 128;
constexpr int kPitch = KW_HEAD_DIM + 8;  // elements of a row in shared memory: no bank conflicts
constexpr int kScorePitch = kTile + 4;   // float32
constexpr int kProbabilityPitch = kTile + 8;  // bfloat16
constexpr int kOutPitch = KW_HEAD_DIM + 4;    // float32
constexpr int kBlocks = KW_HEAD_DIM / 16;     // blocks of 16 dimensions
constexpr int kMyBlocks = (kBlocks + 3) / 4;  // of a warp, in the second product

// Shared memory: keys (scores and probabilities take their place, and in the end the result), then
// values, queries, the new key and value, numbers of heads.
constexpr int kScoreBytes = 8 * kScorePitch * 4;
constexpr int kProbabilityBytes = 8 * kProbabilityPitch * 2;
constexpr int kTileBytes = kTile * kPitch * 2, kOutBytes = 8 * kOutPitch * 4;
constexpr int kBothScores = kScoreBytes + 2 * kProbabilityBytes;
constexpr int kLargest = kTileBytes > kBothScores ? kTileBytes : kBothScores;
constexpr int kKeyBytes = kLargest > kOutBytes ? kLargest : kOutBytes;
constexpr int kValueAt = kKeyBytes;
constexpr int kQueryAt = kValueAt + kTileBytes;
constexpr int kNewAt = kQueryAt + 2 * 8 * kPitch * 2;
constexpr int kHeadNumbersAt = kNewAt + 2 * KW_HEAD_DIM * 2;
constexpr int kDecodeSharedBytes = kHeadNumbersAt + 3 * 8 * 4 + 16;
static_assert(kDecodeSharedBytes == KW_DECODE_SHARED_BYTES, "the host asks for as much");

struct DecodeInput {
  HeadInput heads;
  const int* row_list;  // [gridDim.z]
  // Partial results: [gridDim.z, G * tiles, gridDim.x, heads of a tile, d], and of each of these
  // heads the largest score and the sum of exponentials.
  float* partial;
  float2* statistics;
  u32* arrived;     // [gridDim.z, G * tiles], zeros
  Activation* out;  // [rows, H d]
};

struct DecodePlace {
  int row, slot, position, kv_head, first_head, heads, first, splits;
};

// Keys and values of positions [first, first + kTile) of earlier steps; zeros after the row's own.
__device__ __forceinline__ void load_tile(const DecodeInput& in, const DecodePlace& p, int first,
                                          char* shared) {
  constexpr int kPieces = KW_HEAD_DIM / 8;  // of 16 bytes
#pragma unroll
  for (int which = 0; which < 2; ++which) {
    const KvElement* from = in.heads.kv + kv_offset(in.heads, p.slot, p.kv_head, which, first);
    char* to = shared + (which == 0 ? 0 : kValueAt);
    for (int i = threadIdx.x; i < kTile * kPieces; i += kThreads) {
      const int position = i / kPieces, piece = i % kPieces;
      char* target = to + position * kPitch * 2 + piece * 16;
      if (first + position < p.position)
        copy_async(shared_address(target), from + (i64)position * KW_HEAD_DIM + piece * 8);
      else if (first + position > p.position)
        *(uint4*)target = make_uint4(0, 0, 0, 0);
    }
  }
  copy_async_commit();
}

// Queries of the tile's heads, and, in the block that has the row's own position, its key and
// value.
__device__ __forceinline__ void prepare_heads(const DecodeInput& in, const DecodePlace& p,
                                              bool has_own, char* shared) {
  const int warp = threadIdx.x / 32, lane = threadIdx.x & 31;
  const float scale = 1.0f / sqrtf((float)KW_HEAD_DIM);
  u16 *upper = (u16*)(shared + kQueryAt), *rest = upper + 8 * kPitch;
  u16* own = (u16*)(shared + kNewAt);
  for (int item = warp; item < 10; item += 4) {
    if (item < p.heads) {
      HeadPairs head = load_head(in.heads, p.row, p.first_head + item);
      rotate_head(head, in.heads, in.heads.q_norm, p.position);
#pragma unroll
      for (int i = 0; i < kPairs; ++i) {
        const int at = lane + 32 * i;
        if (at >= kHalf) continue;
        u32 u, r;
        split_pair(head.first[i] * scale, head.second[i] * scale, u, r);
        upper[item * kPitch + at] = (u16)u;
        upper[item * kPitch + at + kHalf] = (u16)(u >> 16);
        rest[item * kPitch + at] = (u16)r;
        rest[item * kPitch + at + kHalf] = (u16)(r >> 16);
      }
    } else if (item < 8) {
      for (int at = lane; at < KW_HEAD_DIM; at += 32)
        upper[item * kPitch + at] = rest[item * kPitch + at] = 0;
    } else if (has_own) {
      const bool is_key = item == 8;
      HeadPairs head =
          load_head(in.heads, p.row, KW_HEADS + (is_key ? 0 : KW_KV_HEADS) + p.kv_head);
      if (is_key) rotate_head(head, in.heads, in.heads.k_norm, p.position);
      store_head(head, own + (is_key ? 0 : KW_HEAD_DIM));
      if (p.first_head % kGroup == 0)
        store_head(
            head, in.heads.kv + kv_offset(in.heads, p.slot, p.kv_head, is_key ? 0 : 1, p.position));
    }
  }
}

// The new key and value to their place in the tile.
__device__ __forceinline__ void place_own(int place, char* shared) {
  const u32* own = (const u32*)(shared + kNewAt);
  for (int i = threadIdx.x; i < KW_HEAD_DIM; i += kThreads) {
    const bool is_key = i < KW_HEAD_DIM / 2;
    const int at = is_key ? i : i - KW_HEAD_DIM / 2;
    u32* to = (u32*)(shared + (is_key ? 0 : kValueAt) + place * kPitch * 2);
    to[at] = own[i];
  }
}

// Scores of 32 positions a warp, [position, head], into the keys' place.
__device__ __forceinline__ void score_tile(const DecodePlace& p, int first, char* shared) {
  const int warp = threadIdx.x / 32, lane = threadIdx.x & 31, g = lane / 4, t = lane % 4;
  const u16* upper = (const u16*)(shared + kQueryAt) + g * kPitch + 2 * t;
  const u16* rest = upper + 8 * kPitch;
  const u32 keys =
      shared_address(shared) + (warp * 32 + (lane & 15)) * kPitch * 2 + (lane >> 4) * 16;
  float scores[2][4] = {};
#pragma unroll
  for (int k = 0; k < kBlocks; ++k) {
    const u32 u0 = *(const u32*)(upper + k * 16), u1 = *(const u32*)(upper + k * 16 + 8);
    const u32 r0 = *(const u32*)(rest + k * 16), r1 = *(const u32*)(rest + k * 16 + 8);
#pragma unroll
    for (int m = 0; m < 2; ++m) {
      u32 a[4];
      load_matrices(a, keys + m * 16 * kPitch * 2 + k * 32);
      multiply_add(scores[m], a, u0, u1);
      multiply_add(scores[m], a, r0, r1);
    }
  }
  __syncthreads();  // the keys are read
  float* to = (float*)shared;
#pragma unroll
  for (int m = 0; m < 2; ++m) {
#pragma unroll
    for (int c = 0; c < 4; ++c) {
      const int position = warp * 32 + m * 16 + g + (c / 2) * 8, head = 2 * t + c % 2;
      to[head * kScorePitch + position] =
          first + position <= p.position ? scores[m][c] : KW_NEGATIVE_INFINITY;
    }
  }
  __syncthreads();
}

// Heads warp and warp + 4: probabilities relative to the largest score so far.
struct HeadState {
  float largest[2], sum[2];
};

__device__ __forceinline__ void softmax_tile(HeadState& state, char* shared) {
  const int warp = threadIdx.x / 32, lane = threadIdx.x & 31;
  float* corrections = (float*)(shared + kHeadNumbersAt);
#pragma unroll
  for (int h = 0; h < 2; ++h) {
    const int head = warp + 4 * h;
    const float4 s = *(const float4*)(shared + (head * kScorePitch + lane * 4) * 4);
    const float here = warp_max(fmaxf(fmaxf(s.x, s.y), fmaxf(s.z, s.w)));
    const float largest = fmaxf(state.largest[h], here);
    const float correction = exp2_of((state.largest[h] - largest) * kLog2E);
    const float4 e =
        make_float4(exp2_of((s.x - largest) * kLog2E), exp2_of((s.y - largest) * kLog2E),
                    exp2_of((s.z - largest) * kLog2E), exp2_of((s.w - largest) * kLog2E));
    state.sum[h] = state.sum[h] * correction + warp_sum((e.x + e.y) + (e.z + e.w));
    state.largest[h] = largest;
    u32 u0, r0, u1, r1;
    split_pair(e.x, e.y, u0, r0);
    split_pair(e.z, e.w, u1, r1);
    char* to = shared + kScoreBytes + (head * kProbabilityPitch + lane * 4) * 2;
    *(uint2*)to = make_uint2(u0, u1);
    *(uint2*)(to + kProbabilityBytes) = make_uint2(r0, r1);
    if (lane == 0) corrections[head] = correction;
  }
  __syncthreads();
}

// sums += values^T probabilities: [dimension, head], blocks of 16 dimensions in turns of the warps.
__device__ __forceinline__ void add_values(float (&sums)[kMyBlocks][4], char* shared) {
  const int warp = threadIdx.x / 32, lane = threadIdx.x & 31, g = lane / 4, t = lane % 4;
  const float* corrections = (const float*)(shared + kHeadNumbersAt);
  const float c0 = corrections[2 * t], c1 = corrections[2 * t + 1];
  const u16* upper = (const u16*)(shared + kScoreBytes) + g * kProbabilityPitch + 2 * t;
  const u16* rest = upper + 8 * kProbabilityPitch;
  // Matrices of a transposed load: (positions, dimensions) 0-7 x 0-7, 0-7 x 8-15, 8-15 x 0-7, ...
  const u32 values = shared_address(shared + kValueAt) +
                     ((lane & 7) + (lane >> 4) * 8) * kPitch * 2 + ((lane >> 3) & 1) * 16;
#pragma unroll
  for (int b = 0; b < kMyBlocks; ++b) {
    sums[b][0] *= c0;
    sums[b][1] *= c1;
    sums[b][2] *= c0;
    sums[b][3] *= c1;
  }
#pragma unroll
  for (int k = 0; k < kTile / 16; ++k) {
    const u32 u0 = *(const u32*)(upper + k * 16), u1 = *(const u32*)(upper + k * 16 + 8);
    const u32 r0 = *(const u32*)(rest + k * 16), r1 = *(const u32*)(rest + k * 16 + 8);
#pragma unroll
    for (int b = 0; b < kMyBlocks; ++b) {
      if (warp + 4 * b >= kBlocks) continue;
      u32 a[4];
      load_matrices_transposed(a, values + k * 16 * kPitch * 2 + (warp + 4 * b) * 32);
      multiply_add(sums[b], a, u0, u1);
      multiply_add(sums[b], a, r0, r1);
    }
  }
  __syncthreads();  // keys' and values' places are free
}

// Sums as [head, dimension] float32 at the beginning of shared memory; the heads' numbers after the
// corrections.
__device__ __forceinline__ void stage_result(const float (&sums)[kMyBlocks][4],
                                             const HeadState& state, char* shared) {
  const int warp = threadIdx.x / 32, lane = threadIdx.x & 31, g = lane / 4, t = lane % 4;
  float* to = (float*)shared;
  float* numbers = (float*)(shared + kHeadNumbersAt) + 8;
#pragma unroll
  for (int b = 0; b < kMyBlocks; ++b) {
    if (warp + 4 * b >= kBlocks) continue;
#pragma unroll
    for (int c = 0; c < 4; ++c)
      to[(2 * t + c % 2) * kOutPitch + (warp + 4 * b) * 16 + g + (c / 2) * 8] = sums[b][c];
  }
  if (lane == 0) {
#pragma unroll
    for (int h = 0; h < 2; ++h) {
      numbers[warp + 4 * h] = state.largest[h];
      numbers[8 + warp + 4 * h] = state.sum[h];
    }
  }
  __syncthreads();
}

__device__ __forceinline__ void combine(const DecodeInput& in, const DecodePlace& p, i64 place) {
  constexpr int kFours = KW_HEAD_DIM / 4;
  for (int i = threadIdx.x; i < p.heads * kFours; i += kThreads) {
    const int head = i / kFours, at = (i % kFours) * 4;
    float largest = KW_NEGATIVE_INFINITY;
    for (int s = 0; s < p.splits; ++s)
      largest = fmaxf(largest, __ldcg(in.statistics + (place + s) * kTileHeads + head).x);
    float4 sum = make_float4(0, 0, 0, 0);
    float weight = 0;
    for (int s = 0; s < p.splits; ++s) {
      const float2 one = __ldcg(in.statistics + (place + s) * kTileHeads + head);
      const float4 v = __ldcg(
          (const float4*)(in.partial + ((place + s) * kTileHeads + head) * KW_HEAD_DIM + at));
      const float factor = exp2_of((one.x - largest) * kLog2E);
      sum.x += factor * v.x;
      sum.y += factor * v.y;
      sum.z += factor * v.z;
      sum.w += factor * v.w;
      weight += factor * one.y;
    }
    const float inverse = 1.0f / weight;
    store_activations(
        in.out + ((i64)p.row * KW_HEADS + p.first_head + head) * KW_HEAD_DIM + at,
        make_float4(sum.x * inverse, sum.y * inverse, sum.z * inverse, sum.w * inverse));
  }
}

__device__ __forceinline__ void write_result(const DecodeInput& in, const DecodePlace& p,
                                             char* shared) {
  constexpr int kFours = KW_HEAD_DIM / 4;
  const float* sums = (const float*)shared;
  const float* numbers = (const float*)(shared + kHeadNumbersAt) + 8;
  const i64 pair = (i64)blockIdx.z * gridDim.y + blockIdx.y, place = pair * gridDim.x;
  if (p.splits == 1) {
    for (int i = threadIdx.x; i < p.heads * kFours; i += kThreads) {
      const int head = i / kFours, at = (i % kFours) * 4;
      const float4 v = *(const float4*)(sums + head * kOutPitch + at);
      const float inverse = 1.0f / numbers[8 + head];
      store_activations(in.out + ((i64)p.row * KW_HEADS + p.first_head + head) * KW_HEAD_DIM + at,
                        make_float4(v.x * inverse, v.y * inverse, v.z * inverse, v.w * inverse));
    }
    return;
  }
  const i64 mine = place + blockIdx.x;
  for (int i = threadIdx.x; i < p.heads * kFours; i += kThreads) {
    const int head = i / kFours, at = (i % kFours) * 4;
    *(float4*)(in.partial + (mine * kTileHeads + head) * KW_HEAD_DIM + at) =
        *(const float4*)(sums + head * kOutPitch + at);
  }
  if (threadIdx.x < p.heads)
    in.statistics[mine * kTileHeads + threadIdx.x] =
        make_float2(numbers[threadIdx.x], numbers[8 + threadIdx.x]);
  u32* is_last = (u32*)(shared + kHeadNumbersAt + 3 * 8 * 4);
  __threadfence();
  __syncthreads();
  if (threadIdx.x == 0) *is_last = atomicAdd(in.arrived + pair, 1u) == (u32)p.splits - 1;
  __syncthreads();
  if (*is_last == 0) return;
  __threadfence();
  if (threadIdx.x == 0) in.arrived[pair] = 0;  // for the next layer
  combine(in, p, place);
}

KW_KERNEL __launch_bounds__(kThreads) kw_attention_decode(const DecodeInput in) {
  extern __shared__ __align__(128) char shared[];
  let_next_kernel_start();
  DecodePlace p;
  p.row = __ldcg(in.row_list + blockIdx.z);
  p.slot = __ldcg(in.heads.slots + p.row);
  p.position = __ldcg(in.heads.positions + p.row);
  p.kv_head = blockIdx.y / kHeadTiles;
  const int tile_head = (blockIdx.y % kHeadTiles) * 8;
  p.first_head = p.kv_head * kGroup + tile_head;
  p.heads = kGroup - tile_head < 8 ? kGroup - tile_head : 8;
  p.first = blockIdx.x * kSplit;
  p.splits = p.position / kSplit + 1;
  if (p.slot < 0 || p.first > p.position) {
    wait_for_previous_kernel();
    if (p.slot < 0 && blockIdx.x == 0)
      for (int i = threadIdx.x; i < p.heads * KW_HEAD_DIM; i += kThreads)
        store_one(in.out + ((i64)p.row * KW_HEADS + p.first_head) * KW_HEAD_DIM + i, 0.0f);
    return;
  }
  load_tile(in, p, p.first, shared);
  wait_for_previous_kernel();
  const int last = p.position - p.first < kSplit ? p.position : p.first + kSplit - 1;
  const bool has_own = last == p.position;
  prepare_heads(in, p, has_own, shared);
  __syncthreads();
  HeadState state = {{KW_NEGATIVE_INFINITY, KW_NEGATIVE_INFINITY}, {0, 0}};
  float sums[kMyBlocks][4] = {};
  for (int first = p.first; first <= last; first += kTile) {
    if (first > p.first) load_tile(in, p, first, shared);
    if (p.position - first < kTile) place_own(p.position - first, shared);
    copy_async_wait<0>();
    __syncthreads();
    score_tile(p, first, shared);
    softmax_tile(state, shared);
    add_values(sums, shared);
  }
  stage_result(sums, state, shared);
  write_result(in, p, shared);
}
