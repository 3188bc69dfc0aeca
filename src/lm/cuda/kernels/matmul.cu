// y = x W^T for few rows of x: each weight is read once, in a stream that begins before the kernel
// before is complete.
//
// A block has 64 rows of x, up to kColumns rows of W (columns of y), and a piece of k. Where k is
// split, an element's pieces are added up in order, whatever the number of rows: by the next
// kernel, to which each piece is a result of its own (a "part"), or here, by the blocks of a
// cluster, which read each other's shared memory.
//
// RMS norm between two matmuls takes no kernel. The first (kResidual) adds to the residual stream
// and writes residual * weight of the norm, and of each row the squares' sums by 32 columns; the
// second multiplies its rows by 1 / sqrt(mean of squares + epsilon). Rounding to bfloat16 is
// relative: it does not matter which comes first.
constexpr int kStep = 64;  // of k: 128 bytes of a row in shared memory, its pieces of 16 exchanged
constexpr int kThreads = 128;
constexpr int kRows = 64;
constexpr int kSquared = 32;   // columns of a sum of squares
constexpr int kMaxSplits = 8;  // the largest cluster that every GPU has

enum Output { kParts, kSilu, kResidual };

struct MatmulInput {
  TensorMap x;           // [rows, k], boxes of kRows
  TensorMap w;           // [n, k], boxes of width columns of y, with silu of half as many
  void* y;               // parts: float32 [splits, part_rows, pitch]; silu: bfloat16 [rows, n / 2];
                         // residual: float32 [rows, n], added to
  const float* bias;     // of silu and residual: [n] or null
  const float* squares;  // of x's rows [rows, k / 32]; null: they are normalised already
  const float* norm;     // of residual: [n], the next norm's weight
  u16* next;             // of residual: [rows, n]
  float* next_squares;   // of residual: [rows, n / 32]
  i64 part_rows, pitch;
  int rows, n, k, steps;  // steps: of kStep, of a split
  int row_blocks;         // ceil(rows / kRows)
  int width;              // rows of W of a block, a multiple of 16 (of residual: 32)
  int early;              // the next kernel starts while this one still waits
  float epsilon;
};

// kSilu: the first half of the columns are gates, the other half the ups that belong to them.
template <int kColumns, int kStages, Output kOutput>
struct Matmul {
  static constexpr int kStageBytes = (kColumns + kRows) * kStep * 2;
  static constexpr int kBlocks = kColumns / 8, kInner = kBlocks / 2;
  static constexpr int kPitch = kColumns + 4;  // of sums in shared memory
  // Of a lane, with g = lane / 4 and t = lane % 4: of its warp's 16 rows g and g + 8, of each block
  // of 8 columns 2 t and 2 t + 1.
  using Sums = float[kBlocks][4];

  const MatmulInput& in;
  const u32 shared;
  const int column_block, first_row, first_step, steps;

  __device__ __forceinline__ Matmul(const MatmulInput& input, const char* memory)
      : in(input),
        shared(shared_address(memory)),
        column_block(blockIdx.x / input.row_blocks),
        first_row(blockIdx.x % input.row_blocks * kRows),
        first_step(blockIdx.y * input.steps),
        steps(min(input.steps, input.k / kStep - (int)blockIdx.y * input.steps)) {}

  // The columns of y of a block.
  __device__ __forceinline__ int own_columns() const {
    return kOutput == kSilu ? in.width / 2 : in.width;
  }
  __device__ __forceinline__ u32 stage(int step) const {
    return shared + step % kStages * kStageBytes;
  }
  __device__ __forceinline__ u32 barrier(int step) const {
    return shared + kStages * kStageBytes + step % kStages * 8;
  }

  // One thread calls it. A stage's barrier waits for the weights and the rows.
  __device__ __forceinline__ void load_weights(int step) const {
    if (step >= steps) return;
    const int at = (first_step + step) * kStep, first = column_block * own_columns();
    barrier_arrive(barrier(step), (in.width + kRows) * kStep * 2);
    copy_box(stage(step), in.w, at, first, barrier(step));
    if (kOutput == kSilu)
      copy_box(stage(step) + kColumns / 2 * 128, in.w, at, in.n / 2 + first, barrier(step));
  }
  __device__ __forceinline__ void load_rows(int step) const {
    if (step >= steps) return;
    copy_box(stage(step) + kColumns * 128, in.x, (first_step + step) * kStep, first_row,
             barrier(step));
  }

