// Four elements a thread, a block apart.
// launch: {"kernel": "relu", "grid": ["ceil_div(N, 1024)"], "block": [256]}
extern "C" __global__ void relu(const float* __restrict__ x, float* __restrict__ y, long long n) {
  const long long end = n;
  long long i = blockIdx.x * 1024LL + threadIdx.x;
  for (int k = 0; k < 4; ++k, i += 256)
    if (i < end) y[i] = x[i] < 0.0f ? 0.0f : x[i];
}
