// From the matmul with q, k and v to heads: sum of parts, bias, norm of a head (Qwen3), rotation;
// keys and values into the cache. d = KW_HEAD_DIM, H = KW_HEADS, G = KW_KV_HEADS.
constexpr int kHalf = KW_HEAD_DIM / 2;
constexpr int kPairs = (kHalf + 31) / 32;  // pairs of a head that a lane has
constexpr int kQkvWidth = (KW_HEADS + 2 * KW_KV_HEADS) * KW_HEAD_DIM;

struct HeadInput {
  float* qkv;  // [parts, part_rows, (H + 2 G) d]
  i64 part_rows;
  const float* bias;             // [(H + 2 G) d] or null
  const float *q_norm, *k_norm;  // [d] or null
  const float *cosine, *sine;    // [context, d/2]
  const int *positions, *slots;  // [rows]; slot -1: a row that only fills the step up
  KvElement* kv;                 // [slots, G, keys and values, context, d]
  i64 context;
  int parts;
  float epsilon;
};

__device__ __forceinline__ i64 kv_offset(const HeadInput& in, int slot, int head, int which,
                                         int position) {
  return ((((i64)slot * KW_KV_HEADS + head) * 2 + which) * in.context + position) * KW_HEAD_DIM;
}

// Elements lane + 32 i and d/2 + lane + 32 i of head `head` of [q, k, v].
struct HeadPairs {
  float first[kPairs], second[kPairs];
};

// Bias of a head; it is no kernel's result.
__device__ __forceinline__ HeadPairs load_bias(const HeadInput& in, int head) {
  HeadPairs out = {};
  if (in.bias == nullptr) return out;
#pragma unroll
  for (int i = 0; i < kPairs; ++i) {
    const int at = head * KW_HEAD_DIM + min((int)(threadIdx.x & 31) + 32 * i, kHalf - 1);
    out.first[i] = __ldg(in.bias + at);
    out.second[i] = __ldg(in.bias + at + kHalf);
  }
  return out;
}

__device__ __forceinline__ void add_to(HeadPairs& head, const HeadPairs& other) {
#pragma unroll
  for (int i = 0; i < kPairs; ++i) {
    head.first[i] += other.first[i];
    head.second[i] += other.second[i];
  }
}

// Sums of the parts of some heads, in order; several parts are under way at once. Bias comes last.
template <int kCount>
__device__ __forceinline__ void load_heads(const HeadInput& in, int row, const int (&heads)[kCount],
                                           HeadPairs (&out)[kCount]) {
  constexpr int kBatch = kPairs == 1 ? 8 : 4;
#pragma unroll
  for (int h = 0; h < kCount; ++h) out[h] = {};
  for (int first = 0; first < in.parts; first += kBatch) {
    HeadPairs some[kBatch][kCount];
#pragma unroll
    for (int p = 0; p < kBatch; ++p) {
      if (first + p >= in.parts) break;
      const float* part = in.qkv + ((i64)(first + p) * in.part_rows + row) * kQkvWidth;
#pragma unroll
      for (int h = 0; h < kCount; ++h) {
#pragma unroll
        for (int i = 0; i < kPairs; ++i) {
          const int at = heads[h] * KW_HEAD_DIM + min((int)(threadIdx.x & 31) + 32 * i, kHalf - 1);
          some[p][h].first[i] = __ldcg(part + at);
          some[p][h].second[i] = __ldcg(part + at + kHalf);
        }
      }
    }
#pragma unroll
    for (int p = 0; p < kBatch; ++p) {
      if (first + p >= in.parts) break;
#pragma unroll
      for (int h = 0; h < kCount; ++h) add_to(out[h], some[p][h]);
    }
  }
}

// Of a position: what a lane's pairs are rotated by.
struct Angles {
  float cosine[kPairs], sine[kPairs];
};

__device__ __forceinline__ Angles load_angles(const HeadInput& in, int position) {
  Angles out;
#pragma unroll
  for (int i = 0; i < kPairs; ++i) {
    const int at = min((int)(threadIdx.x & 31) + 32 * i, kHalf - 1);
    out.cosine[i] = __ldg(in.cosine + (i64)position * kHalf + at);
    out.sine[i] = __ldg(in.sine + (i64)position * kHalf + at);
  }
  return out;
}

