// A block a row: a sum a thread, then over the block by shuffles.
// launch: {"kernel": "sum_rows", "grid": ["M"], "block": [256]}
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

extern "C" __global__ void sum_rows(const float* __restrict__ x, float* __restrict__ y, long long m,
                                    long long n) {
  const float* row = x + blockIdx.x * n;
  float sum = 0.0f;
  for (long long i = threadIdx.x; i < n; i += blockDim.x) sum += row[i];
  sum = block_sum(sum);
  if (threadIdx.x == 0) y[blockIdx.x] = sum;
}
