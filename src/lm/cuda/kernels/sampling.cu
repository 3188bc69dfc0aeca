// Draws tokens from rows of float32 logits, as sampling.h says: the first kernel makes the numbers
// that softmax and entropy need of pieces of a row, the second chooses. V = KW_VOCABULARY.
//
// Sums over tokens that decide a draw are added in one order, or in integers where many threads add
// at once: the same logits and random number give the same token, always.
constexpr int kPiece = 2048;  // tokens
constexpr int kPieces = (KW_VOCABULARY + kPiece - 1) / kPiece;
constexpr int kPieceThreads = 256;

struct SampleSettings {
  u64 seed, sequence;
  double top_p, min_p;
  float scale;  // 1 / temperature; 1 where greedy
  u32 position;
  int top_k;   // 0: all
  int forced;  // -1: none
  int mask;    // index of its words; -1: none
  int greedy;
  int top;  // report so many of the likeliest, at most kMaxTop
  int unused;
};

constexpr int kMaxTop = 20;
struct TokenLogprob {
  int token;
  float logprob;
};

// A piece's statistics are relative to its largest logit, so that pieces can be put together.
struct PieceStatistics {
  float largest, sum, mean;  // of exp(x - largest), and of (x - largest) exp(x - largest)
  int first;                 // where the largest is first
};

struct SampleOutput {
  int token;
  float logprob, policy_logprob, entropy;
  float cutoff;  // log-probability of the least likely token that may be drawn
};

constexpr float kNoCutoff = -1e30f;

struct SampleInput {
  const float* logits;  // [rows, pitch]
  i64 pitch;
  const SampleSettings* settings;  // [rows]
  const u64* masks;                // [., mask_words]
  i64 mask_words;
  PieceStatistics *own, *drawn;  // [rows, kPieces]: of the model, and of what is drawn from
  // These are in the host's memory.
  SampleOutput* out;   // [rows]
  TokenLogprob* tops;  // [rows, kMaxTop]
};

__device__ __forceinline__ bool allowed(const SampleInput& in, int mask, int token) {
  return mask < 0 || ((__ldcg(in.masks + mask * in.mask_words + token / 64) >> (token % 64)) & 1);
}

// The statistics of values of which each thread has eight, at tokens first + thread + 256 i.
__device__ __forceinline__ PieceStatistics piece_statistics(const float (&x)[8], int first,
                                                            float* scratch, int* where) {
  constexpr int kWarps = kPieceThreads / 32;
  float largest = x[0];
#pragma unroll
  for (int i = 1; i < 8; ++i) largest = fmaxf(largest, x[i]);
  largest = block_max<kWarps>(largest, scratch);
  if (threadIdx.x == 0) *where = 0x7fffffff;
  __syncthreads();
  float sum = 0, mean = 0;
#pragma unroll
  for (int i = 7; i >= 0; --i)
    if (x[i] == largest) atomicMin(where, first + (int)threadIdx.x + i * kPieceThreads);
  if (largest > KW_NEGATIVE_INFINITY) {
#pragma unroll
    for (int i = 0; i < 8; ++i) {
      const float below = x[i] - largest, e = exp2_of(below * kLog2E);
      sum += e;
      if (e > 0) mean += e * below;
    }
  }
  sum = block_sum<kWarps>(sum, scratch);
  mean = block_sum<kWarps>(mean, scratch);
  return {largest, sum, mean, *where};
}

