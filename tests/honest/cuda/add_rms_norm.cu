// A block a row; the sums stay in registers between the two passes.
// launch: {"kernel": "add_rms_norm", "grid": ["M"], "block": [256]}
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

constexpr int kEach = (N + 255) / 256;

extern "C" __global__ void add_rms_norm(const float* __restrict__ x,
                                        const float* __restrict__ residual,
                                        const float* __restrict__ weight, float* __restrict__ y,
                                        float* __restrict__ new_residual, long long m) {
  float mine[kEach];
  float squares = 0.0f;
  for (int k = 0; k < kEach; ++k) {
    const long long i = k * 256 + threadIdx.x;
    mine[k] = i < N ? x[blockIdx.x * N + i] + residual[blockIdx.x * N + i] : 0.0f;
    squares += mine[k] * mine[k];
  }
  const float scale = rsqrtf(block_sum(squares) / N + 1e-6f);
  for (int k = 0; k < kEach; ++k) {
    const long long i = k * 256 + threadIdx.x;
    if (i >= N) continue;
    y[blockIdx.x * N + i] = mine[k] * scale * weight[i];
    new_residual[blockIdx.x * N + i] = mine[k];
  }
}
