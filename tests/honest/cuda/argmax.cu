// A warp a row: each lane its first maximum, then the first of the lanes'.
// launch: {"kernel": "argmax", "grid": ["ceil_div(M, 8)"], "block": [32, 8]}
extern "C" __global__ void argmax(const float* __restrict__ x, long long* __restrict__ index,
                                  long long m, long long n) {
  const long long row = blockIdx.x * 8LL + threadIdx.y;
  if (row >= m) return;
  float highest = -INFINITY;
  long long at = n;
  for (long long i = threadIdx.x; i < n; i += 32) {
    const float value = x[row * n + i];
    if (at == n || value > highest) {
      highest = value;
      at = i;
    }
  }
  for (int offset = 16; offset > 0; offset /= 2) {
    const float other = __shfl_xor_sync(~0u, highest, offset);
    const long long other_at = __shfl_xor_sync(~0u, at, offset);
    if (other_at < n && (at == n || other > highest || (other == highest && other_at < at))) {
      highest = other;
      at = other_at;
    }
  }
  if (threadIdx.x == 0) index[row] = at;
}