KW_KERNEL __launch_bounds__(kPieceThreads) kw_sample_statistics(const SampleInput in) {
  __shared__ float scratch[kPieceThreads / 32];
  __shared__ int where;
  let_next_kernel_start();
  wait_for_previous_kernel();
  const int row = blockIdx.y, first = blockIdx.x * kPiece;
  const SampleSettings* s = in.settings + row;
  const float scale = __ldcg(&s->scale);
  const int mask = __ldcg(&s->mask);
  const float* logits = in.logits + row * in.pitch;
  float x[8];
#pragma unroll
  for (int i = 0; i < 8; ++i) {
    const int token = first + (int)threadIdx.x + i * kPieceThreads;
    x[i] = token < KW_VOCABULARY ? __ldcg(logits + token) : KW_NEGATIVE_INFINITY;
  }
  PieceStatistics one = piece_statistics(x, first, scratch, &where);
  const i64 at = (i64)row * kPieces + blockIdx.x;
  if (threadIdx.x == 0) in.own[at] = one;
  if (scale != 1.0f || mask >= 0) {
    __syncthreads();
#pragma unroll
    for (int i = 0; i < 8; ++i) {
      const int token = first + (int)threadIdx.x + i * kPieceThreads;
      x[i] =
          token < KW_VOCABULARY && allowed(in, mask, token) ? scale * x[i] : KW_NEGATIVE_INFINITY;
    }
    one = piece_statistics(x, first, scratch, &where);
  }
  if (threadIdx.x == 0) in.drawn[at] = one;
}

// ---- choosing: one block a row

constexpr int kThreads = 512;
constexpr int kWarps = kThreads / 32;
constexpr int kBins = 2048;

// A row put together from its pieces.
struct RowStatistics {
  float largest;
  double sum, mean;
  int first;  // token of the largest logit
};

struct Shared {
  double sums[kWarps];
  float scratch[kWarps];
  double pieces[kPieces];
  u64 weights[kBins];
  u32 counts[kWarps];
  u64 totals[kWarps];
  u64 carried;
  u32 low, high;
  int token;
};

__device__ RowStatistics row_statistics(const PieceStatistics* pieces, Shared& shared) {
  RowStatistics out;
  float largest = KW_NEGATIVE_INFINITY;
  for (int i = threadIdx.x; i < kPieces; i += kThreads)
    largest = fmaxf(largest, __ldcg(&pieces[i].largest));
  out.largest = block_max<kWarps>(largest, shared.scratch);
  if (threadIdx.x == 0) shared.token = 0x7fffffff;
  __syncthreads();
  double sum = 0, mean = 0;
  for (int i = threadIdx.x; i < kPieces; i += kThreads) {
    const float top = __ldcg(&pieces[i].largest);
    if (top == out.largest) atomicMin(&shared.token, __ldcg(&pieces[i].first));
    if (!(top > KW_NEGATIVE_INFINITY)) continue;
    const double below = (double)top - (double)out.largest, factor = exp(below);
    const double piece = (double)__ldcg(&pieces[i].sum) * factor;
    sum += piece;
    mean += (double)__ldcg(&pieces[i].mean) * factor + piece * below;
  }
  out.sum = block_sum<kWarps>(sum, shared.sums);
  out.mean = block_sum<kWarps>(mean, shared.sums) / out.sum;
  out.first = shared.token < KW_VOCABULARY ? shared.token : 0;
  __syncthreads();
  return out;
}

// Philox4x32-10 (Salmon et al., SC 2011) of (sequence, position) under the seed; 53 bits of it.
__device__ double uniform_at(u64 seed, u64 sequence, u32 position) {
  u32 c0 = (u32)sequence, c1 = (u32)(sequence >> 32), c2 = position, c3 = 0;
  u32 k0 = (u32)seed, k1 = (u32)(seed >> 32);
#pragma unroll
  for (int round = 0; round < 10; ++round) {
    const u32 low0 = 0xD2511F53u * c0, high0 = __umulhi(0xD2511F53u, c0);
    const u32 low1 = 0xCD9E8D57u * c2, high1 = __umulhi(0xCD9E8D57u, c2);
    c0 = high1 ^ c1 ^ k0;
    c1 = low1;
    c2 = high0 ^ c3 ^ k1;
    c3 = low0;
    k0 += 0x9E3779B9u;
    k1 += 0xBB67AE85u;
  }
  const u64 bits = ((u64)c0 << 32) | c1;
  return (double)(bits >> 11) * 0x1.0p-53;
}

