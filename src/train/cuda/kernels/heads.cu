// From the product qkv to the attention's operands and back: bias, RMS norm of the heads of q and
// k, rotation. A = heads of q, k and v together; d = head_dim, a multiple of 4.
//
// A group of neighbouring lanes takes one head of one token: a lane has two neighbouring pairs
// (i, i + d/2) or, of heads over 128, twice two. A group's size is the power of two that covers
// d / 4, at most 32.
struct HeadsInput {
  const float* qkv;      // [T, A d]; backward: null where heads are not normed
  const float* bias;     // [A d] or null
  const float* q_norm;   // [d] or null
  const float* k_norm;   // [d] or null
  const float* cosines;  // [positions, d/2]
  const float* sines;
  const i64* positions;  // [T]
  u16* out;              // [T, A, d]; backward: the derivative by qkv
  const u16* by_q;       // backward: [T, heads, d]
  const u16* by_k;       // [parts, T, kv_heads, d], whose sum counts
  const u16* by_v;       // [parts, T, kv_heads, d]
  float* by_bias;        // [blocks, A d]: shares of the derivative by bias, or null
  float* by_norms;       // [blocks, A d]: shares of those by q_norm and k_norm, by head, or null
  i64 tokens;
  int heads, kv_heads, head_dim, group, parts;
  float epsilon;
};

constexpr int kHeadThreads = 256;

// The part of one head that a lane has.
struct HeadPlace {
  i64 token;
  int head, lane;     // lane: in its group
  const float* norm;  // null: not normed
  bool rotates;
};

__device__ __forceinline__ HeadPlace head_place(const HeadsInput& in, i64 token, int head) {
  HeadPlace out;
  out.token = token;
  out.head = head;
  out.lane = threadIdx.x & (in.group - 1);
  out.rotates = head < in.heads + in.kv_heads;
  out.norm = head < in.heads ? in.q_norm : out.rotates ? in.k_norm : nullptr;
  return out;
}
__device__ __forceinline__ i64 offset_of(const HeadsInput& in, const HeadPlace& place) {
  return (place.token * (in.heads + 2 * in.kv_heads) + place.head) * in.head_dim;
}

// Values i, i + 1 in a and i + d/2, i + d/2 + 1 in b, for each i of the lane.
template <int kTwos>
struct Pairs {
  float2 a[kTwos], b[kTwos];
};

// body(j, i) for each i of the lane within the head.
template <int kTwos, typename Body>
__device__ __forceinline__ void for_pairs(const HeadsInput& in, const HeadPlace& place,
                                          const Body& body) {
#pragma unroll
  for (int j = 0; j < kTwos; ++j) {
    const int i = 2 * (place.lane + 32 * j);
    if (i < in.head_dim / 2) body(j, i);
  }
}

__device__ __forceinline__ float2 load_two(const float* from) {
  return *(const float2*)from;
}
__device__ __forceinline__ float2 load_two(const u16* from) {
  const u32 both = *(const u32*)from;
  return make_float2(low_of(both), high_of(both));
}
__device__ __forceinline__ float2 plus(float2 a, float2 b) {
  return make_float2(a.x + b.x, a.y + b.y);
}
__device__ __forceinline__ float2 times(float2 a, float2 b) {
  return make_float2(a.x * b.x, a.y * b.y);
}
__device__ __forceinline__ float2 times(float2 a, float b) {
  return make_float2(a.x * b, a.y * b);
}
__device__ __forceinline__ float dot(float2 a, float2 b) {
  return a.x * b.x + a.y * b.y;
}

// Over the lanes of a group.
__device__ __forceinline__ float group_sum(const HeadsInput& in, float v) {
  for (int step = in.group / 2; step > 0; step /= 2) v += __shfl_xor_sync(0xffffffffu, v, step);
  return v;
}

template <int kTwos, typename T>
__device__ __forceinline__ Pairs<kTwos> load_pairs(const HeadsInput& in, const HeadPlace& place,
                                                   const T* from) {
  Pairs<kTwos> x;
#pragma unroll
  for (int j = 0; j < kTwos; ++j) x.a[j] = x.b[j] = make_float2(0, 0);
  for_pairs<kTwos>(in, place, [&](int j, int i) {
    x.a[j] = load_two(from + i);
    x.b[j] = load_two(from + in.head_dim / 2 + i);
  });
  return x;
}

