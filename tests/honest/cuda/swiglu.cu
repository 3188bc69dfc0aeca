// The gate by a division, four elements a thread.
// launch: {"kernel": "swiglu", "grid": ["ceil_div(M * N, 1024)"], "block": [256]}
extern "C" __global__ void swiglu(const float* __restrict__ gate, const float* __restrict__ up,
                                  float* __restrict__ y, long long m, long long n) {
  const long long end = m * n;
  long long i = blockIdx.x * 1024LL + threadIdx.x;
  for (int k = 0; k < 4; ++k, i += 256)
    if (i < end) y[i] = gate[i] / (1.0f + expf(-gate[i])) * up[i];
}
