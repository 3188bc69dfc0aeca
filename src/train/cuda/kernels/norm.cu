// RMS norm of the residual stream with the sum before it, and its derivative. D = width, a multiple
// of 4. A row's float4s are spread over the threads of a block: kFours a thread.
struct AddNormInput {
  const float* x;      // [T, D]
  const float* delta;  // [T, D] or null
  const float* bias;   // [D] or null
  const float* scale;  // [D]
  float* sum;          // [T, D]: x + delta + bias; null: not wanted
  u16* normed;         // [T, D]
  float* inverse;      // [T]: 1 / root mean square
  int width;
  float epsilon;
};

template <int kThreads, int kFours>
__device__ __forceinline__ void add_norm(const AddNormInput& in) {
  __shared__ float scratch[kThreads / 32];
  const i64 row = (i64)blockIdx.x * in.width;
  float4 values[kFours];
  float squares = 0;
#pragma unroll
  for (int i = 0; i < kFours; ++i) {
    const int at = (i * kThreads + (int)threadIdx.x) * 4;
    values[i] = make_float4(0, 0, 0, 0);
    if (at >= in.width) continue;
    float4 v = load_four(in.x + row + at);
    if (in.delta != nullptr) v = plus(v, load_four(in.delta + row + at));
    if (in.bias != nullptr) v = plus(v, load_four(in.bias + at));
    if (in.sum != nullptr) *(float4*)(in.sum + row + at) = v;
    squares += v.x * v.x + v.y * v.y + v.z * v.z + v.w * v.w;
    values[i] = v;
  }
  squares = block_sum<kThreads / 32>(squares, scratch);
  const float factor = 1.0f / sqrtf(squares / (float)in.width + in.epsilon);
  if (threadIdx.x == 0) in.inverse[blockIdx.x] = factor;
#pragma unroll
  for (int i = 0; i < kFours; ++i) {
    const int at = (i * kThreads + (int)threadIdx.x) * 4;
    if (at >= in.width) continue;
    const float4 v = values[i], w = load_four(in.scale + at);
    store_activations(in.normed + row + at, make_float4(v.x * factor * w.x, v.y * factor * w.y,
                                                        v.z * factor * w.z, v.w * factor * w.w));
  }
}

// With y = x i and g = dn scale: dx = ds + i (g - y mean(g y)); d scale = sum over rows of dn y.
struct AddNormBackwardInput {
  const float* sum;      // [T, D], as the forward pass wrote it
  const float* inverse;  // [T]
  const float* scale;    // [D]
  const u16* by_normed;  // [T, D]: dn
  const float* by_sum;   // [T, D]: ds; null: zeros
  float* by_x;           // [T, D]; may be by_sum's memory
  u16* by_x_narrow;      // [T, D]: the same, rounded; null: not wanted
  u16* normed;           // [T, D]: the forward pass's once more; null: not wanted
  float* by_scale;       // [blocks, D]: each block's share
  i64 rows;
  int width;
};

