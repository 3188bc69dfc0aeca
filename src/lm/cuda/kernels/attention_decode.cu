// Attention of rows that are the only one of their slot in a step (decoding), with all that comes
// between the matmul with q, k and v and it: bias, norm of heads, rotation, writing of the cache.
//
// A block has one row, one key/value head and up to 8 of the query heads that share it (a "tile" of
// heads), and up to kMaxTiles tiles of 16 positions, in turns of its warps. A warp streams its
// keys and values through a ring of its own in shared memory, beginning before the kernel before is
// complete (they are of earlier steps), and waits for no other warp until all are done. Both
// matmuls are on tensor cores; what is float32 on the CPU (queries, probabilities) is the sum of
// two bfloat16 numbers here: rows 0 to 7 of the small side have the upper parts of 8 heads, rows 8
// to 15 the rest of the same. Warps are added up in their order. Where a row has several blocks
// ("splits"), the last to end adds them up, always from the first to the last: a row's result
// depends on its position alone, not on what else is in the batch.
constexpr int kGroup = KW_HEADS / KW_KV_HEADS;
constexpr int kHeadTiles = (kGroup + 7) / 8;
constexpr int kTileHeads = kGroup < 8 ? kGroup : 8;  // of the partial results in memory
constexpr int kThreads = 128, kWarps = kThreads / 32;
constexpr int kTile = 16;                      // positions of a warp at once
constexpr int kMaxTiles = KW_SPLIT_TILES * 8;  // KW_SPLIT_TILES counts 128 positions
constexpr int kStages = KW_HEAD_DIM <= 64 ? 6 : KW_HEAD_DIM <= 128 ? 3 : 2;
constexpr int kPitch = KW_HEAD_DIM + 8;     // elements of a row in shared memory: no bank conflicts
constexpr int kOutPitch = KW_HEAD_DIM + 8;  // float32
constexpr int kBlocks = KW_HEAD_DIM / 16;   // blocks of 16 dimensions

// Shared memory: the warps' rings (in the end their results), queries, the new key and value, the
// largest score and the sum of each warp's heads.
constexpr int kTileBytes = kTile * kPitch * 2, kStageBytes = 2 * kTileBytes;
constexpr int kRingBytes = kStages * kStageBytes;
static_assert(8 * kOutPitch * 4 <= kRingBytes, "a warp's result takes its ring's place");
constexpr int kQueryAt = kWarps * kRingBytes;
constexpr int kNewAt = kQueryAt + 16 * kPitch * 2;
constexpr int kHeadNumbersAt = kNewAt + 2 * KW_HEAD_DIM * 2;
constexpr int kDecodeSharedBytes = kHeadNumbersAt + kWarps * 2 * 8 * 4 + 16;
static_assert(kDecodeSharedBytes == KW_DECODE_SHARED_BYTES, "the host asks for as much");

struct DecodeInput {
  HeadInput heads;
  const int* row_list;  // [gridDim.z]; null: all, in order
  // Partial results: [gridDim.z, G * tiles, gridDim.x, heads of a tile, d], and of each of these
  // heads the largest score and the sum of exponentials.
  float* partial;
  float2* statistics;
  u32* arrived;     // [gridDim.z, G * tiles], zeros
  Activation* out;  // [rows, H d]
};

struct DecodePlace {
  int row, slot, position, kv_head, first_head, heads;
  int splits, first, end;  // tiles [first, end) are this block's
};

__device__ __forceinline__ DecodePlace decode_place(const HeadInput& in, int row) {
  DecodePlace p;
  p.row = row;
  p.slot = __ldcg(in.slots + row);
  p.position = __ldcg(in.positions + row);
  p.kv_head = blockIdx.y / kHeadTiles;
  const int tile_head = (blockIdx.y % kHeadTiles) * 8;
  p.first_head = p.kv_head * kGroup + tile_head;
  p.heads = kGroup - tile_head < 8 ? kGroup - tile_head : 8;
  // Equal splits: one with few positions would take as long as one with many.
  const int tiles = p.position / kTile + 1, wanted = (tiles + kMaxTiles - 1) / kMaxTiles;
  const int each = (tiles + wanted - 1) / wanted;
  p.splits = (tiles + each - 1) / each;
  p.first = blockIdx.x * each;
  p.end = min(tiles, p.first + each);
  return p;
}