  // It begins the matmul, if a warpgroup does it. begins: of new sums.
  __device__ __forceinline__ void multiply_stage(int step, bool begins, Sums& c) const {
    const u32 weights = stage(step), rows = weights + kColumns * 128;
#if KW_WGMMA
    warpgroup_begin();
#pragma unroll
    for (int k = 0; k < kStep / 16; ++k)
      warpgroup_multiply(c, matrix_descriptor(rows + k * 32), matrix_descriptor(weights + k * 32),
                         !begins || k > 0);
    warpgroup_commit();
#else
    const int warp = threadIdx.x / 32, lane = threadIdx.x & 31;
    if (begins) {
#pragma unroll
      for (int i = 0; i < kBlocks * 4; ++i) c[i / 4][i % 4] = 0;
    }
    if (first_row + warp * 16 >= in.rows) return;
#pragma unroll
    for (int k = 0; k < kStep / 16; ++k) {
      u32 a[4];
      load_matrices(a, rows + place_of(warp * 16 + (lane & 15), k * 2 + (lane >> 4)));
#pragma unroll
      for (int n = 0; n < kBlocks / 2; ++n) {
        u32 b[4];
        load_matrices(b, weights + place_of(n * 16 + (lane & 7) + (lane >> 4) * 8,
                                            k * 2 + ((lane >> 3) & 1)));
        multiply_add(c[2 * n], a, b[0], b[1]);
        multiply_add(c[2 * n + 1], a, b[2], b[3]);
      }
    }
#endif
  }

  // Row g (half 0) or g + 8 of this lane's warp.
  __device__ __forceinline__ int row_of(int half) const {
    return first_row + (int)threadIdx.x / 32 * 16 + ((int)threadIdx.x & 31) / 4 + half * 8;
  }
  // Of a lane's rows: the rest of their norm. A row's four lanes add up every fourth pair of sums
  // each, and all of some are under way at once.
  __device__ __forceinline__ void load_factors(float (&factors)[2]) const {
    factors[0] = factors[1] = 1;
    if (in.squares == nullptr) return;
    constexpr int kBatch = 8;
    const int pairs = in.k / kSquared / 2;
    float sums[2] = {};
    for (int first = threadIdx.x & 3; first < pairs; first += 4 * kBatch) {
      float2 some[2][kBatch];
#pragma unroll
      for (int half = 0; half < 2; ++half) {
        const float2* from =
            (const float2*)in.squares + (i64)min(row_of(half), in.rows - 1) * pairs;
#pragma unroll
        for (int i = 0; i < kBatch; ++i) {
          const int at = first + 4 * i;
          some[half][i] = at < pairs ? __ldcg(from + at) : make_float2(0, 0);
        }
      }
#pragma unroll
      for (int half = 0; half < 2; ++half)
#pragma unroll
        for (int i = 0; i < kBatch; ++i) sums[half] += some[half][i].x + some[half][i].y;
    }
#pragma unroll
    for (int half = 0; half < 2; ++half) {
      float sum = sums[half];
      sum += __shfl_xor_sync(0xffffffffu, sum, 1);
      sum += __shfl_xor_sync(0xffffffffu, sum, 2);
      factors[half] = 1.0f / sqrtf(sum / (float)in.k + in.epsilon);
    }
  }

  __device__ __forceinline__ void write_parts(const Sums& c, const float (&factors)[2]) const {
    float* y = (float*)in.y + (i64)blockIdx.y * in.part_rows * in.pitch;
#pragma unroll
    for (int half = 0; half < 2; ++half) {
      const int row = row_of(half);
      if (row >= in.rows) continue;
#pragma unroll
      for (int b = 0; b < kBlocks; ++b) {
        const int column = column_block * in.width + b * 8 + 2 * ((int)threadIdx.x & 3);
        if (b * 8 < in.width && column < in.n)
          *(float2*)(y + row * in.pitch + column) =
              make_float2(c[b][2 * half] * factors[half], c[b][2 * half + 1] * factors[half]);
      }
    }
  }

  __device__ __forceinline__ void write_silu(const Sums& c, const float (&factors)[2]) const {
    const int inner = in.n / 2;
#pragma unroll
    for (int b = 0; b < kInner; ++b) {
      const int column = column_block * own_columns() + b * 8 + 2 * ((int)threadIdx.x & 3);
      if (b * 8 >= own_columns() || column >= inner) continue;
      float2 gate_bias = make_float2(0, 0), up_bias = gate_bias;
      if (in.bias != nullptr) {
        gate_bias = __ldg((const float2*)(in.bias + column));
        up_bias = __ldg((const float2*)(in.bias + inner + column));
      }
#pragma unroll
      for (int half = 0; half < 2; ++half) {
        const int row = row_of(half);
        const float f = factors[half];
        const float *gates = c[b] + 2 * half, *ups = c[b + kInner] + 2 * half;
        if (row < in.rows)
          *(u32*)((u16*)in.y + (i64)row * inner + column) = bf16_pair(
              silu(scaled_plus(gates[0], f, gate_bias.x)) * scaled_plus(ups[0], f, up_bias.x),
              silu(scaled_plus(gates[1], f, gate_bias.y)) * scaled_plus(ups[1], f, up_bias.y));
      }
    }
  }

