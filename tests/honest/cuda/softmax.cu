// A block a row in three passes: the maximum, the sum, the quotient.
// launch: {"kernel": "softmax", "grid": ["M"], "block": [256]}
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

__device__ float block_maximum(float value) {
  __shared__ float parts[32];
  for (int offset = 16; offset > 0; offset /= 2)
    value = fmaxf(value, __shfl_xor_sync(~0u, value, offset));
  if (threadIdx.x % 32 == 0) parts[threadIdx.x / 32] = value;
  __syncthreads();
  value = threadIdx.x % 32 < blockDim.x / 32 ? parts[threadIdx.x % 32] : -INFINITY;
  for (int offset = 16; offset > 0; offset /= 2)
    value = fmaxf(value, __shfl_xor_sync(~0u, value, offset));
  return value;
}

extern "C" __global__ void softmax(const float* __restrict__ x, float* __restrict__ y, long long m,
                                   long long n) {
  const float* row = x + blockIdx.x * n;
  float highest = -INFINITY;
  for (long long i = threadIdx.x; i < n; i += blockDim.x) highest = fmaxf(highest, row[i]);
  highest = block_maximum(highest);
  float sum = 0.0f;
  for (long long i = threadIdx.x; i < n; i += blockDim.x) sum += expf(row[i] - highest);
  sum = block_sum(sum);
  for (long long i = threadIdx.x; i < n; i += blockDim.x)
    y[blockIdx.x * n + i] = expf(row[i] - highest) / sum;
}