// Keys and values of a tile's positions under `known`, zeros for the others. One group of copies
// whether there is such a tile or not.
__device__ __forceinline__ void load_tile(const HeadInput& in, const DecodePlace& p, int known,
                                          int tile, u32 stage) {
  constexpr int kPieces = KW_HEAD_DIM / 8;  // of 16 bytes
  const int lane = threadIdx.x & 31;
  if (tile < p.end) {
#pragma unroll
    for (int which = 0; which < 2; ++which) {
      const KvElement* from = in.kv + kv_offset(in, p.slot, p.kv_head, which, tile * kTile);
#pragma unroll
      for (int j = 0; j < kTile * kPieces / 32; ++j) {
        const int i = j * 32 + lane, position = i / kPieces, piece = i % kPieces;
        copy_async_or_zero(stage + which * kTileBytes + position * kPitch * 2 + piece * 16,
                           from + i * 8, tile * kTile + position < known);
      }
    }
  }
  copy_async_commit();
}

// A warp prepares the queries of heads warp and warp + 4 of the tile, and the row's own key (warp
// 0) or value (warp 1; the others load it for nothing).
struct MyHeads {
  int numbers[3];
  HeadPairs biases[3];

  __device__ __forceinline__ MyHeads(const DecodeInput& in, const DecodePlace& p) {
    const int warp = threadIdx.x / 32;
    numbers[0] = p.first_head + min(warp, p.heads - 1);
    numbers[1] = p.first_head + min(warp + 4, p.heads - 1);
    numbers[2] = KW_HEADS + (warp == 0 ? 0 : KW_KV_HEADS) + p.kv_head;
#pragma unroll
    for (int i = 0; i < 3; ++i) biases[i] = load_bias(in.heads, numbers[i]);
  }
};

// The query of head `item` of the tile, upper parts and rest; zeros where there is no such head.
__device__ __forceinline__ void write_query(HeadPairs& head, const HeadInput& in, int item,
                                            int heads, const Angles& angles, u16* queries) {
  const int lane = threadIdx.x & 31;
  const float scale = 1.0f / sqrtf((float)KW_HEAD_DIM);
  u16 *upper = queries + item * kPitch, *rest = upper + 8 * kPitch;
  rotate_head(head, in, in.q_norm, angles);
#pragma unroll
  for (int k = 0; k < kPairs; ++k) {
    const int at = lane + 32 * k;
    if (at >= kHalf) continue;
    u32 u = 0, r = 0;
    if (item < heads) split_pair(head.first[k] * scale, head.second[k] * scale, u, r);
    upper[at] = (u16)u;
    upper[at + kHalf] = (u16)(u >> 16);
    rest[at] = (u16)r;
    rest[at + kHalf] = (u16)(r >> 16);
  }
}

// Queries, and, in the block that has the row's own position, its key and value.
__device__ __forceinline__ void prepare_heads(const DecodeInput& in, const DecodePlace& p,
                                              const MyHeads& mine, const Angles& angles,
                                              bool has_own, char* shared) {
  const int warp = threadIdx.x / 32;
  HeadPairs heads[3];
  load_heads(in.heads, p.row, mine.numbers, heads);
#pragma unroll
  for (int i = 0; i < 3; ++i) add_to(heads[i], mine.biases[i]);
#pragma unroll
  for (int i = 0; i < 2; ++i)
    write_query(heads[i], in.heads, warp + i * 4, p.heads, angles, (u16*)(shared + kQueryAt));
  if (!has_own || warp >= 2) return;
  const bool is_key = warp == 0;
  if (is_key) rotate_head(heads[2], in.heads, in.heads.k_norm, angles);
  store_head(heads[2], (u16*)(shared + kNewAt) + (is_key ? 0 : KW_HEAD_DIM));
  if (p.first_head % kGroup == 0)
    store_head(heads[2],
               in.heads.kv + kv_offset(in.heads, p.slot, p.kv_head, is_key ? 0 : 1, p.position));
}

