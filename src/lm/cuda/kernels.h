// The engine's kernels, compiled for one model's shape, and their parameters as the .cu files
// declare them.
#pragma once
#include <cstdint>
#include <filesystem>
#include <string>
#include <string_view>
#include <vector>

#include "cuda/context.h"
#include "cuda/module.h"
#include "cuda/tensor_map.h"
#include "lm/model/matrix.h"
#include "lm/model/model_config.h"

namespace kw::lm::cuda {

using kw::cuda::DevicePointer;
using kw::cuda::Function;

// norm.cu
struct NormInput {
  DevicePointer residual, parts;
  std::int64_t part_rows;
  DevicePointer bias, weight, tokens, table, row_list, out;
  std::int32_t part_count, keep;
  float epsilon;
};

// heads.cu
struct HeadInput {
  DevicePointer qkv;
  std::int64_t part_rows;
  DevicePointer bias, q_norm, k_norm, cosine, sine, positions, slots, kv;
  std::int64_t context;
  std::int32_t parts;
  float epsilon;
};

// attention_decode.cu
struct DecodeInput {
  HeadInput heads;
  DevicePointer row_list, partial, statistics, arrived, out;
};

// attention_prefill.cu
struct PrefillInput {
  HeadInput heads;
  DevicePointer row_list, tiles, out;
};

// matmul.cu
struct MatmulInput {
  kw::cuda::TensorMap x, w;
  DevicePointer y, bias, squares, norm, next, next_squares;
  std::int64_t part_rows, pitch;
  std::int32_t rows, n, k, steps, row_blocks, width, early;
  float epsilon;
};
inline constexpr std::int64_t kSquaredColumns = 32;  // of a sum of squares

// sampling.cu
struct SampleSettings {
  std::uint64_t seed, sequence;
  double top_p, min_p;
  float scale;
  std::uint32_t position;
  std::int32_t top_k, forced, mask, greedy, top, unused;
};
static_assert(sizeof(SampleSettings) == 64);
struct SampleOutput {
  std::int32_t token;
  float logprob, policy_logprob, entropy, cutoff;
};
struct SampleInput {
  DevicePointer logits;
  std::int64_t pitch;
  DevicePointer settings, masks;
  std::int64_t mask_words;
  DevicePointer own, drawn, out, tops;
};
inline constexpr std::int64_t kSamplePiece = 2048;  // tokens of a piece's statistics
inline constexpr std::size_t kPieceStatisticsBytes = 16;

inline constexpr std::int64_t kDecodeTile = 128;  // positions that split_tiles counts in
inline constexpr std::int64_t kPrefillTile = 64;  // rows

// The last stage of matmul.cu, which turns its sums into results.
enum class MatmulOutput { kParts, kSilu, kResidual };
inline constexpr MatmulOutput kMatmulOutputs[] = {MatmulOutput::kParts, MatmulOutput::kSilu,
                                                  MatmulOutput::kResidual};
// Names the kernel of matmul.cu.
constexpr std::string_view kernel_name(MatmulOutput output) {
  switch (output) {
    case MatmulOutput::kParts:
      return "kw_matmul_parts";
    case MatmulOutput::kSilu:
      return "kw_matmul_silu";
    case MatmulOutput::kResidual:
      break;
  }
  return "kw_matmul_residual";
}
// A block's rows of W are a multiple of this: silu has as many gates as ups, in eights, and sums of
// squares are of kSquaredColumns columns.
constexpr int width_unit(MatmulOutput output) {
  return output == MatmulOutput::kResidual ? static_cast<int>(kSquaredColumns) : 16;
}

// One of the shapes that matmul.cu is compiled in.
struct MatmulVariant {
  int columns, stages;
  MatmulOutput output;
  Function function;
  unsigned shared_bytes() const;
  // The shape of a launch with `width` columns of y a block and k in `splits` pieces. It sets the
  // members of `in` that depend on the shape.
  kw::cuda::LaunchShape launch_shape(int width, int splits, MatmulInput& in) const;
};

// The definitions that kernels of a model's shape are compiled with: "KW_HEADS=14" and so on.
std::vector<std::string> shape_definitions(const ModelConfig& config, WeightType type,
                                           int split_tiles);

class Kernels {
 public:
  // kUnsupported names a property of the model that the kernels lack, or a library that is missing.
  static Result<Kernels> make(const kw::cuda::Context& context, const ModelConfig& config,
                              WeightType type, int split_tiles, const std::filesystem::path& cache);

  Function norm, silu, heads, copy_slot, attention_decode, attention_prefill, attention_exact,
      sample_statistics, sample_choose, initial, fill, checksum;
  std::vector<MatmulVariant> matmuls;  // none where weights are float32
  unsigned decode_shared_bytes = 0, prefill_shared_bytes = 0;

 private:
  Status find(const std::vector<kw::cuda::Module>& modules, bool float32);
  std::vector<kw::cuda::Module> modules_;
};

}  // namespace kw::lm::cuda