// Of qkv, with its bias.
template <int kTwos>
__device__ __forceinline__ Pairs<kTwos> load_head(const HeadsInput& in, const HeadPlace& place) {
  Pairs<kTwos> x = load_pairs<kTwos>(in, place, in.qkv + offset_of(in, place));
  if (in.bias == nullptr) return x;
  const Pairs<kTwos> bias = load_pairs<kTwos>(in, place, in.bias + place.head * in.head_dim);
#pragma unroll
  for (int j = 0; j < kTwos; ++j) {
    x.a[j] = plus(x.a[j], bias.a[j]);
    x.b[j] = plus(x.b[j], bias.b[j]);
  }
  return x;
}

template <int kTwos>
__device__ __forceinline__ float inverse_root(const HeadsInput& in, const Pairs<kTwos>& x) {
  float squares = 0;
#pragma unroll
  for (int j = 0; j < kTwos; ++j) squares += dot(x.a[j], x.a[j]) + dot(x.b[j], x.b[j]);
  return 1.0f / sqrtf(group_sum(in, squares) / (float)in.head_dim + in.epsilon);
}

// direction -1 turns back.
template <int kTwos>
__device__ __forceinline__ void rotate(const HeadsInput& in, const HeadPlace& place,
                                       float direction, Pairs<kTwos>& x) {
  const i64 row = in.positions[place.token] * (in.head_dim / 2);
  for_pairs<kTwos>(in, place, [&](int j, int i) {
    const float2 c = load_two(in.cosines + row + i);
    const float2 s = times(load_two(in.sines + row + i), direction);
    const float2 a = x.a[j], b = x.b[j];
    x.a[j] = plus(times(a, c), times(times(b, s), -1.0f));
    x.b[j] = plus(times(b, c), times(a, s));
  });
}

template <int kTwos>
__device__ __forceinline__ void store_head(const HeadsInput& in, const HeadPlace& place,
                                           const Pairs<kTwos>& x) {
  u16* out = in.out + offset_of(in, place);
  for_pairs<kTwos>(in, place, [&](int j, int i) {
    *(u32*)(out + i) = bf16_pair(x.a[j].x, x.a[j].y);
    *(u32*)(out + in.head_dim / 2 + i) = bf16_pair(x.b[j].x, x.b[j].y);
  });
}

// All lanes of a warp stay to the end: groups sum within it.
template <int kTwos>
__device__ __forceinline__ void heads_forward(const HeadsInput& in) {
  const int all = in.heads + 2 * in.kv_heads;
  const i64 tasks = in.tokens * all;
  const i64 task = ((i64)blockIdx.x * kHeadThreads + threadIdx.x) / in.group;
  const bool exists = task < tasks;
  const i64 token = (exists ? task : tasks - 1) / all;
  const HeadPlace place = head_place(in, token, (int)((exists ? task : tasks - 1) - token * all));
  Pairs<kTwos> x = load_head<kTwos>(in, place);
  if (in.q_norm != nullptr) {
    const float inverse = inverse_root(in, x);
    if (place.norm != nullptr) {
      const Pairs<kTwos> scale = load_pairs<kTwos>(in, place, place.norm);
#pragma unroll
      for (int j = 0; j < kTwos; ++j) {
        x.a[j] = times(times(x.a[j], inverse), scale.a[j]);
        x.b[j] = times(times(x.b[j], inverse), scale.b[j]);
      }
    }
  }
  if (place.rotates) rotate(in, place, 1.0f, x);
  if (exists) store_head(in, place, x);
}

template <int kTwos>
__device__ __forceinline__ Pairs<kTwos> load_slopes(const HeadsInput& in, const HeadPlace& place) {
  if (place.head < in.heads)
    return load_pairs<kTwos>(in, place,
                             in.by_q + (place.token * in.heads + place.head) * in.head_dim);
  const int head = (place.head - in.heads) % in.kv_heads;
  const u16* from =
      (place.rotates ? in.by_k : in.by_v) + (place.token * in.kv_heads + head) * in.head_dim;
  Pairs<kTwos> out = load_pairs<kTwos>(in, place, from);
  for (int part = 1; part < in.parts; ++part) {
    from += in.tokens * in.kv_heads * in.head_dim;
    const Pairs<kTwos> more = load_pairs<kTwos>(in, place, from);
#pragma unroll
    for (int j = 0; j < kTwos; ++j) {
      out.a[j] = plus(out.a[j], more.a[j]);
      out.b[j] = plus(out.b[j], more.b[j]);
    }
  }
  return out;
}