// It moves the new key and value to their place in a warp's stage.
__device__ __forceinline__ void place_own(int place, const char* shared, char* stage) {
  const u32* own = (const u32*)(shared + kNewAt);
  for (int i = threadIdx.x & 31; i < KW_HEAD_DIM; i += 32) {
    const bool is_key = i < KW_HEAD_DIM / 2;
    const int at = is_key ? i : i - KW_HEAD_DIM / 2;
    ((u32*)(stage + (is_key ? 0 : kTileBytes) + place * kPitch * 2))[at] = own[i];
  }
}

// A warp's running result. Of a lane, with g = lane / 4 and t = lane % 4: head g; dimensions
// 8 n + 2 t and the next, as matmuls with the probabilities' upper parts and with their rest; of
// the sum its own positions only.
struct WarpResult {
  float out[2 * kBlocks][4];
  float largest, sum;
};

// The queries of all heads as the small side of a matmul with 16 dimensions.
template <bool kKept>  // in registers
struct Queries {
  u32 kept[kKept ? kBlocks : 1][4];
  u32 from;

  __device__ __forceinline__ explicit Queries(const u16* queries) {
    const int lane = threadIdx.x & 31;
    from = shared_address(queries) + (lane & 15) * kPitch * 2 + (lane >> 4) * 16;
    if (!kKept) return;
#pragma unroll
    for (int k = 0; k < (kKept ? kBlocks : 1); ++k) load_matrices(kept[k], from + k * 32);
  }
  __device__ __forceinline__ void get(int k, u32 (&a)[4]) const {
    if (!kKept) {
      load_matrices(a, from + k * 32);
      return;
    }
#pragma unroll
    for (int i = 0; i < 4; ++i) a[i] = kept[kKept ? k : 0][i];
  }
};

// Scores of a lane's head: positions 2 t, 2 t + 1, 2 t + 8, 2 t + 9 of the tile.
template <bool kKept>
__device__ __forceinline__ void score_tile(const Queries<kKept>& queries, u32 stage,
                                           float (&scores)[4]) {
  const int lane = threadIdx.x & 31;
  // Matrices: (positions, dimensions) 0-7 x 0-7, 0-7 x 8-15, 8-15 x 0-7, 8-15 x 8-15.
  const u32 keys = stage + ((lane & 7) + (lane >> 4) * 8) * kPitch * 2 + ((lane >> 3) & 1) * 16;
  float sums[2][2][4] = {};  // even and odd blocks of dimensions; positions 0-7 and 8-15
#pragma unroll
  for (int k = 0; k < kBlocks; ++k) {
    u32 a[4], b[4];
    queries.get(k, a);
    load_matrices(b, keys + k * 32);
    multiply_add(sums[k & 1][0], a, b[0], b[1]);
    multiply_add(sums[k & 1][1], a, b[2], b[3]);
  }
#pragma unroll
  for (int i = 0; i < 4; ++i) {
    const float* even = sums[0][i / 2] + i % 2;
    const float* odd = sums[1][i / 2] + i % 2;
    scores[i] = (even[0] + odd[0]) + (even[2] + odd[2]);
  }
}

// Later positions than the row's are not seen.
__device__ __forceinline__ void hide_later(float (&scores)[4], int tile, int last) {
#pragma unroll
  for (int i = 0; i < 4; ++i) {
    const int position = tile * kTile + 2 * (int)(threadIdx.x & 3) + (i / 2) * 8 + i % 2;
    if (position > last) scores[i] = KW_NEGATIVE_INFINITY;
  }
}

__device__ __forceinline__ float largest_of_four_lanes(float v) {
  v = fmaxf(v, __shfl_xor_sync(0xffffffffu, v, 1));
  return fmaxf(v, __shfl_xor_sync(0xffffffffu, v, 2));
}

