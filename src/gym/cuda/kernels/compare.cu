// Outputs compared where they lie, element by element as src/gym/correctness does.
// NOLINTBEGIN: the rules are for the text of C++.

constexpr int kWarps = 8;  // of a block
constexpr double kRelativeFloor = 1e-8;

__device__ inline double magnitude_of(double x) {
  return x < 0 ? -x : x == 0 ? 0 : x;
}
__device__ inline int is_nan(double x) {
  return x != x;
}
__device__ inline int is_finite(double x) {
  return x - x == 0;
}
__device__ inline u64 bits_of(double x) {
  return (u64)__double_as_longlong(x);
}

__device__ inline double real_at(u64 address, int dtype, u64 i) {
  switch (dtype) {
    case kFloat64:
      return ((const double*)address)[i];
    case kFloat32:
      return (double)((const float*)address)[i];
    case kFloat16:
      return (double)half_value(((const u16*)address)[i]);
    default:
      return (double)bfloat16_value(((const u16*)address)[i]);
  }
}

__device__ inline long long whole_at(u64 address, int dtype, u64 i) {
  switch (dtype) {
    case kInt64:
      return ((const long long*)address)[i];
    case kInt32:
      return ((const int*)address)[i];
    case kInt16:
      return ((const short*)address)[i];
    case kInt8:
      return ((const signed char*)address)[i];
    default:
      return ((const u8*)address)[i];
  }
}

// A warp a piece of a row. Threads: 32 * kWarps.
KW_KERNEL void kw_row_parts(ScaleTask task) {
  __shared__ double sums[kWarps][32];
  const u32 warp = threadIdx.x / 32, lane = threadIdx.x % 32;
  const u64 units = task.rows * task.segments;
  for (u64 unit = (u64)blockIdx.x * kWarps + warp; unit < units; unit += (u64)gridDim.x * kWarps) {
    const u64 begin = unit % task.segments * task.stride;
    const u64 end = begin + task.segment < task.columns ? begin + task.segment : task.columns;
    const u64 row = (task.first_row + unit / task.segments) * task.columns;
    double sum = 0;
    for (u64 i = begin + lane; i < end; i += 32) {
      const double x = real_at(task.b, task.dtype, row + i);
      if (is_finite(x)) sum += magnitude_of(x);
    }
    sums[warp][lane] = sum;
    __syncwarp();
    if (lane == 0) {
      for (u32 i = 1; i < 32; ++i) sum += sums[warp][i];
      ((double*)task.parts)[unit] = sum;
    }
    __syncwarp();
  }
}

// A thread a row.
KW_KERNEL void kw_row_scales(ScaleTask task) {
  const u64 row = (u64)blockIdx.x * blockDim.x + threadIdx.x;
  if (row >= task.rows) return;
  double sum = 0, count = 0;
  for (u64 k = 0; k < task.segments; ++k) {
    const u64 begin = k * task.stride;
    sum += ((const double*)task.parts)[row * task.segments + k];
    count += (double)(begin + task.segment < task.columns ? task.segment : task.columns - begin);
  }
  ((double*)task.scales)[row] = sum / count;
}

struct Found {
  u64 wrong, nan, infinite;
  double max_absolute, max_relative, max_of_budget;
};

__device__ inline double infinity() {
  return __longlong_as_double(0x7ff0000000000000LL);
}

__device__ inline void note(Found& found, double difference, double expected) {
  if (difference > found.max_absolute) found.max_absolute = difference;
  const double relative = difference / (magnitude_of(expected) + kRelativeFloor);
  if (relative > found.max_relative) found.max_relative = relative;
}

// A look first: most elements of a tensor that is all wrong lose against what is there.
__device__ inline void keep_sample(const CompareTask& task, u64 i) {
  const u64 hash = mixed(i + kGolden);
  const u64 key = hash >> 40 << 40 | ((i + 1) & ((1ULL << 40) - 1));
  u64* place = &((CompareReport*)task.report)->sample[hash & 63];
  if (key > *(volatile u64*)place) atomicMax(place, key);
}

