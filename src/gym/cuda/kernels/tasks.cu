// The tasks of the kernels: the same text for the host's compiler (gym/cuda/kernel_tasks.h) and
// for NVRTC. Addresses are the GPU's; sizes are in elements where nothing else is said.
// NOLINTBEGIN: the rules are for the text of C++.

enum class Draw : int { kNormal, kUniform, kWhole };

// A tensor to be drawn as inputs/fill.cc draws it: a seed of its own for each piece.
struct DrawTask {
  unsigned long long out;
  unsigned long long elements;
  unsigned long long piece;
  unsigned long long first_piece;  // of this launch
  unsigned blocks;                 // that share a piece of mixed numbers
  unsigned long long seed;
  Draw kind;
  int dtype;  // tensor::DType
  // Normal numbers: of the mixer, and what a number becomes afterwards.
  float mix_mean, mix_deviation;
  int moves;  // mean + deviation * x
  float mean, deviation;
  int spikes;  // one number in each block is multiplied by scale
  float scale;
  int clamps;  // to +-largest
  float largest;
  // Uniform numbers: low + width * x, from least to most.
  float low, width, least, most;
  // Whole numbers: the least, and how many there are; 0: 2^64.
  long long least_whole;
  unsigned long long count;
};

// Poison as inputs/poison.cc writes it.
struct PoisonTask {
  unsigned long long out;
  unsigned long long bytes;
  unsigned long long piece;  // bytes
  unsigned blocks;           // that share a piece
  unsigned long long seed;
  int element_bytes;
  // Floating dtypes: bits of the element. Others: is_float is 0, and least says how small a byte
  // may be; 0: anything.
  int is_float;
  unsigned long long sign, nan, payload, huge;
  unsigned least;
};

// Means of |b| over rows of a tensor of rows x columns: over pieces of rows (kw_row_parts), then
// over rows (kw_row_scales).
struct ScaleTask {
  unsigned long long b;
  int dtype;
  unsigned long long first_row, rows;  // of this launch
  unsigned long long columns;
  // Pieces of a row: so many, each so long, so far apart.
  unsigned long long segments, segment, stride;
  unsigned long long parts;   // double, [rows][segments]
  unsigned long long scales;  // double, [rows]
};

// Bytes in ranges of memory: canaries around outputs, or blocks of inputs that are hashed.
constexpr int kMaxRanges = 96;
struct RangesTask {
  struct Range {
    unsigned long long address, bytes, seed;
  };
  Range ranges[kMaxRanges];
  unsigned count;
  unsigned blocks;            // that share a range
  unsigned long long report;  // RangesReport
};

// All reports of kernels begin as zeros.
struct RangesReport {
  unsigned long long seen;  // bytes
  unsigned long long sum;   // the hash; of canaries: how many bytes are not theirs
};

// The findings of correctness/baseline.cc and compare.cc about two outputs. Maxima are the bits of
// doubles that are not negative.
struct CompareReport {
  unsigned long long seen;  // elements
  unsigned long long wrong, nan, infinite;
  unsigned long long max_absolute, max_relative, max_of_budget;
  // Wrong elements at random: in each place, of those that a hash puts there, the one with the
  // largest hash, under 24 bits of which its number and a one stand; 0: none.
  unsigned long long sample[64];
};

struct CompareTask {
  unsigned long long a, b;  // the candidate's and what is expected
  int dtype;
  int is_exact;                        // equal elements; else within a budget of the row's scale
  unsigned long long first_row, rows;  // of this launch
  unsigned long long columns, segments, segment;
  unsigned long long scales;  // double, [rows]
  unsigned long long report;  // CompareReport
  // BaselineCoefficients.
  double relative, slice, least, sides;
  double by_magnitude[64];
  int least_exponent;
};

// The findings of the benchmarks' rules (correctness/compat.cc). Maxima are the bits of floats.
struct RulesReport {
  unsigned long long seen;     // elements
  unsigned long long outside;  // of KernelBench's tolerance
  unsigned long long infinite, nan, nan_error, wrong;
  unsigned long long max_absolute, max_relative;
};

struct RulesTask {
  unsigned long long a, b;
  int dtype;
  unsigned long long elements;
  unsigned long long report;  // RulesReport
  float kernelbench_tolerance, atol, rtol;
};
// NOLINTEND
