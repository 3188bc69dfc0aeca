// Inputs and poison, bit for bit what src/gym/inputs draws on the host.
// NOLINTBEGIN: the rules are for the text of C++.

constexpr int kStreamWarps = 4;    // of a block; each draws a piece
constexpr int kStreamBlocks = 4;   // of words, made at a time
constexpr int kSpikeBlock = 1024;  // numbers of which one is a spike
constexpr u64 kPlacesSeed = 0x5851f42d4c957f2dULL;

__device__ inline u64 piece_seed(u64 seed, u64 piece) {
  return seed + piece * kGolden;
}

// This block's part of n numbers, where `blocks` neighbours share them.
struct Share {
  u64 first, end;
};

__device__ inline Share share_of(u64 n, u32 blocks) {
  const u64 each = (n + blocks - 1) / blocks, first = blockIdx.x % blocks * each;
  return {first < n ? first : n, first + each < n ? first + each : n};
}

__device__ inline float finished(const DrawTask& task, float x, int is_spike) {
  if (task.moves) x = task.mean + task.deviation * x;
  if (is_spike) x *= task.scale;
  return task.clamps ? lesser(greater(x, -task.largest), task.largest) : x;
}

__device__ inline long long whole_of(const DrawTask& task, u64 word) {
  u64 step = word;
  if (task.count != 0)
    step = task.count <= (1ULL << 32) ? ((step >> 32) * task.count) >> 32 : step % task.count;
  return (long long)((u64)task.least_whole + step);
}

// Numbers straight from a piece's Stream: the 128 numbers of a block from its halves.
__device__ inline void put_block(const DrawTask& task, u64 first, u64 left, const u64* words,
                                 u32 spike, u32 lane) {
  for (u32 i = lane; i < kBlockWords; i += 32) {
    if (task.kind == Draw::kWhole) {
      if (i < left) store_whole(task.out, task.dtype, first + i, whole_of(task, words[i]));
      continue;
    }
    float values[2];
    if (task.kind == Draw::kUniform) {
      for (int k = 0; k < 2; ++k)
        values[k] = lesser(
            greater(task.low + task.width * uniform_of(half_of(words, i + k * 64)), task.least),
            task.most);
    } else {
      normal_pair(half_of(words, i), half_of(words, i + 64), values[0], values[1]);
    }
    for (u32 k = 0; k < 2; ++k) {
      const u32 at = i + k * 64;
      if (at < left)
        store_real(task.out, task.dtype, first + at,
                   finished(task, values[k], task.spikes && at == spike));
    }
  }
}

// A warp a piece. Threads: 32 * kStreamWarps.
KW_KERNEL void kw_draw_stream(DrawTask task) {
  __shared__ u64 made[kStreamWarps][kStreamBlocks * kBlockWords];
  __shared__ u32 spikes[kStreamWarps];
  const u32 warp = threadIdx.x / 32, lane = threadIdx.x % 32;
  const u64 piece = task.first_piece + (u64)blockIdx.x * kStreamWarps + warp;
  const u64 start = piece * task.piece;
  if (start >= task.elements) return;
  const u64 rest = task.elements - start;
  const u64 n = rest < task.piece ? rest : task.piece;
  const u64 seed = piece_seed(task.seed, piece);
  Generator own = generator(seed, lane % kGenerators);
  Generator places = generator(seed ^ kPlacesSeed, 0);
  u64* words = made[warp];
  const u32 width = task.kind == Draw::kWhole ? kBlockWords : kBlockHalves;
  for (u64 at = 0; at < n; at += (u64)kStreamBlocks * width) {
    if (lane < kGenerators) make_words(own, lane, kStreamBlocks, words);
    if (task.spikes && lane == 0 && at % kSpikeBlock == 0)
      spikes[warp] = (u32)below(places, n - at < kSpikeBlock ? n - at : kSpikeBlock);
    __syncwarp();
    for (u32 b = 0; b < kStreamBlocks && at + b * width < n; ++b) {
      const u64 first = at + b * width;
      put_block(task, start + first, n - first, words + b * kBlockWords,
                task.spikes ? spikes[warp] - (u32)(first % kSpikeBlock) : 0, lane);
    }
    __syncwarp();
  }
}