template <int kThreads, int kFours>
__device__ __forceinline__ void add_norm_backward(const AddNormBackwardInput& in) {
  __shared__ float scratch[kThreads / 32];
  float4 scale[kFours], by_scale[kFours];
#pragma unroll
  for (int i = 0; i < kFours; ++i) {
    const int at = (i * kThreads + (int)threadIdx.x) * 4;
    by_scale[i] = make_float4(0, 0, 0, 0);
    scale[i] = at < in.width ? load_four(in.scale + at) : make_float4(0, 0, 0, 0);
  }
  for (i64 r = blockIdx.x; r < in.rows; r += gridDim.x) {
    const i64 row = r * in.width;
    const float inverse = in.inverse[r];
    float4 y[kFours], g[kFours], ds[kFours];
    float dot = 0;
#pragma unroll
    for (int i = 0; i < kFours; ++i) {
      const int at = (i * kThreads + (int)threadIdx.x) * 4;
      y[i] = g[i] = ds[i] = make_float4(0, 0, 0, 0);
      if (at >= in.width) continue;
      const float4 x = load_four(in.sum + row + at), dn = load_four(in.by_normed + row + at);
      if (in.by_sum != nullptr) ds[i] = load_four(in.by_sum + row + at);
      y[i] = make_float4(x.x * inverse, x.y * inverse, x.z * inverse, x.w * inverse);
      by_scale[i] = plus(by_scale[i],
                         make_float4(dn.x * y[i].x, dn.y * y[i].y, dn.z * y[i].z, dn.w * y[i].w));
      g[i] =
          make_float4(dn.x * scale[i].x, dn.y * scale[i].y, dn.z * scale[i].z, dn.w * scale[i].w);
      dot += g[i].x * y[i].x + g[i].y * y[i].y + g[i].z * y[i].z + g[i].w * y[i].w;
    }
    const float mean = block_sum<kThreads / 32>(dot, scratch) / (float)in.width;
#pragma unroll
    for (int i = 0; i < kFours; ++i) {
      const int at = (i * kThreads + (int)threadIdx.x) * 4;
      if (at >= in.width) continue;
      const float4 dx = make_float4(ds[i].x + inverse * (g[i].x - y[i].x * mean),
                                    ds[i].y + inverse * (g[i].y - y[i].y * mean),
                                    ds[i].z + inverse * (g[i].z - y[i].z * mean),
                                    ds[i].w + inverse * (g[i].w - y[i].w * mean));
      *(float4*)(in.by_x + row + at) = dx;
      if (in.by_x_narrow != nullptr) store_activations(in.by_x_narrow + row + at, dx);
      if (in.normed != nullptr)
        store_activations(in.normed + row + at,
                          make_float4(y[i].x * scale[i].x, y[i].y * scale[i].y, y[i].z * scale[i].z,
                                      y[i].w * scale[i].w));
    }
  }
#pragma unroll
  for (int i = 0; i < kFours; ++i) {
    const int at = (i * kThreads + (int)threadIdx.x) * 4;
    if (at < in.width) *(float4*)(in.by_scale + (i64)blockIdx.x * in.width + at) = by_scale[i];
  }
}

#define KW_NORMS(threads, fours)                                                                \
  KW_KERNEL __launch_bounds__(threads) kw_add_norm_##threads##_##fours(const AddNormInput in) { \
    add_norm<threads, fours>(in);                                                               \
  }                                                                                             \
  KW_KERNEL __launch_bounds__(threads)                                                          \
      kw_add_norm_backward_##threads##_##fours(const AddNormBackwardInput in) {                 \
    add_norm_backward<threads, fours>(in);                                                      \
  }
KW_NORMS(128, 1)
KW_NORMS(128, 2)
KW_NORMS(128, 3)
KW_NORMS(128, 4)
KW_NORMS(512, 2)
KW_NORMS(512, 3)
KW_NORMS(512, 4)

// sums [columns] += column sums of in [rows, columns], in the same order each time. Blocks of 32
// columns by 32 rows.
KW_KERNEL __launch_bounds__(1024)
    kw_add_column_sums(const float* in, float* sums, i64 rows, i64 columns) {
  __shared__ float parts[32][33];
  const i64 column = (i64)blockIdx.x * 32 + threadIdx.x % 32;
  const int part = (int)threadIdx.x / 32;
  float sum = 0;
  if (column < columns) {
#pragma unroll 4
    for (i64 row = part; row < rows; row += 32) sum += in[row * columns + column];
  }
  parts[part][threadIdx.x % 32] = sum;
  __syncthreads();
  if (part != 0 || column >= columns) return;
  sum = 0;
#pragma unroll
  for (int i = 0; i < 32; ++i) sum += parts[i][threadIdx.x];
  sums[column] += sum;
}
