// Canaries and hashes of ranges of memory. A range begins at a multiple of 8 bytes where it is
// hashed.
// NOLINTBEGIN: the rules are for the text of C++.

// What a block sees: bytes, and the sum of what it finds.
struct Sums {
  u64 seen, sum;
};

// The bytes that lie around an output: one that could be computed from its neighbours would not be
// secret.
__device__ inline u8 canary_byte(u64 seed, u64 i) {
  return (u8)(mixed(mixed(seed + (i / 8 + 1) * kGolden) + seed) >> 8 * (i % 8));
}

__device__ inline RangesTask::Range range_of_block(const RangesTask& task) {
  return task.ranges[blockIdx.x / task.blocks];
}

// This block's part of n things in the range: from the first on, every so many.
__device__ inline u64 first_of_thread(const RangesTask& task) {
  return (u64)(blockIdx.x % task.blocks) * blockDim.x + threadIdx.x;
}
__device__ inline u64 threads_of_range(const RangesTask& task) {
  return (u64)task.blocks * blockDim.x;
}

KW_KERNEL void kw_write_canaries(RangesTask task) {
  const RangesTask::Range range = range_of_block(task);
  for (u64 i = first_of_thread(task); i < range.bytes; i += threads_of_range(task))
    ((u8*)range.address)[i] = canary_byte(range.seed, i);
}

__device__ inline void add_to_report(const RangesTask& task, Sums& all, u64 seen, u64 sum) {
  atomicAdd(&all.seen, seen);
  atomicAdd(&all.sum, sum);
  __syncthreads();
  if (threadIdx.x != 0) return;
  RangesReport* report = (RangesReport*)task.report;
  atomicAdd(&report->seen, all.seen);
  atomicAdd(&report->sum, all.sum);
}

KW_KERNEL void kw_check_canaries(RangesTask task) {
  __shared__ Sums all;
  if (threadIdx.x == 0) all = Sums{0, 0};
  __syncthreads();
  const RangesTask::Range range = range_of_block(task);
  u64 seen = 0, broken = 0;
  for (u64 i = first_of_thread(task); i < range.bytes; i += threads_of_range(task)) {
    ++seen;
    broken += ((const u8*)range.address)[i] != canary_byte(range.seed, i);
  }
  add_to_report(task, all, seen, broken);
}

// A sum of permuted words, each under a secret of its own: a change of one word changes it always,
// and one of several words by chance alone keeps it.
KW_KERNEL void kw_hash(RangesTask task) {
  __shared__ Sums all;
  if (threadIdx.x == 0) all = Sums{0, 0};
  __syncthreads();
  const RangesTask::Range range = range_of_block(task);
  u64 seen = 0, sum = 0;
  const u64 words = (range.bytes + 7) / 8;
  for (u64 i = first_of_thread(task); i < words; i += threads_of_range(task)) {
    const u64 left = range.bytes - 8 * i;
    u64 word = 0;
    if (left >= 8) {
      word = ((const u64*)range.address)[i];
    } else {
      for (u64 k = 0; k < left; ++k) word |= (u64)((const u8*)range.address)[8 * i + k] << 8 * k;
    }
    seen += left < 8 ? left : 8;
    sum += mixed(word ^ mixed(range.seed + (i + 1) * kGolden));
  }
  add_to_report(task, all, seen, sum);
}
// NOLINTEND
