// Two launches: a part a block, then one block over the parts.
// scratch: {"name": "parts", "bytes": "4 * 512"}
// launch: {"kernel": "sums", "grid": [512], "block": [256], "arguments": ["x", "parts", {"int64": "N"}]}
// launch: {"kernel": "sum_all", "grid": [1], "block": [512], "arguments": ["parts", "total"]}

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

extern "C" __global__ void sums(const float* __restrict__ x, float* __restrict__ parts,
                                long long n) {
  float sum = 0.0f;
  for (long long i = blockIdx.x * 256LL + threadIdx.x; i < n; i += 512 * 256LL) sum += x[i];
  sum = block_sum(sum);
  if (threadIdx.x == 0) parts[blockIdx.x] = sum;
}

extern "C" __global__ void sum_all(const float* __restrict__ parts, float* __restrict__ total) {
  const float sum = block_sum(parts[threadIdx.x]);
  if (threadIdx.x == 0) *total = sum;
}
