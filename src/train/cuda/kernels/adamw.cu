// The gradient's norm and AdamW over whole blocks of float32 numbers, a multiple of 16 of them.
constexpr int kSumThreads = 512;

KW_KERNEL __launch_bounds__(kSumThreads)
    kw_squares(const float* gradients, double* sums, i64 fours) {
  __shared__ double scratch[kSumThreads / 32];
  float sum = 0;
  double total = 0;
  int count = 0;
#pragma unroll 4
  for (i64 i = (i64)blockIdx.x * kSumThreads + threadIdx.x; i < fours;
       i += (i64)gridDim.x * kSumThreads) {
    const float4 g = load_four(gradients + i * 4);
    sum += g.x * g.x + g.y * g.y + g.z * g.z + g.w * g.w;
    if (++count % 64 == 0) {
      total += sum;
      sum = 0;
    }
  }
  total = block_sum<kSumThreads / 32>(total + sum, scratch);
  if (threadIdx.x == 0) sums[blockIdx.x] = total;
}

// out: the norm, and the factor that brings it to max_norm at most. max_norm 0: no clipping.
KW_KERNEL __launch_bounds__(kSumThreads)
    kw_norm_of_squares(const double* sums, int count, float max_norm, float* out) {
  __shared__ double scratch[kSumThreads / 32];
  double total = 0;
  for (int i = threadIdx.x; i < count; i += kSumThreads) total += sums[i];
  total = block_sum<kSumThreads / 32>(total, scratch);
  if (threadIdx.x != 0) return;
  const float norm = (float)sqrt(total);
  out[0] = norm;
  const float factor = max_norm > 0 ? max_norm / (norm + 1e-6f) : 1.0f;
  out[1] = factor < 1.0f || factor != factor ? factor : 1.0f;
}

struct AdamWInput {
  float* masters;
  float* first;
  float* second;
  const float* gradients;
  u16* computed;        // the masters, rounded
  const u32* decays;    // a bit for each 16 numbers
  const float* factor;  // on the gradient
  i64 fours;
  float beta1, beta2, epsilon;
  float kept;          // 1 - learning rate x weight decay
  float rate;          // learning rate / (1 - beta1^t)
  float second_scale;  // 1 / sqrt(1 - beta2^t)
};

__device__ __forceinline__ float adamw_one(const AdamWInput& in, float kept, float factor, float g,
                                           float w, float& m, float& v) {
  g *= factor;
  m = in.beta1 * m + (1.0f - in.beta1) * g;
  v = in.beta2 * v + (1.0f - in.beta2) * g * g;
  return w * kept - in.rate * m / (sqrtf(v) * in.second_scale + in.epsilon);
}

KW_KERNEL __launch_bounds__(256) kw_adamw(const AdamWInput in) {
  const i64 i = (i64)blockIdx.x * 256 + threadIdx.x;
  if (i >= in.fours) return;
  const float factor = *in.factor;
  const float kept = in.decays[i / 128] >> (i / 4 % 32) & 1 ? in.kept : 1.0f;
  const float4 g = load_four(in.gradients + i * 4);
  float4 w = load_four(in.masters + i * 4), m = load_four(in.first + i * 4),
         v = load_four(in.second + i * 4);
  w.x = adamw_one(in, kept, factor, g.x, w.x, m.x, v.x);
  w.y = adamw_one(in, kept, factor, g.y, w.y, m.y, v.y);
  w.z = adamw_one(in, kept, factor, g.z, w.z, m.z, v.z);
  w.w = adamw_one(in, kept, factor, g.w, w.w, m.w, v.w);
  *(float4*)(in.masters + i * 4) = w;
  *(float4*)(in.first + i * 4) = m;
  *(float4*)(in.second + i * 4) = v;
  store_activations(in.computed + i * 4, w);
}
