// A block a row, the row read twice: from memory, then from the cache.
// launch: {"kernel": "rms_norm", "grid": ["M"], "block": [256]}
// The sum over the block, known to every thread.
__device__ float block_sum(float value) {
  __shared__ float parts[32];
  for (int offset = 16; offset > 0; offset /= 2) value += __shfl_xor_sync(~0u, value, offset);
  if (threadIdx.x % 32 == 0) parts[threadIdx.x / 32] = value;
  __syncthreads();
  value = threadIdx.x % 32 < blockDim.x / 32 ? parts[threadIdx.x % 32] : 0.0f;
  for (int offset = 16; offset > 0; offset /= 2) value += __shfl_xor_sync(~0u, value, offset);
  __syncthreads();
  return value;
}

extern "C" __global__ void rms_norm(const float* __restrict__ x, const float* __restrict__ weight,
                                    float* __restrict__ y, long long m) {
  const float* row = x + blockIdx.x * N;
  float sum = 0.0f;
  for (long long i = threadIdx.x; i < N; i += blockDim.x) sum += row[i] * row[i];
  const float scale = rsqrtf(block_sum(sum) / N + 1e-6f);
  for (long long i = threadIdx.x; i < N; i += blockDim.x)
    y[blockIdx.x * N + i] = row[i] * scale * weight[i];
}
