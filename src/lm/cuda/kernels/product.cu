// y = x W^T for few rows of x: each weight is read once, in a stream that begins before the kernel
// before is complete. W is on the tensor cores' large side (16 rows of W by 8 rows of x).
//
// A block has kColumns rows of W (columns of y), kRows rows of x, and a piece of k. Where k is
// split, each piece is a result of its own (a "part") that the next kernel adds up in order, so
// that an element's additions have one order whatever the number of rows.
constexpr int kStep = 64;  // of k: 128 bytes of a row in shared memory, its pieces of 16 exchanged
constexpr int kThreads = 128;

struct ProductInput {
  const u16* x;  // [rows to the next multiple of kRows, k]
  const u16* w;  // [n, k]
  void* y;       // parts: float32 [splits, part_rows, pitch]; with silu: bfloat16 [rows, n / 2]
  const float* bias;  // of silu: [n] or null
  i64 part_rows, pitch;
  int rows, n, k, steps;  // steps: of kStep, of a split
  int row_blocks;         // ceil(rows / kRows)
};

__device__ __forceinline__ u32 place_of(int row, int piece) {
  return row * 128 + ((piece ^ (row & 7)) << 4);
}
__device__ __forceinline__ float silu(float x) {
  return x / (1.0f + exp2_of(-x * kLog2E));
}

// kSilu: of each 16 rows of W that a warp multiplies, 8 are gates and 8 the ups that belong to
// them.
template <int kRows, int kColumns, int kStages, bool kSilu>
struct Product {
  static constexpr int kStageBytes = (kColumns + kRows) * kStep * 2;
  static constexpr int kMine = kColumns / 64;  // blocks of 16 columns of a warp
  static constexpr int kRowBlocks = kRows / 8;

  const ProductInput& in;
  const u32 shared;
  const int column_block, row_block, first_step, steps;

  __device__ __forceinline__ Product(const ProductInput& input, const char* memory)
      : in(input),
        shared(shared_address(memory)),
        column_block(blockIdx.x / input.row_blocks),
        row_block(blockIdx.x % input.row_blocks),
        first_step(blockIdx.y * input.steps),
        steps(min(input.steps, input.k / kStep - (int)blockIdx.y * input.steps)) {}

  __device__ __forceinline__ int weight_row(int r) const {
    if (!kSilu) return min(column_block * kColumns + r, in.n - 1);
    const int inner = in.n / 2;
    const int column = min(column_block * (kColumns / 2) + (r / 16) * 8 + (r & 7), inner - 1);
    return (r & 8) == 0 ? column : inner + column;
  }

  __device__ __forceinline__ void load_weights(int step) const {
    if (step >= steps) return;
    const u32 to = shared + (step % kStages) * kStageBytes;
    const u16* from = in.w + (i64)(first_step + step) * kStep;
#pragma unroll
    for (int i = 0; i < kColumns * 8 / kThreads; ++i) {
      const int r = i * (kThreads / 8) + (int)threadIdx.x / 8, piece = threadIdx.x & 7;
      copy_async(to + place_of(r, piece), from + (i64)weight_row(r) * in.k + piece * 8);
    }
  }
  __device__ __forceinline__ void load_rows(int step) const {
    if (step >= steps) return;
    const u32 to = shared + (step % kStages) * kStageBytes + kColumns * 128;
    const u16* from = in.x + (i64)row_block * kRows * in.k + (i64)(first_step + step) * kStep;
#pragma unroll
    for (int i = 0; i < kRows * 8 / kThreads; ++i) {
      const int r = i * (kThreads / 8) + (int)threadIdx.x / 8, piece = threadIdx.x & 7;
      copy_async(to + place_of(r, piece), from + (i64)r * in.k + piece * 8);
    }
  }

  __device__ __forceinline__ void multiply_stage(int step, float (&c)[kMine][kRowBlocks][4]) const {
    const int warp = threadIdx.x / 32, lane = threadIdx.x & 31;
    const u32 weights = shared + (step % kStages) * kStageBytes, rows = weights + kColumns * 128;
#pragma unroll
    for (int k = 0; k < kStep / 16; ++k) {
      u32 a[kMine][4];
#pragma unroll
      for (int m = 0; m < kMine; ++m)
        load_matrices(
            a[m], weights + place_of((warp * kMine + m) * 16 + (lane & 15), k * 2 + (lane >> 4)));
#pragma unroll
      for (int n = 0; n < kRowBlocks / 2; ++n) {
        u32 b[4];
        load_matrices(
            b, rows + place_of(n * 16 + (lane & 7) + (lane >> 4) * 8, k * 2 + ((lane >> 3) & 1)));
#pragma unroll
        for (int m = 0; m < kMine; ++m) {
          multiply_add(c[m][2 * n], a[m], b[0], b[1]);
          multiply_add(c[m][2 * n + 1], a[m], b[2], b[3]);
        }
      }
    }
  }

