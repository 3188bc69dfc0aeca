#include "lm/import/gguf_config.h"

#include <array>
#include <cmath>
#include <numbers>
#include <optional>

#include "base/text.h"

namespace kw::lm {
namespace {

using tensor::GgufFile;
using tensor::GgufTensor;

class Metadata {
 public:
  Metadata(const Json& all, std::string architecture)
      : all_(all), architecture_(std::move(architecture)) {}

  std::string key(std::string_view name) const { return fmt::format("{}.{}", architecture_, name); }

  const Json* find(std::string_view name) const {
    auto found = all_.find(key(name));
    return found == all_.end() ? nullptr : &*found;
  }

  // Numbers only: what they may be is checked with the configuration.
  Result<Json> number(std::string_view name) const {
    const Json* found = find(name);
    if (found == nullptr) return fail(ErrorCode::kInvalidArgument, "{}: missing", key(name));
    if (!found->is_number())
      return fail(ErrorCode::kInvalidArgument, "{}: expected a number", key(name));
    return *found;
  }
  Result<Json> number_or(std::string_view name, Json otherwise) const {
    if (find(name) == nullptr) return otherwise;
    return number(name);
  }

 private:
  const Json& all_;
  std::string architecture_;
};

// The divisor of a rotary frequency in Llama 3.1's scaling (transformers, modeling_rope_utils).
double llama3_divisor(double frequency, double factor) {
  constexpr double kOriginal = 8192, kLow = 1, kHigh = 4;
  const double wavelength = 2 * std::numbers::pi / frequency;
  if (wavelength < kOriginal / kHigh) return 1;
  if (wavelength > kOriginal / kLow) return factor;
  const double smooth = (kOriginal / wavelength - kLow) / (kHigh - kLow);
  return 1 / ((1 - smooth) / factor + smooth);
}

// The scaling that a table of divisors stands for; kUnsupported for any other table.
Result<Json> scaling_of_table(const GgufTensor& table, double theta) {
  const auto count = static_cast<std::size_t>(table.columns());
  std::vector<float> divisors(count);
  if (table.rows() != 1)
    return fail(ErrorCode::kInvalidArgument, "{}: expected one row", kRopeTable);
  tensor::dequantise_row(table, 0, divisors);
  for (double factor : {8.0, 32.0, 4.0, 16.0}) {
    bool equal = true;
    for (std::size_t at = 0; at < count; ++at) {
      const double exponent = static_cast<double>(at) / static_cast<double>(count);
      const double wanted = llama3_divisor(std::pow(theta, -exponent), factor);
      equal = equal && std::fabs(static_cast<double>(divisors[at]) - wanted) <= 1e-4 * wanted;
    }
    if (equal)
      return Json{{"rope_type", "llama3"},
                  {"factor", factor},
                  {"low_freq_factor", 1.0},
                  {"high_freq_factor", 4.0},
                  {"original_max_position_embeddings", 8192}};
  }
  return fail(ErrorCode::kUnsupported, "{}: no table of Llama 3.1's rotation", kRopeTable);
}

Result<std::optional<Json>> scaling_of(const Metadata& metadata, const GgufFile& file,
                                       double theta) {
  if (const GgufTensor* table = file.find(kRopeTable)) {
    KW_TRY(Json scaling, scaling_of_table(*table, theta));
    return std::optional(std::move(scaling));
  }
  const Json* type = metadata.find("rope.scaling.type");
  if (type == nullptr || *type == "none") return std::optional<Json>();
  if (*type != "linear" && *type != "yarn")
    return fail(ErrorCode::kUnsupported, "{}: is not read, only none, linear and yarn",
                metadata.key("rope.scaling.type"));
  Json out = {{"rope_type", *type}};
  KW_TRY(out["factor"], metadata.number("rope.scaling.factor"));
  if (metadata.find("rope.scaling.original_context_length") != nullptr) {
    KW_TRY(out["original_max_position_embeddings"],
           metadata.number("rope.scaling.original_context_length"));
  }
  return std::optional(std::move(out));
}

void add_ends(const Json& metadata, Json& config) {
  auto id = [&](const char* name) {
    auto found = metadata.find(fmt::format("tokenizer.ggml.{}_token_id", name));
    return found == metadata.end() ? Json(nullptr) : *found;
  };
  config["bos_token_id"] = id("bos");
  Json ends = Json::array();
  for (const char* name : {"eos", "eot"}) {
    const Json one = id(name);
    if (one.is_number() && (ends.empty() || ends[0] != one)) ends.push_back(one);
  }
  if (!ends.empty()) config["eos_token_id"] = ends.size() == 1 ? ends[0] : ends;
}

}  // namespace

Result<ModelConfig> config_of(const GgufFile& file) {
  constexpr std::array<std::string_view, 3> kArchitectures = {"llama", "qwen2", "qwen3"};
  const std::string architecture = file.metadata.value("general.architecture", Json()).is_string()
                                       ? file.metadata["general.architecture"].get<std::string>()
                                       : "";
  if (std::find(kArchitectures.begin(), kArchitectures.end(), architecture) == kArchitectures.end())
    return fail(ErrorCode::kUnsupported,
                "general.architecture: \"{}\" is not read, only llama, qwen2 and qwen3",
                printable(architecture, 60));
  const Metadata metadata(file.metadata, architecture);
  const GgufTensor* embedding = file.find("token_embd.weight");
  if (embedding == nullptr || embedding->shape.size() != 2)
    return fail(ErrorCode::kInvalidArgument, "token_embd.weight: expected a matrix");
  if (metadata.find("expert_count") != nullptr && *metadata.find("expert_count") != 0)
    return fail(ErrorCode::kUnsupported, "{}: experts are not read", metadata.key("expert_count"));
  Json config = {{"model_type", architecture}, {"vocab_size", embedding->shape[0]}};
  for (auto [name, key] : {std::pair("hidden_size", "embedding_length"),
                           std::pair("intermediate_size", "feed_forward_length"),
                           std::pair("num_hidden_layers", "block_count"),
                           std::pair("num_attention_heads", "attention.head_count"),
                           std::pair("max_position_embeddings", "context_length"),
                           std::pair("rms_norm_eps", "attention.layer_norm_rms_epsilon")}) {
    KW_TRY(config[name], metadata.number(key));
  }
  KW_TRY(config["num_key_value_heads"],
         metadata.number_or("attention.head_count_kv", config["num_attention_heads"]));
  if (metadata.find("attention.key_length") != nullptr) {
    KW_TRY(config["head_dim"], metadata.number("attention.key_length"));
  }
  KW_TRY(config["rope_theta"], metadata.number_or("rope.freq_base", 10000.0));
  KW_TRY(auto scaling, scaling_of(metadata, file, config["rope_theta"].get<double>()));
  if (scaling) config["rope_scaling"] = std::move(*scaling);
  config["tie_word_embeddings"] = file.find("output.weight") == nullptr;
  if (architecture == "llama") {
    config["attention_bias"] = file.find("blk.0.attn_q.bias") != nullptr;
    config["mlp_bias"] = file.find("blk.0.ffn_up.bias") != nullptr;
  } else if (architecture == "qwen3") {
    config["attention_bias"] = file.find("blk.0.attn_q.bias") != nullptr;
  }
  add_ends(file.metadata, config);
  return model_config_from_json(config, "configuration");
}

}  // namespace kw::lm
