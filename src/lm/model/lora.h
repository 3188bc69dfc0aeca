// LoRA (Hu et al., arXiv 2106.09685): projections to which a product of two small matrices is
// added, W + (alpha / rank) B A. Files are PEFT's: a folder with adapter_config.json and
// adapter_model.safetensors.
#pragma once
#include <cstdint>
#include <filesystem>
#include <string>
#include <vector>

#include "base/result.h"
#include "lm/model/parameters.h"

namespace kw::lm {

// Names of the projections that a layer has, as in checkpoints: "q_proj" to "down_proj".
const std::vector<std::string>& lora_targets();

struct LoraShape {
  std::int64_t rank = 16;
  double alpha = 16;
  std::vector<std::string> targets;  // ends of projections' names: "q_proj", "0.mlp.up_proj"
};

// The two matrices of one projection, float32, row major.
struct LoraMatrices {
  std::string projection;  // "model.layers.0.self_attn.q_proj"
  std::int64_t rows = 0, columns = 0;
  std::vector<float> a;  // [rank, columns]
  std::vector<float> b;  // [rows, rank]
};

struct LoraAdapter {
  LoraShape shape;
  std::string base_model;              // as its files say it; no more than a hint
  std::vector<LoraMatrices> matrices;  // in the order of Parameters::named()

  double scale() const { return shape.alpha / static_cast<double>(shape.rank); }
};

// As PEFT begins: A uniform within 1 / sqrt(columns), B zero, so that nothing changes yet. The same
// seed gives the same numbers; each matrix draws from a stream of its name. kInvalidArgument for a
// target that matches nothing, a rank below 1 or an alpha that is no positive number.
Result<LoraAdapter> new_lora(const Parameters& parameters, const LoraShape& shape,
                             std::uint64_t seed);

// kNotFound, kInvalidArgument or kDataLoss names the file and the key or the tensor: what is
// missing, left over, of another shape or not finite, and what PEFT can do and we cannot (DoRA,
// biases, whole modules, ranks by layer, rank-stabilised scales).
Result<LoraAdapter> load_lora(const std::filesystem::path& folder, const Parameters& parameters);
// How many numbers such an adapter has. targets that match nothing count nothing.
std::int64_t lora_parameters(const ModelConfig& config, const LoraShape& shape);

// adapter_config.json alone; errors as load_lora's.
Result<LoraShape> read_lora_shape(const std::filesystem::path& folder);
// Makes the folder. The files may be there already and are overwritten.
Status save_lora(const std::filesystem::path& folder, const LoraAdapter& adapter);

// Adds the products to the weights, rounded once to their type. parameters: float32 or bfloat16,
// of the model for which the adapter was made or loaded.
void merge_lora(Parameters& parameters, const LoraAdapter& adapter);

}  // namespace kw::lm
