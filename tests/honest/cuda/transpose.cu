// Tiles of 32 x 32 through shared memory, a column wider against bank conflicts.
// launch: {"kernel": "transpose", "grid": ["ceil_div(N, 32)", "ceil_div(M, 32)"], "block": [32, 8]}
extern "C" __global__ void transpose(const float* __restrict__ x, float* __restrict__ y,
                                     long long m, long long n) {
  __shared__ float tile[32][33];
  const long long column = blockIdx.x * 32LL + threadIdx.x, row = blockIdx.y * 32LL + threadIdx.y;
  for (int k = 0; k < 32; k += 8)
    if (column < n && row + k < m) tile[threadIdx.y + k][threadIdx.x] = x[(row + k) * n + column];
  __syncthreads();
  const long long to_column = blockIdx.y * 32LL + threadIdx.x,
                  to_row = blockIdx.x * 32LL + threadIdx.y;
  for (int k = 0; k < 32; k += 8)
    if (to_column < m && to_row + k < n)
      y[(to_row + k) * m + to_column] = tile[threadIdx.x][threadIdx.y + k];
}