  __device__ __forceinline__ void stage_sums(const Sums& c, float* staged) const {
#pragma unroll
    for (int half = 0; half < 2; ++half)
#pragma unroll
      for (int b = 0; b < kBlocks; ++b)
        *(float2*)(staged + (row_of(half) - first_row) * kPitch + b * 8 +
                   2 * ((int)threadIdx.x & 3)) = make_float2(c[b][2 * half], c[b][2 * half + 1]);
  }
  // Blocks of a cluster have the splits of the same elements, and take turns at 32 columns of a
  // row, eight lanes each. Four of these columns:
  struct Four {
    int row = -1, column, staged;  // row -1: there are none
    float4 residual, weight;
  };
  __device__ __forceinline__ Four load_four_columns(int turn) const {
    Four out;
    const int across = in.width / kSquared, r = turn / across;
    const int at = turn % across * kSquared + ((int)threadIdx.x & 7) * 4;
    out.column = column_block * in.width + at;
    if (r >= kRows || first_row + r >= in.rows || out.column >= in.n) return out;
    out.row = first_row + r;
    out.staged = (r * kPitch + at) * 4;
    out.residual = __ldcg((const float4*)((const float*)in.y + (i64)out.row * in.n + out.column));
    out.weight = __ldg((const float4*)(in.norm + out.column));
    return out;
  }
  __device__ __forceinline__ void finish(const Four& four) const {
    const int splits = gridDim.y;
    float4 pieces[kMaxSplits];
#pragma unroll
    for (int s = 0; s < kMaxSplits; ++s)
      if (s < splits) pieces[s] = load_from_block(shared + four.staged, s);
    float4 v = four.residual;
#pragma unroll
    for (int s = 0; s < kMaxSplits; ++s)
      if (s < splits) v = plus(v, pieces[s]);
    if (in.bias != nullptr) v = plus(v, __ldg((const float4*)(in.bias + four.column)));
    const i64 at = (i64)four.row * in.n + four.column;
    *(float4*)((float*)in.y + at) = v;
    const float4 w = four.weight;
    store_activations(in.next + at, make_float4(v.x * w.x, v.y * w.y, v.z * w.z, v.w * w.w));
    float squares = sum_of_squares(v);
#pragma unroll
    for (int step = 4; step > 0; step /= 2)
      squares += __shfl_xor_sync(0xffu << (threadIdx.x & 24), squares, step);
    if ((threadIdx.x & 7) == 0) in.next_squares[at / kSquared] = squares;
  }
  __device__ __forceinline__ void add_to_residual(const Sums& c, char* memory) const {
#pragma unroll
    for (int half = 0; half < 2; ++half)
#pragma unroll
      for (int b = 0; b < kBlocks; ++b)
        *(float2*)((float*)memory + (row_of(half) - first_row) * kPitch + b * 8 +
                   2 * ((int)threadIdx.x & 3)) = make_float2(c[b][2 * half], c[b][2 * half + 1]);
    arrive_at_cluster();
    const int step = kThreads / 8 * gridDim.y;
    int turn = (int)threadIdx.x / 8 * gridDim.y + (int)blockIdx.y;
    Four four = load_four_columns(turn);
    wait_for_cluster();
    for (; turn < kRows * in.width / kSquared; turn += step) {
      if (four.row >= 0) finish(four);
      four = load_four_columns(turn + step);
    }
    arrive_at_cluster_after_reading();
    wait_for_cluster();
  }

  // One thread calls it.
  __device__ __forceinline__ void begin() const {
    prefetch_map(in.x);
#pragma unroll
    for (int s = 0; s < kStages; ++s) barrier_begin(barrier(s), 1);
    barriers_have_begun();
    for (int s = 0; s < kStages; ++s) load_weights(s);
  }

  __device__ __forceinline__ void run(char* memory) {
    const bool loads = threadIdx.x == 0;
    if (loads) begin();
    if (in.early) let_next_kernel_start();  // its loads come after these
    __syncthreads();
    wait_for_previous_kernel();
    if (!in.early) let_next_kernel_start();
    if (loads)
      for (int s = 0; s < kStages; ++s) load_rows(s);
    float factors[2];
    load_factors(factors);
    Sums c;
    for (int s = 0; s < steps; ++s) {
      barrier_wait(barrier(s), s / kStages & 1);
      multiply_stage(s, s == 0, c);
      warpgroup_wait<1>();
      __syncthreads();  // the stage before is read
      if (loads && s > 0) {
        load_weights(s - 1 + kStages);
        load_rows(s - 1 + kStages);
      }
    }
    warpgroup_wait<0>();
    if (kOutput == kParts) write_parts(c, factors);
    if (kOutput == kSilu) write_silu(c, factors);
    if (kOutput == kResidual) {
      __syncthreads();  // all stages are read
      add_to_residual(c, memory);
    }
  }
};

#define KW_MATMUL(NAME, OUTPUT)                                                                    \
  KW_KERNEL __launch_bounds__(kThreads) kw_matmul_##NAME(const __grid_constant__ MatmulInput in) { \
    extern __shared__ __align__(1024) char shared[];                                               \
    Matmul<KW_MATMUL_COLUMNS, KW_MATMUL_STAGES, OUTPUT>(in, shared).run(shared);                   \
  }
// One program is compiled for each number of columns of a block.
KW_MATMUL(parts, kParts)
KW_MATMUL(silu, kSilu)
KW_MATMUL(residual, kResidual)