struct Row {
  const float* logits;
  float scale, largest;
  int mask;
};

// exp(scale * logit - largest); 0 where it may not be drawn.
__device__ __forceinline__ float share_of(const SampleInput& in, const Row& row, int token) {
  if (!allowed(in, row.mask, token)) return 0;
  return exp2_of((row.scale * __ldcg(row.logits + token) - row.largest) * kLog2E);
}

// Exclusive sums over the block in the order of the threads, and the sum of all.
template <typename T>
__device__ T block_prefix(T value, T* scratch, T& total) {
  const int lane = threadIdx.x & 31, warp = threadIdx.x / 32;
  T inclusive = value;
#pragma unroll
  for (int step = 1; step < 32; step *= 2) {
    T other = __shfl_up_sync(0xffffffffu, inclusive, step);
    if (lane >= step) inclusive += other;
  }
  if (lane == 31) scratch[warp] = inclusive;
  __syncthreads();
  T before = 0;
  total = 0;
  for (int w = 0; w < kWarps; ++w) {
    if (w == warp) before = total;
    total += scratch[w];
  }
  __syncthreads();
  return before + (inclusive - value);
}

// The first token, in their order, at which the sum of shares passes uniform * sum.
__device__ int draw_in_order(const SampleInput& in, const Row& row, const PieceStatistics* pieces,
                             double uniform, int fallback, Shared& shared) {
  for (int i = threadIdx.x; i < kPieces; i += kThreads) {
    const float top = __ldcg(&pieces[i].largest);
    shared.pieces[i] = top > KW_NEGATIVE_INFINITY
                           ? (double)__ldcg(&pieces[i].sum) * exp((double)top - (double)row.largest)
                           : 0.0;
  }
  __syncthreads();
  if (threadIdx.x == 0) {
    double sum = 0;
    for (int i = 0; i < kPieces; ++i) sum += shared.pieces[i];
    double left = uniform * sum;
    int piece = 0, last = 0;
    for (int i = 0; i < kPieces; ++i)
      if (shared.pieces[i] > 0) last = i;
    while (piece < last && left >= shared.pieces[piece]) left -= shared.pieces[piece++];
    shared.low = piece;
    shared.sums[0] = left;
    shared.token = 0x7fffffff;
  }
  __syncthreads();
  const int piece = shared.low;
  const double left = shared.sums[0];
  __syncthreads();
  constexpr int kEach = kPiece / kThreads;
  double shares[kEach], mine = 0;
  const int first = piece * kPiece + (int)threadIdx.x * kEach;
#pragma unroll
  for (int i = 0; i < kEach; ++i) {
    shares[i] = first + i < KW_VOCABULARY ? (double)share_of(in, row, first + i) : 0.0;
    mine += shares[i];
  }
  double total;
  double reached = block_prefix(mine, shared.sums, total);
  // Rounding can pass the end of the piece: then it is the last that can be drawn.
  int last = -1;
#pragma unroll
  for (int i = 0; i < kEach; ++i) {
    if (shares[i] <= 0) continue;
    last = first + i;
    const double next = reached + shares[i];
    if (left >= reached && left < next) atomicMin(&shared.token, last);
    reached = next;
  }
  __syncthreads();
  const int found = shared.token;
  __syncthreads();
  if (found < KW_VOCABULARY) return found;
  if (threadIdx.x == 0) shared.token = -1;
  __syncthreads();
  if (last >= 0) atomicMax(&shared.token, last);
  __syncthreads();
  const int at_end = shared.token;
  return at_end >= 0 ? at_end : fallback;
}

// ---- top-k, top-p and min-p. Tokens are ordered by logit, the largest first, equal ones by
// number. Shares are counted in units of 2^-44 of the largest: integers, whose sum has no order.

constexpr double kUnits = 17592186044416.0;  // 2^44: sums of 2^19 shares fit 64 bits

