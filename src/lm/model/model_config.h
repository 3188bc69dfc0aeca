// ModelConfig: a decoder-only transformer of the Qwen2, Qwen2.5, Qwen3 and Llama 2/3 families, as
// Hugging Face's config.json describes it.
#pragma once
#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include "base/json.h"
#include "base/result.h"

namespace kw::lm {

enum class Family { kQwen2, kQwen3, kLlama };
std::string_view to_string(Family family);  // "qwen2", the model_type of config.json

// How rotary frequencies are changed for long contexts (transformers, modeling_rope_utils).
struct RopeScaling {
  enum class Kind { kNone, kLinear, kLlama3, kYarn };
  Kind kind = Kind::kNone;
  double factor = 1;
  std::int64_t original_max_position = 0;  // positions that the model was trained on at first
  double low_frequency_factor = 1, high_frequency_factor = 4;  // llama3
  double beta_fast = 32, beta_slow = 1;                        // yarn
  double attention_factor = 1;                                 // yarn: of cosines and sines
  bool truncate = true;  // yarn: dimensions at the ends of the ramp are whole
};

// D = hidden, H = heads, G = kv_heads, d = head_dim, F = intermediate, V = vocabulary, L = layers.
struct ModelConfig {
  Family family = Family::kQwen2;
  std::int64_t vocabulary = 0, hidden = 0, layers = 0, heads = 0, kv_heads = 0, head_dim = 0;
  std::int64_t intermediate = 0, max_position = 0;
  double norm_epsilon = 1e-6;
  double rope_theta = 10000;
  RopeScaling rope;
  bool tied_embeddings = false;
  bool qkv_bias = false, output_bias = false, mlp_bias = false;
  bool qk_norm = false;             // RMS norm of each head of q and k, before the rotation
  double initializer_range = 0.02;  // standard deviation of new weights
  std::optional<std::int64_t> bos;
  std::vector<std::int64_t> eos;  // any of them ends a sequence
  std::string dtype = "float32";  // of the folder's weights, as its author says

  std::int64_t query_width() const { return heads * head_dim; }
  std::int64_t kv_width() const { return kv_heads * head_dim; }
  std::int64_t parameters() const;  // a tied matrix once
};

// kInvalidArgument names the key, as "config.json.num_hidden_layers"; kUnsupported names what this
// engine has not: other families, sliding windows, other activations and rotations.
Result<ModelConfig> model_config_from_json(const Json& value, const std::string& where);
Json to_json(const ModelConfig& config);  // reads back equal, here and in transformers

// folder/config.json, and the end of sequence of folder/generation_config.json where there is one.
Result<ModelConfig> read_model_config(const std::filesystem::path& folder);

}  // namespace kw::lm
