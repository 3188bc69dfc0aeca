// A block a row, which stays in registers: the mean, then the squares about it.
// launch: {"kernel": "layer_norm", "grid": ["M"], "block": [256]}
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

extern "C" __global__ void layer_norm(const float* __restrict__ x, const float* __restrict__ weight,
                                      const float* __restrict__ bias, float* __restrict__ y,
                                      long long m) {
  float mine[kEach];
  float sum = 0.0f;
  for (int k = 0; k < kEach; ++k) {
    const long long i = k * 256 + threadIdx.x;
    mine[k] = i < N ? x[blockIdx.x * N + i] : 0.0f;
    sum += mine[k];
  }
  const float mean = block_sum(sum) / N;
  float squares = 0.0f;
  for (int k = 0; k < kEach; ++k) {
    const float away = k * 256 + threadIdx.x < N ? mine[k] - mean : 0.0f;
    squares += away * away;
  }
  const float scale = rsqrtf(block_sum(squares) / N + 1e-5f);
  for (int k = 0; k < kEach; ++k) {
    const long long i = k * 256 + threadIdx.x;
    if (i < N) y[blockIdx.x * N + i] = (mine[k] - mean) * scale * weight[i] + bias[i];
  }
}