// Larger for larger logits.
__device__ __forceinline__ u32 key_of(float logit) {
  const u32 bits = __float_as_uint(logit == 0.0f ? 0.0f : logit);  // -0 is 0
  return (bits & 0x80000000u) != 0 ? ~bits : bits | 0x80000000u;
}

__device__ __forceinline__ float logit_of(u32 key) {
  return __uint_as_float((key & 0x80000000u) != 0 ? key ^ 0x80000000u : ~key);
}

// What is kept: keys above `key`, and of those equal to it the tokens up to `token`.
struct Kept {
  u32 key;
  int token;
};

struct Candidate {
  u32 key;
  u64 units;
};

// Units of a token: 0 where it is not kept, not allowed, or less than exp(-60) of the largest,
// which 53 random bits do not hit.
__device__ __forceinline__ Candidate candidate(const SampleInput& in, const Row& row,
                                               const Kept& kept, int token) {
  const float logit = __ldcg(row.logits + token);
  Candidate out = {key_of(logit), 0};
  if (out.key < kept.key || (out.key == kept.key && token > kept.token)) return out;
  const float below = row.scale * logit - row.largest;
  if (!(below >= -60.0f) || !allowed(in, row.mask, token)) return out;
  out.units = (u64)((double)exp2_of(below * kLog2E) * kUnits);
  return out;
}

// What is added up: shares, or the number of tokens.
__device__ __forceinline__ u64 amount_of(const Candidate& c, bool count) {
  return count ? (u64)(c.units > 0) : c.units;
}

__device__ u64 sum_of_kept(const SampleInput& in, const Row& row, const Kept& kept, bool count,
                           Shared& shared) {
  u64 sum = 0, total;
  for (int token = threadIdx.x; token < KW_VOCABULARY; token += kThreads)
    sum += amount_of(candidate(in, row, kept, token), count);
  block_prefix(sum, shared.totals, total);
  return total;
}

// The token, in the order of logits, at which the sum of amounts first passes `target` (less than
// the sum of all): bins of keys first, then of the keys of a bin, until a bin is one key. Its
// tokens are equal and counted in their order.
__device__ Kept find_passing(const SampleInput& in, const Row& row, const Kept& kept, bool count,
                             u64 target, Shared& shared) {
  u32 low = kept.key, high = 0xffffffffu;
  u64 before = 0;  // the sum of all keys above `high`
  while (low < high) {
    const u64 width = (u64)high - low + 1;
    const u64 bin_width = (width + kBins - 1) / kBins;
    for (int i = threadIdx.x; i < kBins; i += kThreads) shared.weights[i] = 0;
    __syncthreads();
    for (int token = threadIdx.x; token < KW_VOCABULARY; token += kThreads) {
      const Candidate c = candidate(in, row, kept, token);
      const u64 amount = amount_of(c, count);
      if (amount > 0 && c.key >= low && c.key <= high)
        atomicAdd(shared.weights + (u64)(high - c.key) / bin_width, amount);
    }
    __syncthreads();
    constexpr int kEach = kBins / kThreads;
    u64 mine = 0, total;
#pragma unroll
    for (int i = 0; i < kEach; ++i) mine += shared.weights[threadIdx.x * kEach + i];
    u64 reached = before + block_prefix(mine, shared.totals, total);
    if (threadIdx.x == 0) shared.low = shared.high = 0;
    __syncthreads();
#pragma unroll
    for (int i = 0; i < kEach; ++i) {
      const u64 bin = threadIdx.x * kEach + i, next = reached + shared.weights[bin];
      if (reached <= target && target < next) {
        const u64 top = (u64)high - bin * bin_width;
        shared.high = (u32)top;
        shared.low = top - low + 1 > bin_width ? (u32)(top - bin_width + 1) : low;
        shared.carried = reached;
      }
      reached = next;
    }
    __syncthreads();
    const u32 next_low = shared.low, next_high = shared.high;
    if (next_high != 0) before = shared.carried;
    __syncthreads();
    if (next_high == 0) break;  // target is not below the sum: the caller's mistake
    low = next_low;
    high = next_high;
  }
  // The token of this key, in the order of tokens.
  if (threadIdx.x == 0) shared.token = -1;
  __syncthreads();
  for (int first = 0; first < KW_VOCABULARY; first += kThreads) {
    const int token = first + (int)threadIdx.x;
    u64 amount = 0, total;
    if (token < KW_VOCABULARY) {
      const Candidate c = candidate(in, row, kept, token);
      if (c.key == high) amount = amount_of(c, count);
    }
    const u64 reached = before + block_prefix(amount, shared.totals, total);
    if (amount > 0 && reached <= target && target < reached + amount) shared.token = token;
    before += total;
    __syncthreads();
    if (shared.token >= 0) break;
  }
  const int token = shared.token;
  __syncthreads();
  return {high, token};
}

