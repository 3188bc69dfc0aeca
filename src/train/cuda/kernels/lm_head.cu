// The LM head on a chunk of logits: statistics of each row, then the loss's derivative by the
// logits, in their place. A block takes one row of V logits.
struct HeadRowsInput {
  float* logits;              // [C, pitch]; the gradient: bfloat16 in the first half of each row
  const i64* targets;         // [C]
  float* logprobs;            // [C] of the targets
  float* log_sums;            // [C]: log of the sum of exponentials, of those that are left
  float* entropies;           // [C] nats, or null
  const float* by_logprobs;   // [C]
  const float* by_entropies;  // [C] or null; with it, entropies are read
  const float* cutoffs;       // [C] log-probabilities of the least that is left, or null
  float* thresholds;          // [C] scaled logits that are left, with cutoffs
  i64 pitch;                  // a multiple of 4
  int vocabulary;
  float scale;  // 1 / temperature
  float slack;  // so far under the cutoff a token is left
};

constexpr int kRowThreads = 512;

// Sums of exp(z - top) and of z exp(z - top), which can be joined.
struct Sums {
  float top, weights, weighted;
};
__device__ __forceinline__ Sums joined(Sums a, Sums b) {
  const float top = fmaxf(a.top, b.top);
  if (top == KW_NEGATIVE_INFINITY) return a;
  const float fa = exp2_of((a.top - top) * kLog2E), fb = exp2_of((b.top - top) * kLog2E);
  return {top, a.weights * fa + b.weights * fb, a.weighted * fa + b.weighted * fb};
}
__device__ __forceinline__ void add_logit(Sums& sums, float z) {
  if (z > sums.top) {
    const float factor = exp2_of((sums.top - z) * kLog2E);
    sums.weights *= factor;
    sums.weighted *= factor;
    sums.top = z;
  }
  const float e = exp2_of((z - sums.top) * kLog2E);
  sums.weights += e;
  sums.weighted += z * e;
}

// The sum of probabilities that reach the threshold, and of the target's.
__device__ __forceinline__ float share_left(const HeadRowsInput& in, const float* row, int target,
                                            float threshold, float log_sum, float* scratch) {
  float sum = 0;
#pragma unroll 4
  for (int at = (int)threadIdx.x; at < in.vocabulary; at += kRowThreads) {
    const float z = row[at] * in.scale;
    if (z >= threshold || at == target) sum += exp2_of((z - log_sum) * kLog2E);
  }
  return block_sum<kRowThreads / 32>(sum, scratch);
}

constexpr float kNoCutoff = -1e30f;

KW_KERNEL __launch_bounds__(kRowThreads) kw_head_statistics(const HeadRowsInput in) {
  __shared__ Sums parts[kRowThreads / 32];
  __shared__ float scratch[kRowThreads / 32];
  const float* row = in.logits + (i64)blockIdx.x * in.pitch;
  Sums sums = {KW_NEGATIVE_INFINITY, 0, 0};
  const int whole = in.vocabulary / 4 * 4;
#pragma unroll 4
  for (int at = (int)threadIdx.x * 4; at < whole; at += kRowThreads * 4) {
    const float4 z = load_four(row + at);
    add_logit(sums, z.x * in.scale);
    add_logit(sums, z.y * in.scale);
    add_logit(sums, z.z * in.scale);
    add_logit(sums, z.w * in.scale);
  }
  if (whole + (int)threadIdx.x < in.vocabulary)
    add_logit(sums, row[whole + threadIdx.x] * in.scale);
#pragma unroll
  for (int step = 16; step > 0; step /= 2)
    sums = joined(sums, {__shfl_xor_sync(0xffffffffu, sums.top, step),
                         __shfl_xor_sync(0xffffffffu, sums.weights, step),
                         __shfl_xor_sync(0xffffffffu, sums.weighted, step)});
  if (threadIdx.x % 32 == 0) parts[threadIdx.x / 32] = sums;
  __syncthreads();
  sums = parts[0];
  for (int i = 1; i < kRowThreads / 32; ++i) sums = joined(sums, parts[i]);
  const int target = (int)in.targets[blockIdx.x];
  const float log_whole = sums.top + logf(sums.weights);
  float log_sum = log_whole;
  if (in.cutoffs != nullptr) {
    const float cutoff = in.cutoffs[blockIdx.x];
    const float threshold = cutoff > kNoCutoff ? log_whole + cutoff - in.slack : kNoCutoff;
    if (cutoff > kNoCutoff)
      log_sum += logf(share_left(in, row, target, threshold, log_whole, scratch));
    if (threadIdx.x == 0) in.thresholds[blockIdx.x] = threshold;
  }
  if (threadIdx.x != 0) return;
  in.log_sums[blockIdx.x] = log_sum;
  in.logprobs[blockIdx.x] = row[target] * in.scale - log_sum;
  if (in.entropies != nullptr) in.entropies[blockIdx.x] = log_whole - sums.weighted / sums.weights;
}

