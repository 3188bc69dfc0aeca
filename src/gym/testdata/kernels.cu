// NVRTC 13.0 made kernels.cubin of this file: --gpu-architecture=sm_90a --std=c++17.
extern "C" __global__ void blend(const float* x, float* y, int n, float s) {
  __shared__ float t[32];
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  t[threadIdx.x % 32] = x[i];
  __syncthreads();
  if (i < n) y[i] = s * t[31 - threadIdx.x % 32];
}
extern "C" __global__ void mixed(long long a, char b, double c, float* y) {
  y[0] = a + b + c;
}
extern "C" __global__ void nothing() {}
__global__ void mangled(float* x) {
  x[0] = 1;
}