// Comparison::Piece::judge() of baseline.cc. Returns whether the element is wrong.
__device__ inline int judge(const CompareTask& task, double ours, double theirs, double scale,
                            Found& found) {
  if (ours == theirs) return 0;
  const double difference = magnitude_of(ours - theirs);
  if (!is_finite(difference)) {
    if (is_nan(ours))
      ++found.nan;
    else
      ++found.infinite;
    ++found.wrong;
    found.max_of_budget = infinity();
    return 1;
  }
  const double magnitude = magnitude_of(theirs);
  double allowed = task.relative * magnitude + task.slice * scale + task.least;
  if (difference > task.sides * allowed) {
    const double ratio = magnitude / scale;
    int bin = 0;
    if (ratio > 0) {
      bin = (int)(bits_of(ratio) >> 52 & 0x7ff) - 1023 - task.least_exponent;
      bin = bin < 0 ? 0 : bin > 63 ? 63 : bin;
    }
    const double rare = task.by_magnitude[bin] * scale;
    if (allowed < rare) allowed = rare;
  }
  note(found, difference, theirs);
  const double share = difference / (task.sides * allowed);
  if (share > found.max_of_budget) found.max_of_budget = share;
  if (!(difference > task.sides * allowed)) return 0;
  ++found.wrong;
  return 1;
}

// compare_bits() and compare_whole() of compare.cc.
__device__ inline int judge_exact(const CompareTask& task, u64 i, Found& found) {
  double error, expected;
  if (task.dtype <= kBFloat16) {
    const double ours = real_at(task.a, task.dtype, i);
    expected = real_at(task.b, task.dtype, i);
    if (is_nan(ours)) ++found.nan;
    if (ours == expected) return 0;
    error = ours - expected;
  } else {
    const long long ours = whole_at(task.a, task.dtype, i);
    const long long theirs = whole_at(task.b, task.dtype, i);
    if ((task.dtype != kBool || ours == 0 || ours == 1) && ours == theirs) return 0;
    expected = (double)theirs;
    error = (double)ours - expected;
  }
  ++found.wrong;
  found.max_of_budget = infinity();
  note(found, is_finite(error) ? magnitude_of(error) : 0, expected);
  return 1;
}

// A block's findings, as CompareReport has them.
struct Counts {
  u64 seen, wrong, nan, infinite, max_absolute, max_relative, max_of_budget;
};

// A warp a piece of a row. Threads: 32 * kWarps.
KW_KERNEL void kw_compare(CompareTask task) {
  __shared__ Counts all;
  const u32 warp = threadIdx.x / 32, lane = threadIdx.x % 32;
  if (threadIdx.x == 0) all = Counts{0, 0, 0, 0, 0, 0, 0};
  __syncthreads();
  Found found = {0, 0, 0, 0, 0, 0};
  u64 seen = 0;
  const u64 units = task.rows * task.segments;
  for (u64 unit = (u64)blockIdx.x * kWarps + warp; unit < units; unit += (u64)gridDim.x * kWarps) {
    const u64 begin = unit % task.segments * task.segment;
    const u64 end = begin + task.segment < task.columns ? begin + task.segment : task.columns;
    const u64 row = unit / task.segments;
    const u64 first = (task.first_row + row) * task.columns;
    const double scale = task.is_exact ? 0 : ((const double*)task.scales)[row];
    for (u64 i = begin + lane; i < end; i += 32) {
      const int is_wrong = task.is_exact
                               ? judge_exact(task, first + i, found)
                               : judge(task, real_at(task.a, task.dtype, first + i),
                                       real_at(task.b, task.dtype, first + i), scale, found);
      if (is_wrong) keep_sample(task, first + i);
      ++seen;
    }
  }
  atomicAdd(&all.seen, seen);
  atomicAdd(&all.wrong, found.wrong);
  atomicAdd(&all.nan, found.nan);
  atomicAdd(&all.infinite, found.infinite);
  atomicMax(&all.max_absolute, bits_of(found.max_absolute));
  atomicMax(&all.max_relative, bits_of(found.max_relative));
  atomicMax(&all.max_of_budget, bits_of(found.max_of_budget));
  __syncthreads();
  if (threadIdx.x != 0) return;
  CompareReport* report = (CompareReport*)task.report;
  atomicAdd(&report->seen, all.seen);
  atomicAdd(&report->wrong, all.wrong);
  atomicAdd(&report->nan, all.nan);
  atomicAdd(&report->infinite, all.infinite);
  atomicMax(&report->max_absolute, all.max_absolute);
  atomicMax(&report->max_relative, all.max_relative);
  atomicMax(&report->max_of_budget, all.max_of_budget);
}