__device__ __forceinline__ void rotate_head(HeadPairs& head, const HeadInput& in, const float* norm,
                                            const Angles& angles) {
  const int lane = threadIdx.x & 31;
  if (norm != nullptr) {
    float squares = 0;
#pragma unroll
    for (int i = 0; i < kPairs; ++i)
      if (lane + 32 * i < kHalf) squares += sum_of_squares(head.first[i], head.second[i]);
    const float factor = 1.0f / sqrtf(warp_sum(squares) / (float)KW_HEAD_DIM + in.epsilon);
#pragma unroll
    for (int i = 0; i < kPairs; ++i) {
      const int at = lane + 32 * i;
      if (at >= kHalf) continue;
      head.first[i] = head.first[i] * factor * __ldg(norm + at);
      head.second[i] = head.second[i] * factor * __ldg(norm + at + kHalf);
    }
  }
#pragma unroll
  for (int i = 0; i < kPairs; ++i) {
    const float2 pair = rotated(head.first[i], head.second[i], angles.cosine[i], angles.sine[i]);
    head.first[i] = pair.x;
    head.second[i] = pair.y;
  }
}

__device__ __forceinline__ void store_head(const HeadPairs& head, KvElement* to) {
  const int lane = threadIdx.x & 31;
#pragma unroll
  for (int i = 0; i < kPairs; ++i) {
    const int at = lane + 32 * i;
    if (at >= kHalf) continue;
    store_one(to + at, head.first[i]);
    store_one(to + at + kHalf, head.second[i]);
  }
}

// Head `item` >= H of [q, k, v], with its bias: a key or a value into the cache.
__device__ __forceinline__ void keep_key_or_value(const HeadInput& in, HeadPairs& head, int item,
                                                  const Angles& angles, int slot, int position) {
  const bool is_key = item < KW_HEADS + KW_KV_HEADS;
  const int which = is_key ? item - KW_HEADS : item - KW_HEADS - KW_KV_HEADS;
  if (is_key) rotate_head(head, in, in.k_norm, angles);
  store_head(head, in.kv + kv_offset(in, slot, which, is_key ? 0 : 1, position));
}

// Rows of row_list: rotated and scaled queries go back to where they were (float32, part 0), keys
// and values into the cache. One block a row, a warp a head.
KW_KERNEL __launch_bounds__(256) kw_heads(const HeadInput in, const int* row_list) {
  let_next_kernel_start();
  wait_for_previous_kernel();
  const int row = __ldcg(row_list + blockIdx.x), lane = threadIdx.x & 31;
  const int slot = __ldcg(in.slots + row), position = __ldcg(in.positions + row);
  if (slot < 0) return;
  const float scale = 1.0f / sqrtf((float)KW_HEAD_DIM);
  const Angles angles = load_angles(in, position);
  for (int item = threadIdx.x / 32; item < KW_HEADS + 2 * KW_KV_HEADS; item += 8) {
    HeadPairs all[1];
    load_heads(in, row, {item}, all);
    HeadPairs& head = all[0];
    add_to(head, load_bias(in, item));
    if (item < KW_HEADS) {
      rotate_head(head, in, in.q_norm, angles);
      float* to = in.qkv + (i64)row * kQkvWidth + item * KW_HEAD_DIM;
#pragma unroll
      for (int i = 0; i < kPairs; ++i) {
        const int at = lane + 32 * i;
        if (at >= kHalf) continue;
        to[at] = head.first[i] * scale;
        to[at + kHalf] = head.second[i] * scale;
      }
    } else {
      keep_key_or_value(in, head, item, angles, slot, position);
    }
  }
}

// The first positions of a slot into another one. bytes: of a head's keys, or values, of both
// positions (16 at a time); grid (pieces, layers * G * 2).
KW_KERNEL __launch_bounds__(256) kw_copy_slot(uint4* kv, i64 slot_units, i64 layer_units,
                                              i64 plane_units, i64 units, int from, int to) {
  wait_for_previous_kernel();
  const i64 layer = blockIdx.y / (2 * KW_KV_HEADS), plane = blockIdx.y % (2 * KW_KV_HEADS);
  const i64 base = layer * layer_units + plane * plane_units;
  for (i64 i = (i64)blockIdx.x * 256 + threadIdx.x; i < units; i += (i64)gridDim.x * 256)
    kv[base + to * slot_units + i] = __ldcg(kv + base + from * slot_units + i);
}