struct Choice {
  int token;
  float logprob;
  bool all;     // nothing was taken away
  float least;  // the smallest logit that may be drawn, relative to the largest
};

__device__ Choice draw_truncated(const SampleInput& in, const Row& row,
                                 const SampleSettings& settings, double uniform, int fallback,
                                 Shared& shared) {
  Kept kept = {0, 0x7fffffff};
  const bool few = settings.top_k > 0 && settings.top_k < KW_VOCABULARY;
  if (few && sum_of_kept(in, row, kept, true, shared) > (u64)settings.top_k)
    kept = find_passing(in, row, kept, true, (u64)settings.top_k - 1, shared);
  u64 sum = sum_of_kept(in, row, kept, false, shared);
  if (settings.top_p < 1) {
    // The fewest that reach it: the one at which the sum passes the number before it.
    const double wanted = ceil(settings.top_p * (double)sum);
    u64 target = wanted < 1 ? 0 : (u64)wanted - 1;
    if (target >= sum) target = sum - 1;
    kept = find_passing(in, row, kept, false, target, shared);
    sum = sum_of_kept(in, row, kept, false, shared);
  }
  if (settings.min_p > 0) {
    // The share of the smallest logit that is kept decides; it is found by going through all.
    const double least = log(settings.min_p);
    if (threadIdx.x == 0) shared.low = 0xffffffffu;
    __syncthreads();
    for (int token = threadIdx.x; token < KW_VOCABULARY; token += kThreads) {
      const Candidate c = candidate(in, row, kept, token);
      if (c.units > 0 && (double)(row.scale * __ldcg(row.logits + token) - row.largest) >= least)
        atomicMin(&shared.low, c.key);
    }
    __syncthreads();
    const u32 key = shared.low;
    __syncthreads();
    if (key > kept.key) kept = {key, 0x7fffffff};
    sum = sum_of_kept(in, row, kept, false, shared);
  }
  u64 target = (u64)(uniform * (double)sum);
  if (target >= sum) target = sum - 1;
  Kept drawn;
  const bool by_logit = few || settings.top_p < 1;
  if (by_logit) {
    drawn = find_passing(in, row, kept, false, target, shared);
  } else {  // as the CPU does it: min_p alone leaves the order of tokens
    if (threadIdx.x == 0) shared.token = -1;
    __syncthreads();
    u64 before = 0;
    for (int first = 0; first < KW_VOCABULARY; first += kThreads) {
      const int token = first + (int)threadIdx.x;
      u64 total;
      const u64 amount = token < KW_VOCABULARY ? candidate(in, row, kept, token).units : 0;
      const u64 reached = before + block_prefix(amount, shared.totals, total);
      if (amount > 0 && reached <= target && target < reached + amount) shared.token = token;
      before += total;
      __syncthreads();
      if (shared.token >= 0) break;
    }
    drawn = {0, shared.token};
    __syncthreads();
  }
  const int token = drawn.token >= 0 ? drawn.token : fallback;
  const double below = (double)(row.scale * __ldcg(row.logits + token) - row.largest);
  return {token, (float)(below - log((double)sum / kUnits)), kept.key == 0,
          row.scale * logit_of(kept.key) - row.largest};
}