  __device__ __forceinline__ void write_part(const float (&c)[kMine][kRowBlocks][4],
                                             char* memory) const {
    constexpr int kPitch = kColumns + 4;
    const int warp = threadIdx.x / 32, lane = threadIdx.x & 31, g = lane / 4, t = lane % 4;
    float* staged = (float*)memory;  // [kRows, kPitch]
#pragma unroll
    for (int m = 0; m < kMine; ++m)
#pragma unroll
      for (int n = 0; n < kRowBlocks; ++n)
#pragma unroll
        for (int i = 0; i < 4; ++i)
          staged[(n * 8 + 2 * t + i % 2) * kPitch + (warp * kMine + m) * 16 + g + (i / 2) * 8] =
              c[m][n][i];
    __syncthreads();
    float* y = (float*)in.y + (i64)blockIdx.y * in.part_rows * in.pitch;
    constexpr int kFours = kColumns / 4;
    for (int i = threadIdx.x; i < kRows * kFours; i += kThreads) {
      const int r = i / kFours, at = (i % kFours) * 4;
      const int row = row_block * kRows + r, column = column_block * kColumns + at;
      if (row < in.rows && column < in.n)
        *(float4*)(y + row * in.pitch + column) = *(const float4*)(staged + r * kPitch + at);
    }
  }

  __device__ __forceinline__ void write_silu(const float (&c)[kMine][kRowBlocks][4],
                                             char* memory) const {
    constexpr int kInner = kColumns / 2, kPitch = kInner + 8;
    const int warp = threadIdx.x / 32, lane = threadIdx.x & 31, g = lane / 4, t = lane % 4;
    const int inner = in.n / 2;
    u16* staged = (u16*)memory;  // [kRows, kPitch]
#pragma unroll
    for (int m = 0; m < kMine; ++m) {
      const int at = (warp * kMine + m) * 8 + g;
      const int column = min(column_block * kInner + at, inner - 1);
      float gate_bias = 0, up_bias = 0;
      if (in.bias != nullptr) {
        gate_bias = __ldg(in.bias + column);
        up_bias = __ldg(in.bias + inner + column);
      }
#pragma unroll
      for (int n = 0; n < kRowBlocks; ++n)
#pragma unroll
        for (int i = 0; i < 2; ++i)
          staged[(n * 8 + 2 * t + i) * kPitch + at] =
              bf16_of(silu(c[m][n][i] + gate_bias) * (c[m][n][2 + i] + up_bias));
    }
    __syncthreads();
    constexpr int kEights = kInner / 8;
    for (int i = threadIdx.x; i < kRows * kEights; i += kThreads) {
      const int r = i / kEights, at = (i % kEights) * 8;
      const int row = row_block * kRows + r, column = column_block * kInner + at;
      if (row < in.rows && column < inner)
        *(uint4*)((u16*)in.y + (i64)row * inner + column) =
            *(const uint4*)(staged + r * kPitch + at);
    }
  }

  __device__ __forceinline__ void run(char* memory) {
    float c[kMine][kRowBlocks][4] = {};
#pragma unroll
    for (int s = 0; s < kStages - 1; ++s) load_weights(s);
    wait_for_previous_kernel();
#pragma unroll
    for (int s = 0; s < kStages - 1; ++s) {
      load_rows(s);
      copy_async_commit();
    }
    for (int s = 0; s < steps; ++s) {
      copy_async_wait<kStages - 2>();
      __syncthreads();  // stage s is there for all, and stage s - 1 is free
      load_weights(s + kStages - 1);
      load_rows(s + kStages - 1);
      copy_async_commit();
      multiply_stage(s, c);
    }
    copy_async_wait<0>();
    __syncthreads();
    if (kSilu)
      write_silu(c, memory);
    else
      write_part(c, memory);
  }
};

#define KW_PRODUCT(ROWS, COLUMNS, STAGES, SILU)                         \
  KW_KERNEL __launch_bounds__(kThreads)                                 \
      kw_product_##COLUMNS##_##STAGES##_##SILU(const ProductInput in) { \
    extern __shared__ __align__(128) char shared[];                     \
    let_next_kernel_start();                                            \
    Product<ROWS, COLUMNS, STAGES, SILU != 0>(in, shared).run(shared);  \
  }
// One program is compiled for each number of rows of a block.
KW_PRODUCT(KW_PRODUCT_ROWS, 64, 4, 0)
KW_PRODUCT(KW_PRODUCT_ROWS, 64, 4, 1)
KW_PRODUCT(KW_PRODUCT_ROWS, 64, 6, 0)
KW_PRODUCT(KW_PRODUCT_ROWS, 64, 6, 1)
KW_PRODUCT(KW_PRODUCT_ROWS, 128, 3, 0)
KW_PRODUCT(KW_PRODUCT_ROWS, 128, 3, 1)
KW_PRODUCT(KW_PRODUCT_ROWS, 128, 4, 0)
KW_PRODUCT(KW_PRODUCT_ROWS, 128, 4, 1)
