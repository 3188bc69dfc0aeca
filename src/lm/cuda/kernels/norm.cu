// RMS norm of rows of the residual stream, with what comes before it: the embedding of a token, or
// the sum of what the last matmul gave (in parts, where it was split over k) and its bias.
// D = KW_HIDDEN. One block a row.
constexpr int kNormThreads = 256;
constexpr int kNormFours = (KW_HIDDEN / 4 + kNormThreads - 1) / kNormThreads;  // float4 a thread

struct NormInput {
  float* residual;     // [rows, D]
  const float* parts;  // [part_count, part_rows, D]
  i64 part_rows;
  const float* bias;    // [D] or null
  const float* weight;  // [D]
  const int* tokens;    // [rows]; null: the residual is there already
  const Weight* table;  // [V, D], of the embedding
  const int* row_list;  // [rows]: which rows of the residual; null: all, in order
  Activation* out;      // [rows, D]
  int part_count;
  int keep;  // writes the sum back
  float epsilon;
};

__device__ __forceinline__ float4 residual_four(const NormInput& in, int row, int at) {
  float4 v;
  if (in.tokens != nullptr) {
    v = load_four(in.table + (i64)__ldcg(in.tokens + row) * KW_HIDDEN + at);
  } else {
    v = __ldcg((const float4*)(in.residual + (i64)row * KW_HIDDEN + at));
  }
#pragma unroll 4
  for (int p = 0; p < in.part_count; ++p)
    v = plus(v, __ldcg((const float4*)(in.parts + ((i64)p * in.part_rows + row) * KW_HIDDEN + at)));
  if (in.bias != nullptr) v = plus(v, __ldg((const float4*)(in.bias + at)));
  return v;
}

KW_KERNEL __launch_bounds__(kNormThreads) kw_norm(const NormInput in) {
  __shared__ float scratch[kNormThreads / 32];
  let_next_kernel_start();
  // From memory, as all weights: other layers' have passed through L2 since. Not a kernel's result.
  float4 weights[kNormFours];
#pragma unroll
  for (int i = 0; i < kNormFours; ++i) {
    const int at = min((i * kNormThreads + (int)threadIdx.x) * 4, KW_HIDDEN - 4);
    weights[i] = __ldg((const float4*)(in.weight + at));
  }
  wait_for_previous_kernel();
  const int row = in.row_list != nullptr ? __ldcg(in.row_list + blockIdx.x) : (int)blockIdx.x;
  float4 values[kNormFours];
  float squares = 0;
#pragma unroll
  for (int i = 0; i < kNormFours; ++i) {
    const int at = (i * kNormThreads + (int)threadIdx.x) * 4;
    if (at >= KW_HIDDEN) continue;
    float4 v = residual_four(in, row, at);
    if (in.keep) *(float4*)(in.residual + (i64)row * KW_HIDDEN + at) = v;
    squares += v.x * v.x + v.y * v.y + v.z * v.z + v.w * v.w;
    values[i] = v;
  }
  squares = block_sum<kNormThreads / 32>(squares, scratch);
  const float factor = 1.0f / sqrtf(squares / (float)KW_HIDDEN + in.epsilon);
#pragma unroll
  for (int i = 0; i < kNormFours; ++i) {
    const int at = (i * kNormThreads + (int)threadIdx.x) * 4;
    if (at >= KW_HIDDEN) continue;
    const float4 v = values[i], w = weights[i];
    store_activations(in.out + (i64)blockIdx.x * KW_HIDDEN + at,
                      make_float4(v.x * factor * w.x, v.y * factor * w.y, v.z * factor * w.z,
                                  v.w * factor * w.w));
  }
}
