// silu(gate) * up and its derivative, eight elements a thread. F = width, a multiple of 8.
struct Eight {
  float v[8];
};
__device__ __forceinline__ Eight load_eight(const u16* from) {
  const uint4 four = *(const uint4*)from;
  return {{low_of(four.x), high_of(four.x), low_of(four.y), high_of(four.y), low_of(four.z),
           high_of(four.z), low_of(four.w), high_of(four.w)}};
}
__device__ __forceinline__ void store_eight(u16* to, const Eight& x) {
  *(uint4*)to = make_uint4(bf16_pair(x.v[0], x.v[1]), bf16_pair(x.v[2], x.v[3]),
                           bf16_pair(x.v[4], x.v[5]), bf16_pair(x.v[6], x.v[7]));
}
__device__ __forceinline__ float sigmoid(float x) {
  return 1.0f / (1.0f + exp2_of(-x * kLog2E));
}

struct SiluInput {
  u16* inner;         // [T, 2 F], gate then up; the backward pass leaves its derivative here
  const float* bias;  // [2 F] or null
  u16* out;    // [T, F]; backward: the derivative by it, replaced by the forward pass's result
  i64 eights;  // T F / 8
  int width;
};

__device__ __forceinline__ void load_inner(const SiluInput& in, i64 i, i64& at, Eight& gate,
                                           Eight& up) {
  const i64 row = i * 8 / in.width;
  const int column = (int)(i * 8 - row * in.width);
  at = row * 2 * in.width + column;
  gate = load_eight(in.inner + at);
  up = load_eight(in.inner + at + in.width);
  if (in.bias == nullptr) return;
#pragma unroll
  for (int j = 0; j < 8; ++j) {
    gate.v[j] += in.bias[column + j];
    up.v[j] += in.bias[in.width + column + j];
  }
}

KW_KERNEL __launch_bounds__(256) kw_silu_multiply(const SiluInput in) {
  const i64 i = (i64)blockIdx.x * 256 + threadIdx.x;
  if (i >= in.eights) return;
  i64 at;
  Eight gate, up;
  load_inner(in, i, at, gate, up);
#pragma unroll
  for (int j = 0; j < 8; ++j) gate.v[j] *= sigmoid(gate.v[j]) * up.v[j];
  store_eight(in.out + i * 8, gate);
}

// Each element is read and written by one thread: in place.
KW_KERNEL __launch_bounds__(256) kw_silu_multiply_backward(const SiluInput in) {
  const i64 i = (i64)blockIdx.x * 256 + threadIdx.x;
  if (i >= in.eights) return;
  i64 at;
  Eight gate, up;
  load_inner(in, i, at, gate, up);
  const Eight by_out = load_eight(in.out + i * 8);
  Eight out, by_gate, by_up;
#pragma unroll
  for (int j = 0; j < 8; ++j) {
    const float s = sigmoid(gate.v[j]), silu = gate.v[j] * s;
    out.v[j] = silu * up.v[j];
    by_up.v[j] = by_out.v[j] * silu;
    by_gate.v[j] = by_out.v[j] * up.v[j] * s * (1.0f + gate.v[j] * (1.0f - s));
  }
  store_eight(in.out + i * 8, out);
  store_eight(in.inner + at, by_gate);
  store_eight(in.inner + at + in.width, by_up);
}
