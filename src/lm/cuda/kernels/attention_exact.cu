// Attention in float32 throughout, for models with float32 weights: a block a row and a head, plain
// multiplications. Queries, keys and values as kw_heads left them.
constexpr int kThreads = 128;
constexpr int kMine = (KW_HEAD_DIM + kThreads - 1) / kThreads;  // dimensions of a thread

KW_KERNEL __launch_bounds__(kThreads)
    kw_attention_exact(const HeadInput in, const int* row_list, Activation* out) {
  __shared__ __align__(16) float query[KW_HEAD_DIM];
  __shared__ float shares[kThreads], scratch[kThreads / 32];
  let_next_kernel_start();
  wait_for_previous_kernel();
  const int row = __ldcg(row_list + blockIdx.x), head = blockIdx.y;
  const int slot = __ldcg(in.slots + row), position = __ldcg(in.positions + row);
  if (slot < 0) return;
  for (int i = threadIdx.x; i < KW_HEAD_DIM; i += kThreads)
    query[i] = __ldcg(in.qkv + (i64)row * kQkvWidth + head * KW_HEAD_DIM + i);
  __syncthreads();
  const int kv_head = head / (KW_HEADS / KW_KV_HEADS);
  const KvElement* keys = in.kv + kv_offset(in, slot, kv_head, 0, 0);
  const KvElement* values = in.kv + kv_offset(in, slot, kv_head, 1, 0);
  float largest = KW_NEGATIVE_INFINITY, weight = 0, sums[kMine] = {};
  for (int first = 0; first <= position; first += kThreads) {
    const int mine = first + (int)threadIdx.x;
    float score = KW_NEGATIVE_INFINITY;
    if (mine <= position) {
      const KvElement* key = keys + (i64)mine * KW_HEAD_DIM;
      float4 sum = make_float4(0, 0, 0, 0);
#pragma unroll 4
      for (int i = 0; i < KW_HEAD_DIM; i += 4) {
        const float4 k = load_four(key + i), q = *(const float4*)(query + i);
        sum =
            make_float4(sum.x + k.x * q.x, sum.y + k.y * q.y, sum.z + k.z * q.z, sum.w + k.w * q.w);
      }
      score = (sum.x + sum.y) + (sum.z + sum.w);
    }
    const float highest = fmaxf(largest, block_max<kThreads / 32>(score, scratch));
    const float correction = expf(largest - highest), share = expf(score - highest);
    largest = highest;
    weight = weight * correction + block_sum<kThreads / 32>(share, scratch);
    shares[threadIdx.x] = share;
    __syncthreads();
    const int here = min(kThreads, position + 1 - first);
#pragma unroll
    for (int i = 0; i < kMine; ++i) {
      const int at = threadIdx.x + i * kThreads;
      if (at >= KW_HEAD_DIM) continue;
      float sum = sums[i] * correction;
      for (int j = 0; j < here; ++j)
        sum += shares[j] * widened(values[(i64)(first + j) * KW_HEAD_DIM + at]);
      sums[i] = sum;
    }
    __syncthreads();
  }
#pragma unroll
  for (int i = 0; i < kMine; ++i) {
    const int at = threadIdx.x + i * kThreads;
    if (at < KW_HEAD_DIM)
      store_one(out + ((i64)row * KW_HEADS + head) * KW_HEAD_DIM + at, sums[i] / weight);
  }
}