// inputs/normal_mixer.h.
constexpr int kWindow = 1024, kPool = 8 * kWindow;
constexpr int kPools = 2 * kPool;  // floats
constexpr int kMixedBlocks = 8;    // of words, made at a time
constexpr int kMaxWindows = 512;   // of a piece
constexpr int kChoicesAtOnce = 64;
constexpr int kPoolBlocks = kPools / kBlockHalves;
constexpr int kChoiceBlocks = 2 * kMaxWindows / kChoicesAtOnce;
static_assert(kPoolBlocks % kMixedBlocks == 0 && kChoiceBlocks % kMixedBlocks == 0, "");

struct Choice {
  u16 first, second;
  float a, b;
};

#ifndef KW_EMULATED
extern __shared__ float kw_pools[];
#endif

// A block of words holds the places of 64 windows, the next the directions.
__device__ inline void choose(const DrawTask& task, const u64* words, Choice* choices, u32 i) {
  constexpr u64 kPlaces = kPool - kWindow + 1;
  const u64 place = words[i];
  float direction[2];
  for (u32 k = 0; k < 2; ++k) {
    // Numbers 2i and 2i + 1 of the block: a pair makes numbers j and j + 64.
    const u32 at = 2 * i + k, j = at % 64;
    float pair[2];
    normal_pair(half_of(words + kBlockWords, j), half_of(words + kBlockWords, j + 64), pair[0],
                pair[1]);
    direction[k] = pair[at / 64];
  }
  const float x = direction[0], y = direction[1];
  const float length = sqrtf(x * x + y * y);
  const int zero = !(length > 0);
  choices[i] = {(u16)((place >> 32) * kPlaces >> 32),
                (u16)((place & 0xffffffffULL) * kPlaces >> 32),
                zero ? task.mix_deviation : task.mix_deviation * (x / length),
                zero ? 0.0F : task.mix_deviation * (y / length)};
}

// task.blocks blocks a piece of at least NormalMixer::kWorthwhile numbers. Threads: 256. Dynamic
// shared memory: kPools floats.
KW_KERNEL void kw_draw_mixed(DrawTask task) {
  __shared__ u64 words[kMixedBlocks * kBlockWords];
  __shared__ Choice choices[kMaxWindows];
  __shared__ u16 spikes[kMaxWindows];
  const u32 thread = threadIdx.x, threads = blockDim.x;
  const u64 piece = task.first_piece + blockIdx.x / task.blocks;
  const u64 start = piece * task.piece;
  const u64 rest = task.elements - start;
  const u64 n = rest < task.piece ? rest : task.piece;
  const u64 seed = piece_seed(task.seed, piece);
  Generator own = generator(~seed ^ kPlacesSeed, thread % kGenerators);
  for (u32 block = 0; block < kPoolBlocks + kChoiceBlocks; block += kMixedBlocks) {
    if (thread < kGenerators) make_words(own, thread, kMixedBlocks, words);
    if (task.spikes && block == 0 && thread == 32) {
      Generator places = generator(seed ^ kPlacesSeed, 0);
      for (u64 at = 0; at < n; at += kSpikeBlock)
        spikes[at / kSpikeBlock] = (u16)below(places, n - at < kSpikeBlock ? n - at : kSpikeBlock);
    }
    __syncthreads();
    for (u32 i = thread; i < kMixedBlocks * kBlockWords; i += threads) {
      const u32 b = i / 64, j = i % 64;
      if (block < kPoolBlocks) {
        float* to = kw_pools + (block + b) * kBlockHalves + j;
        normal_pair(half_of(words + b * kBlockWords, j), half_of(words + b * kBlockWords, j + 64),
                    to[0], to[64]);
      } else if (b % 2 == 0) {
        choose(task, words + b * kBlockWords,
               choices + (block - kPoolBlocks + b) / 2 * kChoicesAtOnce, j);
      }
    }
    __syncthreads();
  }
  const Share share = share_of(n, task.blocks);
  for (u64 i = share.first + thread; i < share.end; i += threads) {
    const Choice& choice = choices[i / kWindow];
    const u32 column = (u32)(i % kWindow);
    const float a = kw_pools[choice.first + column];
    const float b = kw_pools[kPool + choice.second + column];
    const float x = task.mix_mean + (choice.a * a + choice.b * b);
    const int is_spike = task.spikes && spikes[i / kSpikeBlock] == column;
    store_real(task.out, task.dtype, start + i, finished(task, x, is_spike));
  }
}

