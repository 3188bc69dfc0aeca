// What the engine's matmuls do to rows beside multiplying (lm/cuda/kernels/matmul.cu), where their
// sums were made elsewhere: the same numbers in the same order. D = width, a multiple of 64.
constexpr int kSquared = 32;  // columns of a sum of squares

// A block a row: stream += bias; next = stream * norm, rounded; the factor that makes of it the
// normed row. As add_to_residual and load_factors there.
struct FinishRowsInput {
  float* stream;      // [R, D]
  const float* bias;  // [D] or null
  const float* norm;  // [D]
  u16* next;          // [R, D]
  float* squares;     // [R, D / 32]
  float* factors;     // [R]
  int width;
  float epsilon;
};

constexpr int kFinishThreads = 128;

KW_KERNEL __launch_bounds__(kFinishThreads) kw_finish_rows(const FinishRowsInput in) {
  extern __shared__ float sums[];  // [D / 32]
  const i64 row = (i64)blockIdx.x * in.width;
  for (int at = (int)threadIdx.x * 4; at < in.width; at += kFinishThreads * 4) {
    float4 v = *(const float4*)(in.stream + row + at);
    if (in.bias != nullptr) {
      v = plus(v, *(const float4*)(in.bias + at));
      *(float4*)(in.stream + row + at) = v;
    }
    const float4 w = *(const float4*)(in.norm + at);
    store_activations(in.next + row + at, make_float4(v.x * w.x, v.y * w.y, v.z * w.z, v.w * w.w));
    float squares = sum_of_squares(v);
#pragma unroll
    for (int step = 4; step > 0; step /= 2)
      squares += __shfl_xor_sync(0xffu << (threadIdx.x & 24), squares, step);
    if ((threadIdx.x & 7) == 0) {
      sums[at / kSquared] = squares;
      in.squares[(row + at) / kSquared] = squares;
    }
  }
  __syncthreads();
  if (threadIdx.x >= 4) return;
  float sum = 0;
  for (int pair = (int)threadIdx.x; pair < in.width / kSquared / 2; pair += 4)
    sum += sums[2 * pair] + sums[2 * pair + 1];
  sum += __shfl_xor_sync(0xfu, sum, 1);
  sum += __shfl_xor_sync(0xfu, sum, 2);
  if (threadIdx.x == 0) in.factors[blockIdx.x] = 1.0f / sqrtf(sum / (float)in.width + in.epsilon);
}

// Four columns a thread: gate and up times the row's factor, plus bias; out = silu(gate) * up. F =
// width, a multiple of 8.
struct ScaledSiluInput {
  const float* sums;     // [R, 2 F], gate then up
  const float* factors;  // [R] or null: 1
  const float* bias;     // [2 F] or null
  u16* out;              // [R, F]
  u16* inner;            // [T, 2 F]: gate and up before the bias; or null
  const i64* places;     // [R]: the rows of inner
  i64 fours;             // R F / 4
  int width;
};

__device__ __forceinline__ float4 scaled(float4 v, float factor) {
  return make_float4(v.x * factor, v.y * factor, v.z * factor, v.w * factor);
}
__device__ __forceinline__ float4 scaled_plus(float4 v, float factor, float4 bias) {
  return make_float4(scaled_plus(v.x, factor, bias.x), scaled_plus(v.y, factor, bias.y),
                     scaled_plus(v.z, factor, bias.z), scaled_plus(v.w, factor, bias.w));
}

KW_KERNEL __launch_bounds__(256) kw_scaled_silu(const ScaledSiluInput in) {
  const i64 i = (i64)blockIdx.x * 256 + threadIdx.x;
  if (i >= in.fours) return;
  const i64 row = i * 4 / in.width;
  const int at = (int)(i * 4 - row * in.width);
  const i64 first = row * 2 * in.width + at;
  const float factor = in.factors != nullptr ? in.factors[row] : 1.0f;
  const float4 gates = *(const float4*)(in.sums + first);
  const float4 ups = *(const float4*)(in.sums + first + in.width);
  if (in.inner != nullptr) {
    u16* inner = in.inner + in.places[row] * 2 * in.width + at;
    store_activations(inner, scaled(gates, factor));
    store_activations(inner + in.width, scaled(ups, factor));
  }
  float4 gate_bias = make_float4(0, 0, 0, 0), up_bias = gate_bias;
  if (in.bias != nullptr) {
    gate_bias = *(const float4*)(in.bias + at);
    up_bias = *(const float4*)(in.bias + in.width + at);
  }
  const float4 gate = scaled_plus(gates, factor, gate_bias);
  const float4 up = scaled_plus(ups, factor, up_bias);
  store_activations(in.out + row * in.width + at,
                    make_float4(silu(gate.x) * up.x, silu(gate.y) * up.y, silu(gate.z) * up.z,
                                silu(gate.w) * up.w));
}

// Four columns a thread: the sum of a product's parts, each row to its place.
struct AddPartsInput {
  const float* parts;  // [count, R, W]
  const i64* places;   // [R]: the rows of out
  float* out;          // [T, W]
  i64 fours;           // R W / 4
  int width, count;    // W, a multiple of 4
};

KW_KERNEL __launch_bounds__(256) kw_add_parts(const AddPartsInput in) {
  const i64 i = (i64)blockIdx.x * 256 + threadIdx.x;
  if (i >= in.fours) return;
  float4 sum = *(const float4*)(in.parts + i * 4);
  for (int p = 1; p < in.count; ++p)
    sum = plus(sum, *(const float4*)(in.parts + (p * in.fours + i) * 4));
  const i64 row = i * 4 / in.width;
  *(float4*)(in.out + in.places[row] * in.width + i * 4 - row * in.width) = sum;
}
