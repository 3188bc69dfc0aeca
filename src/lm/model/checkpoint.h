// Checkpoints: model folders of Hugging Face (config.json, one or several safetensors files),
// read into Parameters and written from them.
#pragma once
#include <cstdint>
#include <filesystem>
#include <functional>

#include "base/result.h"
#include "lm/model/parameters.h"

namespace kw::lm {

// The weights of folder as `type`. Files may hold float32, float16, bfloat16, or int8 as
// save_checkpoint writes it. kNotFound, kInvalidArgument and kDataLoss name the file and the
// tensor: one that is missing, left over, of another shape or dtype, or not finite.
Result<Parameters> load_checkpoint(const std::filesystem::path& folder, const ModelConfig& config,
                                   WeightType type);

struct SaveOptions {
  // float32 and bfloat16 are read by transformers. int8 is ours: NAME.weight as I8 beside
  // NAME.weight_scale as F16 [rows], vectors as F32, and quantization_config in config.json.
  WeightType type = WeightType::kBFloat16;
  std::uint64_t shard_bytes = 5'000'000'000;
  std::function<void()> between = {};  // called after each tensor, or empty
};

// Into a folder that has no checkpoint yet (kAlreadyExists). Each file is complete under its name
// or not there; config.json comes last.
Status save_checkpoint(const std::filesystem::path& folder, const Parameters& parameters,
                       const SaveOptions& options);

// Copies the files beside the weights: tokenizer, chat template, generation_config.json. Those that
// `from` lacks and those that `to` has are left out. kPermissionDenied names the file.
Status copy_tokenizer_files(const std::filesystem::path& from, const std::filesystem::path& to);

}  // namespace kw::lm