// inputs/poison.cc.
constexpr int kPoisonBlock = 4096 / 8, kPoisonPool = 4 * kPoisonBlock;  // words
constexpr int kMaxPoisonBlocks = 256;                                   // of a piece
constexpr u64 kPoisonPlaces = (4 * 4096 - 4096) / 64 + 1;

__device__ inline u64 poisoned_word(const PoisonTask& task, u64 word, int nan_first) {
  const int bits = 8 * task.element_bytes;
  if (!task.is_float && task.least == 0) return word;
  u64 out = 0;
  for (int shift = 0, i = 0; shift < 64; shift += bits, ++i) {
    const u64 random = bits == 64 ? word : (word >> shift) & ((1ULL << bits) - 1);
    u64 element;
    if (task.is_float) {
      const int as_nan = ((i & 1) == 0) == (nan_first != 0);
      element =
          (as_nan ? task.nan | (random & task.payload) | 1 : task.huge) | (random & task.sign);
    } else {
      element = task.least + random * (256 - task.least) / 256;
    }
    out |= element << shift;
  }
  return out;
}

// task.blocks blocks a piece. Threads: 256.
KW_KERNEL void kw_poison(PoisonTask task) {
  __shared__ u64 random[kBlockWords];
  __shared__ u64 pool[kPoisonPool];
  __shared__ u64 places[kMaxPoisonBlocks];
  const u32 thread = threadIdx.x, threads = blockDim.x;
  const u64 start = (u64)(blockIdx.x / task.blocks) * task.piece;
  const u64 rest = task.bytes - start;
  const u64 n = rest < task.piece ? rest : task.piece;
  const u64 pool_bytes = (n + 63) / 64 * 64;
  const int pool_words = (int)(pool_bytes < 8 * kPoisonPool ? pool_bytes / 8 : kPoisonPool);
  if (thread < kGenerators) {
    Generator own = generator(piece_seed(task.seed, blockIdx.x / task.blocks), thread);
    make_words(own, thread, 1, random);
    make_words(own, thread, (pool_words + kBlockWords - 1) / kBlockWords, pool);
    make_words(own, thread, kMaxPoisonBlocks / kBlockWords, places);
  }
  __syncthreads();
  const int nan_first = (int)(random[0] & 1);
  // Elements of 8 bytes have two words, and the kinds take turns by words.
  for (u32 i = thread; i < (u32)pool_words; i += threads)
    pool[i] = poisoned_word(task, pool[i],
                            task.element_bytes == 8 && (i & 1) != 0 ? !nan_first : nan_first);
  __syncthreads();
  u64* out = (u64*)(task.out + start);
  const Share share = share_of((n + 7) / 8, task.blocks);
  for (u32 i = (u32)share.first + thread; i < share.end; i += threads) {
    const u32 block = i / kPoisonBlock;
    const u32 place =
        i < kPoisonPool ? block * kPoisonBlock : (u32)(places[block] % kPoisonPlaces * 8);
    const u64 word = pool[place + i % kPoisonBlock];
    if (8 * (u64)i + 8 <= n) {
      out[i] = word;
      continue;
    }
    for (u64 byte = 8 * (u64)i; byte < n; ++byte) ((u8*)out)[byte] = (u8)(word >> (8 * (byte % 8)));
  }
}
// NOLINTEND