__device__ inline float float_at(u64 address, int dtype, u64 i) {
  if (dtype == kFloat32) return ((const float*)address)[i];
  const u16 bits = ((const u16*)address)[i];
  return dtype == kFloat16 ? half_value(bits) : bfloat16_value(bits);
}

__device__ inline float rounded(int dtype, float x) {
  if (dtype == kFloat32) return x;
  return dtype == kFloat16 ? half_value(half_bits(x)) : bfloat16_value(bfloat16_bits(x));
}

__device__ inline float float_magnitude(float x) {
  return as_float(as_bits(x) & 0x7fffffffU);
}

// Float32, float16 and bfloat16 by the benchmarks' rules: torch.allclose as KernelBench calls it,
// and FlashInfer-Bench's errors. Threads: 256.
KW_KERNEL void kw_rules(RulesTask task) {
  __shared__ RulesReport all;
  if (threadIdx.x == 0) all = RulesReport{0, 0, 0, 0, 0, 0, 0, 0};
  __syncthreads();
  constexpr float kLargest = 0x1.fffffep127F;
  u64 seen = 0, outside = 0, infinite = 0, nan = 0, nan_error = 0, wrong = 0;
  float max_absolute = 0, max_relative = 0;
  const u64 threads = (u64)gridDim.x * blockDim.x;
  for (u64 i = (u64)blockIdx.x * blockDim.x + threadIdx.x; i < task.elements; i += threads) {
    ++seen;
    const float c = float_at(task.a, task.dtype, i), r = float_at(task.b, task.dtype, i);
    const float off = float_magnitude(rounded(task.dtype, r - c));
    const float allowed = rounded(
        task.dtype, task.kernelbench_tolerance +
                        float_magnitude(rounded(task.dtype, task.kernelbench_tolerance * c)));
    outside += r != c && !(off <= allowed && off <= kLargest);
    const float difference = float_magnitude(c - r);
    const float relative = difference / (float_magnitude(r) + 1e-8F);
    infinite += float_magnitude(c) > kLargest;
    nan += c != c;
    nan_error += difference != difference || relative != relative;
    wrong += difference > task.atol && relative > task.rtol;
    max_absolute = difference > max_absolute ? difference : max_absolute;
    max_relative = relative > max_relative ? relative : max_relative;
  }
  atomicAdd(&all.seen, seen);
  atomicAdd(&all.outside, outside);
  atomicAdd(&all.infinite, infinite);
  atomicAdd(&all.nan, nan);
  atomicAdd(&all.nan_error, nan_error);
  atomicAdd(&all.wrong, wrong);
  atomicMax(&all.max_absolute, (u64)as_bits(max_absolute));
  atomicMax(&all.max_relative, (u64)as_bits(max_relative));
  __syncthreads();
  if (threadIdx.x != 0) return;
  RulesReport* report = (RulesReport*)task.report;
  atomicAdd(&report->seen, all.seen);
  atomicAdd(&report->outside, all.outside);
  atomicAdd(&report->infinite, all.infinite);
  atomicAdd(&report->nan, all.nan);
  atomicAdd(&report->nan_error, all.nan_error);
  atomicAdd(&report->wrong, all.wrong);
  atomicMax(&report->max_absolute, all.max_absolute);
  atomicMax(&report->max_relative, all.max_relative);
}
// NOLINTEND
