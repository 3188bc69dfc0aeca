// Attention of rows that the engine decoded one by one, to the bits that kw_attention_decode gives
// them: it is compiled after the engine's heads.cu and attention_decode.cu and adds in the same
// order. Keys and values of all rows are in the cache before it begins.
//
// A block has several rows of a sequence whose positions lie in the same tile. Their tiles are then
// the same, in the same splits and warps, and are loaded once for all of them.
constexpr int kGroupRows = KW_GROUP_ROWS;
constexpr int kUsedStages = kStages - 1;  // the last place of each warp's ring has a row's queries
static_assert(kTile == KW_GROUP_POSITIONS, "groups are made of such tiles");
static_assert(kGroupRows <= kWarps && kUsedStages >= 2 && 16 * kPitch * 2 <= kStageBytes,
              "a ring has a place for queries");

struct DecodedInput {
  HeadInput heads;
  const int2* groups;  // [gridDim.z]: first row, count
  // The same as DecodeInput's, for kGroupRows rows of each group.
  float* partial;
  float2* statistics;
  u32* arrived;
  Activation* out;
};

constexpr int kKeyWarps = 4;

// Keys and values of rows into the cache: a block a row, a warp a head.
KW_KERNEL __launch_bounds__(kKeyWarps * 32) kw_keep_keys_values(const HeadInput in) {
  const int row = blockIdx.x, slot = in.slots[row], position = in.positions[row];
  const Angles angles = load_angles(in, position);
  for (int item = KW_HEADS + (int)threadIdx.x / 32; item < KW_HEADS + 2 * KW_KV_HEADS;
       item += kKeyWarps) {
    HeadPairs head[1];
    load_heads(in, row, {item}, head);
    add_to(head[0], load_bias(in, item));
    keep_key_or_value(in, head[0], item, angles, slot, position);
  }
}

__device__ __forceinline__ u16* queries_of(char* shared, int of_group) {
  return (u16*)(shared + of_group * kRingBytes + kUsedStages * kStageBytes);
}

__device__ __forceinline__ void prepare_queries(const HeadInput& in, const DecodePlace& p, int row,
                                                u16* queries) {
  const int warp = threadIdx.x / 32;
  const Angles angles = load_angles(in, in.positions[row]);
  const int numbers[2] = {p.first_head + min(warp, p.heads - 1),
                          p.first_head + min(warp + 4, p.heads - 1)};
  HeadPairs heads[2];
  load_heads(in, row, numbers, heads);
#pragma unroll
  for (int i = 0; i < 2; ++i) {
    add_to(heads[i], load_bias(in, numbers[i]));
    write_query(heads[i], in, warp + i * 4, p.heads, angles, queries);
  }
}

KW_KERNEL __launch_bounds__(kThreads) kw_decoded_attention(const DecodedInput in) {
  extern __shared__ __align__(128) char shared[];
  const int2 group = in.groups[blockIdx.z];
  DecodePlace p = decode_place(in.heads, group.x);
  if ((int)blockIdx.x >= p.splits) return;
  const int warp = threadIdx.x / 32, known = in.heads.positions[group.x + group.y - 1] + 1;
  const u32 ring = shared_address(shared + warp * kRingBytes);
#pragma unroll
  for (int s = 0; s < kUsedStages - 1; ++s)
    load_tile(in.heads, p, known, p.first + warp + s * kWarps, ring + s * kStageBytes);
  int positions[kGroupRows];
  WarpResult results[kGroupRows] = {};
#pragma unroll
  for (int r = 0; r < kGroupRows; ++r) {
    results[r].largest = KW_NEGATIVE_INFINITY;
    if (r >= group.y) continue;
    positions[r] = in.heads.positions[group.x + r];
    prepare_queries(in.heads, p, group.x + r, queries_of(shared, r));
  }
  __syncthreads();
  int stage = 0;
  for (int tile = p.first + warp; tile < p.end; tile += kWarps) {
    const int before = stage == 0 ? kUsedStages - 1 : stage - 1;  // the stage that is free
    load_tile(in.heads, p, known, tile + (kUsedStages - 1) * kWarps, ring + before * kStageBytes);
    copy_async_wait<kUsedStages - 1>();
    __syncwarp();
#pragma unroll
    for (int r = 0; r < kGroupRows; ++r) {
      if (r >= group.y) continue;
      float scores[4];
      score_tile(Queries<false>(queries_of(shared, r)), ring + stage * kStageBytes, scores);
      hide_later(scores, tile, positions[r]);
      add_tile(results[r], scores, ring + stage * kStageBytes);
    }
    __syncwarp();  // the stage is read
    stage = stage == kUsedStages - 1 ? 0 : stage + 1;
  }
#pragma unroll
  for (int r = 0; r < kGroupRows; ++r) {
    if (r >= group.y) continue;
    __syncthreads();  // the rings, and then the row before, are read
    stage_result(results[r], shared);
    __syncthreads();
    p.row = group.x + r;
    write_result({in.partial, in.statistics, in.arrived, in.out}, p,
                 ((i64)blockIdx.z * kGroupRows + r) * gridDim.y + blockIdx.y, shared);
  }
}