// dz_v = scale (g (onehot_v - p_v) - e p_v (log p_v + H)).
struct Slopes {
  float log_sum, g, e, entropy, scale, threshold;
  int target;
  __device__ __forceinline__ float of(float logit, int v) const {
    if (logit * scale < threshold && v != target) return 0;
    const float logp = logit * scale - log_sum, p = exp2_of(logp * kLog2E);
    const float out = (v == target ? g : 0.0f) - p * (g + e * (logp + entropy));
    return out * scale;
  }
};

// A tile is read by all threads before its gradient is written: what is written lies over this tile
// and over earlier ones.
KW_KERNEL __launch_bounds__(kRowThreads) kw_head_gradient(const HeadRowsInput in) {
  float* row = in.logits + (i64)blockIdx.x * in.pitch;
  u16* out = (u16*)row;
  Slopes slopes;
  slopes.log_sum = in.log_sums[blockIdx.x];
  slopes.g = in.by_logprobs[blockIdx.x];
  slopes.e = in.by_entropies != nullptr ? in.by_entropies[blockIdx.x] : 0.0f;
  slopes.entropy = in.by_entropies != nullptr ? in.entropies[blockIdx.x] : 0.0f;
  slopes.scale = in.scale;
  slopes.threshold = in.thresholds != nullptr ? in.thresholds[blockIdx.x] : KW_NEGATIVE_INFINITY;
  slopes.target = (int)in.targets[blockIdx.x];
  const bool zero = slopes.g == 0 && slopes.e == 0;  // a token that adds nothing is not read
  constexpr int kTile = kRowThreads * 8;
  for (int begin = 0; begin < in.vocabulary; begin += kTile) {
    const int at = begin + (int)threadIdx.x * 8;
    float z[8];
#pragma unroll
    for (int j = 0; j < 8; ++j) z[j] = 0;
    if (!zero && at + 8 <= in.vocabulary) {
      const float4 a = load_four(row + at), b = load_four(row + at + 4);
      z[0] = a.x, z[1] = a.y, z[2] = a.z, z[3] = a.w, z[4] = b.x, z[5] = b.y, z[6] = b.z,
      z[7] = b.w;
    } else if (!zero) {
#pragma unroll
      for (int j = 0; j < 8; ++j)
        if (at + j < in.vocabulary) z[j] = row[at + j];
    }
    __syncthreads();
    if (!zero) {
#pragma unroll
      for (int j = 0; j < 8; ++j) z[j] = slopes.of(z[j], at + j);
    }
    if (at + 8 <= in.vocabulary) {
      *(uint4*)(out + at) = make_uint4(bf16_pair(z[0], z[1]), bf16_pair(z[2], z[3]),
                                       bf16_pair(z[4], z[5]), bf16_pair(z[6], z[7]));
    } else {
#pragma unroll
      for (int j = 0; j < 8; ++j)
        if (at + j < in.vocabulary) out[at + j] = bf16_of(z[j]);
    }
  }
}