// The likeliest tokens, one after the other: each is the largest (key, number from behind) below
// the one before.
__device__ void report_top(const SampleInput& in, const float* logits, int count,
                           const RowStatistics& own, TokenLogprob* out, Shared& shared) {
  u64 before = ~0ull;
  for (int i = 0; i < count && i < KW_VOCABULARY; ++i) {
    u64 best = 0;
    for (int token = threadIdx.x; token < KW_VOCABULARY; token += kThreads) {
      const u64 one = ((u64)key_of(__ldcg(logits + token)) << 32) | (0xffffffffu - (u32)token);
      if (one < before && one > best) best = one;
    }
#pragma unroll
    for (int step = 16; step > 0; step /= 2) {
      const u64 other = __shfl_xor_sync(0xffffffffu, best, step);
      if (other > best) best = other;
    }
    if ((threadIdx.x & 31) == 0) shared.totals[threadIdx.x / 32] = best;
    __syncthreads();
    for (int w = 0; w < kWarps; ++w)
      if (shared.totals[w] > best) best = shared.totals[w];
    __syncthreads();
    before = best;
    if (threadIdx.x == 0) {
      const int token = (int)(0xffffffffu - (u32)best);
      out[i] = {token, (float)((double)(__ldcg(logits + token) - own.largest) - log(own.sum))};
    }
  }
}

KW_KERNEL __launch_bounds__(kThreads, 1) kw_sample_choose(const SampleInput in) {
  __shared__ Shared shared;
  let_next_kernel_start();
  wait_for_previous_kernel();
  const int at = blockIdx.x;
  SampleSettings settings;
  static_assert(sizeof(SampleSettings) % 8 == 0, "");
#pragma unroll
  for (int i = 0; i < (int)sizeof(SampleSettings) / 8; ++i)
    ((u64*)&settings)[i] = __ldcg((const u64*)(in.settings + at) + i);
  const PieceStatistics* drawn_pieces = in.drawn + (i64)at * kPieces;
  const RowStatistics own = row_statistics(in.own + (i64)at * kPieces, shared);
  const float* logits = in.logits + at * in.pitch;
  SampleOutput out = {settings.forced, 0, 0, 0, kNoCutoff};
  if (settings.top > 0)
    report_top(in, logits, min(settings.top, kMaxTop), own, in.tops + at * kMaxTop, shared);
  if (settings.forced >= 0) {
    out.logprob = (float)((double)(__ldcg(logits + settings.forced) - own.largest) - log(own.sum));
    out.policy_logprob = out.logprob;
    out.entropy = (float)(log(own.sum) - own.mean);
  } else {
    const RowStatistics drawn = row_statistics(drawn_pieces, shared);
    const Row row = {logits, settings.scale, drawn.largest, settings.mask};
    out.entropy = (float)(log(drawn.sum) - drawn.mean);
    const bool truncates = (settings.top_k > 0 && settings.top_k < KW_VOCABULARY) ||
                           settings.top_p < 1 || settings.min_p > 0;
    if (settings.greedy) {
      out.token = drawn.first;
    } else {
      const double uniform = uniform_at(settings.seed, settings.sequence, settings.position);
      if (truncates) {
        const Choice choice = draw_truncated(in, row, settings, uniform, drawn.first, shared);
        out.token = choice.token;
        out.policy_logprob = choice.logprob;
        if (!choice.all) out.cutoff = (float)((double)choice.least - log(drawn.sum));
      } else {
        out.token = draw_in_order(in, row, drawn_pieces, uniform, drawn.first, shared);
        out.policy_logprob =
            (float)((double)(row.scale * __ldcg(logits + out.token) - drawn.largest) -
                    log(drawn.sum));
      }
    }
    out.logprob = (float)((double)(__ldcg(logits + out.token) - own.largest) - log(own.sum));
  }
  if (threadIdx.x == 0) in.out[at] = out;
}
