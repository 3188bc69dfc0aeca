// The LM head's loss on a chunk of logits where the derivatives by the log-probabilities are known
// before: a row is read once, held in the registers of a cluster of blocks, and its derivatives are
// written over it. lm_head.cu has the general case.
struct HeadLossInput {
  float* logits;             // [C, pitch]; the gradient: bfloat16 in the first half of each row
  const i64* targets;        // [C]
  float* logprobs;           // [C] of the targets
  const float* by_logprobs;  // [C]
  i64 pitch;                 // a multiple of 8
  int vocabulary;
  float scale;  // 1 / temperature
};

constexpr int kLossThreads = 512;

// Logits are counted in bits here, scaled by log2(e) / temperature: exp(z) is 2^bits.
struct LossSum {
  float top, weights;  // the largest, and the sum of 2^(bits - top)
};
__device__ __forceinline__ LossSum joined(LossSum a, LossSum b) {
  const float top = fmaxf(a.top, b.top);
  if (top == KW_NEGATIVE_INFINITY) return a;
  return {top, a.weights * exp2_of(a.top - top) + b.weights * exp2_of(b.top - top)};
}

// The sums of all blocks of the cluster, joined in the same order by each. `here` is this block's
// place for its own ones, 16 bytes.
__device__ __forceinline__ LossSum of_cluster(LossSum mine, float4* here) {
  if (threadIdx.x == 0) *here = make_float4(mine.top, mine.weights, 0, 0);
  arrive_at_cluster();
  wait_for_cluster();
  LossSum all = {KW_NEGATIVE_INFINITY, 0};
  for (int rank = 0; rank < (int)gridDim.y; ++rank) {
    const float4 one = load_from_block(shared_address(here), rank);
    all = joined(all, {one.x, one.y});
  }
  return all;
}

// The blocks of a cluster share a row: gridDim.y of them, each with kEights times 8 logits a
// thread.
template <int kEights>
__device__ __forceinline__ void head_loss(const HeadLossInput& in) {
  __shared__ LossSum parts[kLossThreads / 32];
  __shared__ float4 shown;
  float* row = in.logits + (i64)blockIdx.x * in.pitch;
  const int target = (int)in.targets[blockIdx.x];
  const float bits = in.scale * kLog2E;
  const float at_target = row[target] * bits;  // before anything is written
  const int step = (int)gridDim.y * kLossThreads * 8;
  const int begin = ((int)blockIdx.y * kLossThreads + (int)threadIdx.x) * 8;
  float z[kEights][8];
#pragma unroll
  for (int i = 0; i < kEights; ++i) {
    const int at = begin + i * step;
    if (at + 8 <= in.vocabulary) {
      const float4 a = load_four(row + at), b = load_four(row + at + 4);
      z[i][0] = a.x, z[i][1] = a.y, z[i][2] = a.z, z[i][3] = a.w;
      z[i][4] = b.x, z[i][5] = b.y, z[i][6] = b.z, z[i][7] = b.w;
    } else {
#pragma unroll
      for (int j = 0; j < 8; ++j)
        z[i][j] = at + j < in.vocabulary ? row[at + j] : KW_NEGATIVE_INFINITY;
    }
  }
  LossSum sum = {KW_NEGATIVE_INFINITY, 0};
#pragma unroll
  for (int i = 0; i < kEights; ++i)
#pragma unroll
    for (int j = 0; j < 8; ++j) sum.top = fmaxf(sum.top, z[i][j]);
  sum.top *= bits;
  // A thread without logits has no largest one either.
  const float top = sum.top == KW_NEGATIVE_INFINITY ? 0.0f : sum.top;
#pragma unroll
  for (int i = 0; i < kEights; ++i)
#pragma unroll
    for (int j = 0; j < 8; ++j) {
      z[i][j] = exp2_of(fmaf(z[i][j], bits, -top));
      sum.weights += z[i][j];
    }
#pragma unroll
  for (int lanes = 16; lanes > 0; lanes /= 2)
    sum = joined(sum, {__shfl_xor_sync(0xffffffffu, sum.top, lanes),
                       __shfl_xor_sync(0xffffffffu, sum.weights, lanes)});
  if (threadIdx.x % 32 == 0) parts[threadIdx.x / 32] = sum;
  __syncthreads();
  sum = parts[0];
  for (int i = 1; i < kLossThreads / 32; ++i) sum = joined(sum, parts[i]);
  sum = of_cluster(sum, &shown);  // behind it, all of the row has been read
  arrive_at_cluster_after_reading();
  const float log_sum = sum.top + log2f(sum.weights);
  if (threadIdx.x == 0 && blockIdx.y == 0)
    in.logprobs[blockIdx.x] = (at_target - log_sum) * (1 / kLog2E);
  const float by_logprob = in.by_logprobs[blockIdx.x];
  const float g = by_logprob * in.scale, factor = -g * exp2_of(top - log_sum);
  u16* out = (u16*)row;
#pragma unroll
  for (int i = 0; i < kEights; ++i) {
    const int at = begin + i * step;
#pragma unroll
    for (int j = 0; j < 8; ++j) z[i][j] *= factor;
    if ((u32)(target - at) < 8) {
#pragma unroll
      for (int j = 0; j < 8; ++j)
        if (at + j == target) z[i][j] += g;
    }
    if (by_logprob == 0) {  // a token that adds nothing, whatever its logits are
#pragma unroll
      for (int j = 0; j < 8; ++j) z[i][j] = 0;
    }
    if (at + 8 <= in.vocabulary) {
      *(uint4*)(out + at) = make_uint4(bf16_pair(z[i][0], z[i][1]), bf16_pair(z[i][2], z[i][3]),
                                       bf16_pair(z[i][4], z[i][5]), bf16_pair(z[i][6], z[i][7]));
    } else {
#pragma unroll
      for (int j = 0; j < 8; ++j)
        if (at + j < in.vocabulary) out[at + j] = bf16_of(z[i][j]);
    }
  }
  wait_for_cluster();  // the others may still read what this block shows
}

#define KW_HEAD_LOSS(EIGHTS)                                                                   \
  KW_KERNEL __launch_bounds__(kLossThreads, 2) kw_head_loss_##EIGHTS(const HeadLossInput in) { \
    head_loss<EIGHTS>(in);                                                                     \
  }
KW_HEAD_LOSS(1)
KW_HEAD_LOSS(2)
KW_HEAD_LOSS(3)
KW_HEAD_LOSS(4)
KW_HEAD_LOSS(5)