// The derivative through the norm of a head (norm.cu has the formula); adds to that by its scale.
template <int kTwos>
__device__ __forceinline__ void norm_backward(const HeadsInput& in, const HeadPlace& place,
                                              Pairs<kTwos>& slopes, Pairs<kTwos>& by_norm) {
  Pairs<kTwos> y = load_head<kTwos>(in, place);
  const Pairs<kTwos> scale = load_pairs<kTwos>(in, place, place.norm);
  const float inverse = inverse_root(in, y);
  float sum = 0;
#pragma unroll
  for (int j = 0; j < kTwos; ++j) {
    y.a[j] = times(y.a[j], inverse);
    y.b[j] = times(y.b[j], inverse);
    by_norm.a[j] = plus(by_norm.a[j], times(slopes.a[j], y.a[j]));
    by_norm.b[j] = plus(by_norm.b[j], times(slopes.b[j], y.b[j]));
    slopes.a[j] = times(slopes.a[j], scale.a[j]);
    slopes.b[j] = times(slopes.b[j], scale.b[j]);
    sum += dot(slopes.a[j], y.a[j]) + dot(slopes.b[j], y.b[j]);
  }
  const float mean = group_sum(in, sum) / (float)in.head_dim;
#pragma unroll
  for (int j = 0; j < kTwos; ++j) {
    slopes.a[j] = times(plus(slopes.a[j], times(y.a[j], -mean)), inverse);
    slopes.b[j] = times(plus(slopes.b[j], times(y.b[j], -mean)), inverse);
  }
}

// Adds up over the groups of the block, in the same order each time -> out [d]. All threads call
// it.
template <int kTwos>
__device__ __forceinline__ void store_share(const HeadsInput& in, const HeadPlace& place,
                                            const Pairs<kTwos>& x, float* out) {
  __shared__ float parts[kHeadThreads * 4 * kTwos];  // [groups, d]
  const int groups = kHeadThreads / in.group, d = in.head_dim;
  float* mine = parts + (int)threadIdx.x / in.group * d;
  __syncthreads();
  for_pairs<kTwos>(in, place, [&](int j, int i) {
    *(float2*)(mine + i) = x.a[j];
    *(float2*)(mine + d / 2 + i) = x.b[j];
  });
  __syncthreads();
  for (int i = threadIdx.x; i < d; i += kHeadThreads) {
    float sum = 0;
    for (int g = 0; g < groups; ++g) sum += parts[g * d + i];
    out[i] = sum;
  }
}

// A block takes one head (blockIdx.x) of many tokens.
template <int kTwos>
__device__ __forceinline__ void heads_backward(const HeadsInput& in) {
  const int groups = kHeadThreads / in.group, head = (int)blockIdx.x;
  const i64 stride = (i64)gridDim.y * groups;
  Pairs<kTwos> by_bias, by_norm;
#pragma unroll
  for (int j = 0; j < kTwos; ++j)
    by_bias.a[j] = by_bias.b[j] = by_norm.a[j] = by_norm.b[j] = make_float2(0, 0);
  HeadPlace place = head_place(in, 0, head);
  // The groups of a warp take neighbouring tokens and end together: those past the last token add
  // 0.
  for (i64 first = (i64)blockIdx.y * groups; first < in.tokens; first += stride) {
    const i64 token = first + (int)threadIdx.x / in.group;
    const bool exists = token < in.tokens;
    place.token = exists ? token : in.tokens - 1;
    Pairs<kTwos> slopes = load_slopes<kTwos>(in, place);
    if (!exists) {
#pragma unroll
      for (int j = 0; j < kTwos; ++j) slopes.a[j] = slopes.b[j] = make_float2(0, 0);
    }
    if (place.rotates) rotate(in, place, -1.0f, slopes);
    if (place.norm != nullptr) norm_backward(in, place, slopes, by_norm);
#pragma unroll
    for (int j = 0; j < kTwos; ++j) {
      by_bias.a[j] = plus(by_bias.a[j], slopes.a[j]);
      by_bias.b[j] = plus(by_bias.b[j], slopes.b[j]);
    }
    if (exists) store_head(in, place, slopes);
  }
  const i64 share = ((i64)blockIdx.y * gridDim.x + head) * in.head_dim;
  if (in.by_bias != nullptr) store_share(in, place, by_bias, in.by_bias + share);
  if (in.by_norms != nullptr) store_share(in, place, by_norm, in.by_norms + share);
}

#define KW_HEADS(twos)                                                                      \
  KW_KERNEL __launch_bounds__(kHeadThreads) kw_heads_forward_##twos(const HeadsInput in) {  \
    heads_forward<twos>(in);                                                                \
  }                                                                                         \
  KW_KERNEL __launch_bounds__(kHeadThreads) kw_heads_backward_##twos(const HeadsInput in) { \
    heads_backward<twos>(in);                                                               \
  }
KW_HEADS(1)
KW_HEADS(2)