// Scores become probabilities relative to the largest so far, and these the small side of the
// matmul with the values.
__device__ __forceinline__ void add_tile(WarpResult& r, const float (&scores)[4], u32 stage) {
  const int lane = threadIdx.x & 31;
  const float here = fmaxf(fmaxf(scores[0], scores[1]), fmaxf(scores[2], scores[3]));
  const float largest = fmaxf(r.largest, largest_of_four_lanes(here));
  const float correction = exp2_of((r.largest - largest) * kLog2E);
  float e[4];
#pragma unroll
  for (int i = 0; i < 4; ++i) e[i] = exp2_of((scores[i] - largest) * kLog2E);
  r.sum = r.sum * correction + ((e[0] + e[1]) + (e[2] + e[3]));
  r.largest = largest;
  u32 a[4];
  split_pair(e[0], e[1], a[0], a[1]);
  split_pair(e[2], e[3], a[2], a[3]);
  // Matrices of a transposed load: (positions, dimensions) 0-7 x 0-7, 8-15 x 0-7, 0-7 x 8-15, ...
  const u32 values = stage + kTileBytes + (lane & 15) * kPitch * 2 + (lane >> 4) * 16;
#pragma unroll
  for (int k = 0; k < kBlocks; ++k) {
    u32 b[4];
    load_matrices_transposed(b, values + k * 32);
#pragma unroll
    for (int half = 0; half < 2; ++half) {
      float(&out)[4] = r.out[2 * k + half];
#pragma unroll
      for (int i = 0; i < 4; ++i) out[i] *= correction;
      multiply_add(out, a, b[2 * half], b[2 * half + 1]);
    }
  }
}

// It moves a warp's result to the place of its ring, as [head, dimension] float32.
__device__ __forceinline__ void stage_result(const WarpResult& r, char* shared) {
  const int warp = threadIdx.x / 32, lane = threadIdx.x & 31, g = lane / 4, t = lane % 4;
  float* to = (float*)(shared + warp * kRingBytes) + g * kOutPitch + 2 * t;
#pragma unroll
  for (int n = 0; n < 2 * kBlocks; ++n)
    *(float2*)(to + n * 8) = make_float2(r.out[n][0] + r.out[n][2], r.out[n][1] + r.out[n][3]);
  float sum = r.sum;
  sum += __shfl_xor_sync(0xffffffffu, sum, 1);
  sum += __shfl_xor_sync(0xffffffffu, sum, 2);
  float* numbers = (float*)(shared + kHeadNumbersAt) + warp * 16;
  if (t == 0) {
    numbers[g] = r.largest;
    numbers[8 + g] = sum;
  }
}

// The memory in which results of a row's splits meet.
struct Partial {
  float* sums;
  float2* statistics;
  u32* arrived;
  Activation* out;  // [rows, H d]
};

// It adds up results that belong to different largest scores.
struct Merged {
  float4 sum;
  float largest, weight;

  __device__ __forceinline__ explicit Merged(float highest)
      : sum(make_float4(0, 0, 0, 0)), largest(highest), weight(0) {}
  __device__ __forceinline__ void add(float4 v, float its_largest, float its_weight) {
    const float factor = exp2_of((its_largest - largest) * kLog2E);
    sum.x += factor * v.x;
    sum.y += factor * v.y;
    sum.z += factor * v.z;
    sum.w += factor * v.w;
    weight += factor * its_weight;
  }
  __device__ __forceinline__ void store(Activation* to) const {
    const float inverse = 1.0f / weight;
    store_activations(
        to, make_float4(sum.x * inverse, sum.y * inverse, sum.z * inverse, sum.w * inverse));
  }
};

__device__ __forceinline__ Activation* output_of(Activation* out, const DecodePlace& p, int head,
                                                 int at) {
  return out + ((i64)p.row * KW_HEADS + p.first_head + head) * KW_HEAD_DIM + at;
}

__device__ __forceinline__ void combine(const Partial& in, const DecodePlace& p, i64 place) {
  constexpr int kFours = KW_HEAD_DIM / 4;
  for (int i = threadIdx.x; i < p.heads * kFours; i += kThreads) {
    const int head = i / kFours, at = (i % kFours) * 4;
    float largest = KW_NEGATIVE_INFINITY;
    for (int s = 0; s < p.splits; ++s)
      largest = fmaxf(largest, __ldcg(in.statistics + (place + s) * kTileHeads + head).x);
    Merged all(largest);
    for (int s = 0; s < p.splits; ++s) {
      const i64 one = (place + s) * kTileHeads + head;
      const float2 numbers = __ldcg(in.statistics + one);
      all.add(__ldcg((const float4*)(in.sums + one * KW_HEAD_DIM + at)), numbers.x, numbers.y);
    }
    all.store(output_of(in.out, p, head, at));
  }
}

