// A block a token; each thread copies an element of the row.
// launch: {"kernel": "embedding", "grid": ["T"], "block": [256]}
extern "C" __global__ void embedding(const long long* __restrict__ indices,
                                     const float* __restrict__ weight, float* __restrict__ y,
                                     long long t) {
  const float* row = weight + indices[blockIdx.x] * D;
  for (int i = threadIdx.x; i < D; i += blockDim.x) y[blockIdx.x * (long long)D + i] = row[i];
}
