// By the error function, four elements a thread.
// launch: {"kernel": "gelu", "grid": ["ceil_div(M * N, 1024)"], "block": [256]}
extern "C" __global__ void gelu(const float* __restrict__ x, float* __restrict__ y, long long m,
                                long long n) {
  const long long end = m * n;
  long long i = blockIdx.x * 1024LL + threadIdx.x;
  for (int k = 0; k < 4; ++k, i += 256)
    if (i < end) y[i] = 0.5f * x[i] * (1.0f + erff(x[i] * 0.70710678f));
}
