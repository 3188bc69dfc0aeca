// Four elements a thread, a block apart.
// launch: {"kernel": "add", "grid": ["ceil_div(M * N, 1024)"], "block": [256]}
extern "C" __global__ void add(const float* __restrict__ x, const float* __restrict__ y,
                               float* __restrict__ out, long long m, long long n) {
  const long long end = m * n;
  long long i = blockIdx.x * 1024LL + threadIdx.x;
  for (int k = 0; k < 4; ++k, i += 256)
    if (i < end) out[i] = x[i] + y[i];
}