// pair: the row's and its heads' number among those of the launch.
__device__ __forceinline__ void write_result(const Partial& in, const DecodePlace& p, i64 pair,
                                             char* shared) {
  constexpr int kFours = KW_HEAD_DIM / 4;
  const float* numbers = (const float*)(shared + kHeadNumbersAt);
  const i64 place = pair * gridDim.x;
  for (int i = threadIdx.x; i < p.heads * kFours; i += kThreads) {
    const int head = i / kFours, at = (i % kFours) * 4;
    float largest = numbers[head];
#pragma unroll
    for (int w = 1; w < kWarps; ++w) largest = fmaxf(largest, numbers[w * 16 + head]);
    Merged all(largest);
#pragma unroll
    for (int w = 0; w < kWarps; ++w)
      all.add(*(const float4*)(shared + w * kRingBytes + (head * kOutPitch + at) * 4),
              numbers[w * 16 + head], numbers[w * 16 + 8 + head]);
    if (p.splits == 1) {
      all.store(output_of(in.out, p, head, at));
      continue;
    }
    const i64 mine = (place + blockIdx.x) * kTileHeads + head;
    *(float4*)(in.sums + mine * KW_HEAD_DIM + at) = all.sum;
    if (at == 0) in.statistics[mine] = make_float2(largest, all.weight);
  }
  if (p.splits == 1) return;
  u32* is_last = (u32*)(shared + kHeadNumbersAt + kWarps * 2 * 8 * 4);
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
  const int row = in.row_list != nullptr ? __ldcg(in.row_list + blockIdx.z) : (int)blockIdx.z;
  const DecodePlace p = decode_place(in.heads, row);
  if (p.slot < 0 || (int)blockIdx.x >= p.splits) {
    wait_for_previous_kernel();
    if (p.slot < 0 && blockIdx.x == 0)
      for (int i = threadIdx.x; i < p.heads * KW_HEAD_DIM; i += kThreads)
        store_one(output_of(in.out, p, 0, i), 0.0f);
    return;
  }
  const int warp = threadIdx.x / 32;
  char* ring = shared + warp * kRingBytes;
  const u32 ring_address = shared_address(ring);
#pragma unroll
  for (int s = 0; s < kStages - 1; ++s)
    load_tile(in.heads, p, p.position, p.first + warp + s * kWarps, ring_address + s * kStageBytes);
  const Angles angles = load_angles(in.heads, p.position);
  const MyHeads mine(in, p);
  wait_for_previous_kernel();
  const int own_tile = p.position / kTile;
  prepare_heads(in, p, mine, angles, own_tile < p.end, shared);
  __syncthreads();
  const Queries<kBlocks <= 8> queries((const u16*)(shared + kQueryAt));
  WarpResult result = {};
  result.largest = KW_NEGATIVE_INFINITY;
  int stage = 0;
  for (int tile = p.first + warp; tile < p.end; tile += kWarps) {
    const int before = stage == 0 ? kStages - 1 : stage - 1;  // the stage that is free
    load_tile(in.heads, p, p.position, tile + (kStages - 1) * kWarps,
              ring_address + before * kStageBytes);
    copy_async_wait<kStages - 1>();
    __syncwarp();
    if (tile == own_tile) {
      place_own(p.position % kTile, shared, ring + stage * kStageBytes);
      __syncwarp();
    }
    float scores[4];
    score_tile(queries, ring_address + stage * kStageBytes, scores);
    hide_later(scores, tile, p.position);
    add_tile(result, scores, ring_address + stage * kStageBytes);
    __syncwarp();  // the stage is read
    stage = stage == kStages - 1 ? 0 : stage + 1;
  }
  stage_result(result, shared);
  __syncthreads();
  write_result({in.partial, in.statistics, in.arrived, in.out}, p,
               (i64)blockIdx.z * gridDim.y + blockIdx.y, shared);
}
