// config.json of transformers 4 (rope_theta, rope_scaling, torch_dtype) and 5 (rope_parameters,
// dtype).
#include "lm/model/model_config.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <utility>

#include "os/file.h"

namespace kw::lm {
namespace {

constexpr std::array<std::pair<Family, std::string_view>, 3> kFamilies = {{
    {Family::kQwen2, "qwen2"},
    {Family::kQwen3, "qwen3"},
    {Family::kLlama, "llama"},
}};
// Far above every model known: products of two of them fit 64 bits.
constexpr std::int64_t kMaxVocabulary = 1 << 22, kMaxWidth = 1 << 20, kMaxLayers = 1024,
                       kMaxPositions = 1 << 27;

Result<std::int64_t> size(ObjectReader& reader, std::string_view key, std::int64_t most) {
  KW_TRY(std::int64_t value, reader.integer(key));
  if (value < 1 || value > most)
    return fail(ErrorCode::kInvalidArgument, "{}: expected 1 to {}, not {}", reader.path(key), most,
                value);
  return value;
}

Result<std::int64_t> size_or(ObjectReader& reader, std::string_view key, std::int64_t most,
                             std::int64_t fallback) {
  if (reader.find(key) == nullptr) return fallback;
  return size(reader, key, most);
}

Result<double> positive_or(ObjectReader& reader, std::string_view key, double fallback) {
  KW_TRY(double value, reader.number_or(key, fallback));
  if (!(value > 0) || !std::isfinite(value))
    return fail(ErrorCode::kInvalidArgument, "{}: expected a positive number", reader.path(key));
  return value;
}

// One number or a list of them.
Result<std::vector<std::int64_t>> token_ids(ObjectReader& reader, std::string_view key) {
  std::vector<std::int64_t> ids;
  const Json* value = reader.find(key);
  if (value == nullptr) return ids;
  for (const Json& one : value->is_array() ? *value : Json::array({*value})) {
    if (!one.is_number_integer())
      return fail(ErrorCode::kInvalidArgument, "{}: expected an integer or a list of integers",
                  reader.path(key));
    ids.push_back(one.get<std::int64_t>());
  }
  return ids;
}

Status read_family(ObjectReader& reader, ModelConfig& config) {
  KW_TRY(std::string type, reader.string("model_type"));
  auto known = std::find_if(kFamilies.begin(), kFamilies.end(),
                            [&](const auto& one) { return one.second == type; });
  if (known == kFamilies.end())
    return fail(ErrorCode::kUnsupported, "{}: \"{}\"; supported are qwen2, qwen3 and llama",
                reader.path("model_type"), type);
  config.family = known->first;
  KW_TRY(std::string activation, reader.string_or("hidden_act", "silu"));
  if (activation != "silu")
    return fail(ErrorCode::kUnsupported, "{}: \"{}\"; supported is silu", reader.path("hidden_act"),
                activation);
  KW_TRY(bool sliding, reader.boolean_or("use_sliding_window", false));
  if (sliding)
    return fail(ErrorCode::kUnsupported, "{}: sliding windows are not supported",
                reader.path("use_sliding_window"));
  return {};
}

Status read_sizes(ObjectReader& reader, ModelConfig& config) {
  KW_TRY(config.vocabulary, size(reader, "vocab_size", kMaxVocabulary));
  KW_TRY(config.hidden, size(reader, "hidden_size", kMaxWidth));
  KW_TRY(config.layers, size(reader, "num_hidden_layers", kMaxLayers));
  KW_TRY(config.heads, size(reader, "num_attention_heads", kMaxWidth));
  KW_TRY(config.kv_heads, size_or(reader, "num_key_value_heads", kMaxWidth, config.heads));
  KW_TRY(config.intermediate, size(reader, "intermediate_size", kMaxWidth));
  KW_TRY(config.max_position, size(reader, "max_position_embeddings", kMaxPositions));
  if (config.heads % config.kv_heads != 0)
    return fail(ErrorCode::kInvalidArgument, "{}: {} does not divide num_attention_heads {}",
                reader.path("num_key_value_heads"), config.kv_heads, config.heads);
  bool given = reader.find("head_dim") != nullptr;
  if (!given && config.hidden % config.heads != 0)
    return fail(ErrorCode::kInvalidArgument, "{}: {} does not divide hidden_size {}",
                reader.path("num_attention_heads"), config.heads, config.hidden);
  KW_TRY(config.head_dim, size_or(reader, "head_dim", 4096, config.hidden / config.heads));
  if (config.head_dim % 2 != 0)
    return fail(ErrorCode::kInvalidArgument, "{}: the rotation needs an even number, not {}",
                reader.path("head_dim"), config.head_dim);
  return {};
}

Result<RopeScaling::Kind> scaling_kind(ObjectReader& reader) {
  KW_TRY(std::string older, reader.string_or("type", "default"));
  KW_TRY(std::string type, reader.string_or("rope_type", older));
  if (type == "default") return RopeScaling::Kind::kNone;
  if (type == "linear") return RopeScaling::Kind::kLinear;
  if (type == "llama3") return RopeScaling::Kind::kLlama3;
  if (type == "yarn") return RopeScaling::Kind::kYarn;
  return fail(ErrorCode::kUnsupported, "{}: \"{}\"; supported are default, linear, llama3 and yarn",
              reader.path("rope_type"), type);
}

// 0.1 mscale ln(factor) + 1, of the YaRN paper (arXiv:2309.00071, 3.4).
double yarn_factor(double factor, double scale) {
  return factor <= 1 ? 1.0 : 0.1 * scale * std::log(factor) + 1.0;
}

Result<RopeScaling> read_scaling(ObjectReader& reader, std::int64_t max_position) {
  RopeScaling rope;
  KW_TRY(rope.kind, scaling_kind(reader));
  if (rope.kind == RopeScaling::Kind::kNone) return rope;
  KW_TRY(rope.factor, positive_or(reader, "factor", 1));
  KW_TRY(rope.original_max_position,
         size_or(reader, "original_max_position_embeddings", kMaxPositions, max_position));
  KW_TRY(rope.low_frequency_factor, positive_or(reader, "low_freq_factor", 1));
  KW_TRY(rope.high_frequency_factor, positive_or(reader, "high_freq_factor", 4));
  if (rope.kind == RopeScaling::Kind::kLlama3 &&
      rope.high_frequency_factor <= rope.low_frequency_factor)
    return fail(ErrorCode::kInvalidArgument, "{}: expected more than low_freq_factor",
                reader.path("high_freq_factor"));
  if (rope.kind != RopeScaling::Kind::kYarn) return rope;
  KW_TRY(rope.beta_fast, positive_or(reader, "beta_fast", 32));
  KW_TRY(rope.beta_slow, positive_or(reader, "beta_slow", 1));
  KW_TRY(rope.truncate, reader.boolean_or("truncate", true));
  KW_TRY(double scale, reader.number_or("mscale", 0));
  KW_TRY(double all_dims, reader.number_or("mscale_all_dim", 0));
  double own = scale != 0 && all_dims != 0
                   ? yarn_factor(rope.factor, scale) / yarn_factor(rope.factor, all_dims)
                   : yarn_factor(rope.factor, 1);
  KW_TRY(rope.attention_factor, positive_or(reader, "attention_factor", own));
  return rope;
}

Status read_rotation(ObjectReader& reader, ModelConfig& config) {
  KW_TRY(config.rope_theta, positive_or(reader, "rope_theta", 10000));
  for (const char* key : {"rope_scaling", "rope_parameters"}) {
    const Json* value = reader.find(key);
    if (value == nullptr) continue;
    KW_TRY(ObjectReader inner, ObjectReader::make(*value, reader.path(key)));
    KW_TRY(config.rope_theta, positive_or(inner, "rope_theta", config.rope_theta));
    KW_TRY(config.rope, read_scaling(inner, config.max_position));
  }
  return {};
}

Status read_parts(ObjectReader& reader, ModelConfig& config) {
  const bool qwen2 = config.family == Family::kQwen2;
  KW_TRY(config.norm_epsilon, positive_or(reader, "rms_norm_eps", 1e-6));
  KW_TRY(config.tied_embeddings, reader.boolean_or("tie_word_embeddings", false));
  // Qwen2's code has biases at q, k and v, whatever its config says.
  KW_TRY(bool bias, reader.boolean_or("attention_bias", qwen2));
  config.qkv_bias = qwen2 || bias;
  config.output_bias = !qwen2 && bias;
  KW_TRY(bool mlp_bias, reader.boolean_or("mlp_bias", false));
  config.mlp_bias = config.family == Family::kLlama && mlp_bias;
  config.qk_norm = config.family == Family::kQwen3;
  KW_TRY(config.initializer_range, positive_or(reader, "initializer_range", 0.02));
  KW_TRY(std::string older, reader.string_or("torch_dtype", "float32"));
  KW_TRY(config.dtype, reader.string_or("dtype", older));
  KW_TRY(auto bos, token_ids(reader, "bos_token_id"));
  if (!bos.empty()) config.bos = bos.front();
  KW_TRY(config.eos, token_ids(reader, "eos_token_id"));
  return {};
}

Json scaling_json(const ModelConfig& config) {
  const RopeScaling& rope = config.rope;
  Json out = {{"rope_theta", config.rope_theta}};
  switch (rope.kind) {
    case RopeScaling::Kind::kNone:
      out["rope_type"] = "default";
      return out;
    case RopeScaling::Kind::kLinear:
      out["rope_type"] = "linear";
      break;
    case RopeScaling::Kind::kLlama3:
      out["rope_type"] = "llama3";
      out["low_freq_factor"] = rope.low_frequency_factor;
      out["high_freq_factor"] = rope.high_frequency_factor;
      break;
    case RopeScaling::Kind::kYarn:
      out["rope_type"] = "yarn";
      out["beta_fast"] = rope.beta_fast;
      out["beta_slow"] = rope.beta_slow;
      out["attention_factor"] = rope.attention_factor;
      out["truncate"] = rope.truncate;
      break;
  }
  out["factor"] = rope.factor;
  out["original_max_position_embeddings"] = rope.original_max_position;
  return out;
}

Result<Json> read_json(const std::filesystem::path& path) {
  KW_TRY(std::string text, os::read_file(path));
  auto value = parse_json(text);
  if (!value) return tl::unexpected(std::move(value).error().with_context(path.string()));
  return value;
}

}  // namespace

std::string_view to_string(Family family) {
  for (const auto& [value, name] : kFamilies)
    if (value == family) return name;
  return "";
}

std::int64_t ModelConfig::parameters() const {
  std::int64_t qkv = query_width() + 2 * kv_width();
  std::int64_t layer =
      qkv * hidden + query_width() * hidden + 3 * intermediate * hidden + 2 * hidden;
  if (qkv_bias) layer += qkv;
  if (output_bias) layer += hidden;
  if (mlp_bias) layer += 2 * intermediate + hidden;
  if (qk_norm) layer += 2 * head_dim;
  return vocabulary * hidden * (tied_embeddings ? 1 : 2) + layers * layer + hidden;
}

Result<ModelConfig> model_config_from_json(const Json& value, const std::string& where) {
  KW_TRY(ObjectReader reader, ObjectReader::make(value, where));
  ModelConfig config;
  KW_TRY_STATUS(read_family(reader, config));
  KW_TRY_STATUS(read_sizes(reader, config));
  KW_TRY_STATUS(read_rotation(reader, config));
  KW_TRY_STATUS(read_parts(reader, config));
  return config;
}

Json to_json(const ModelConfig& config) {
  static constexpr std::array<const char*, 3> kArchitectures = {
      "Qwen2ForCausalLM", "Qwen3ForCausalLM", "LlamaForCausalLM"};
  Json out = {{"architectures", {kArchitectures[static_cast<std::size_t>(config.family)]}},
              {"model_type", to_string(config.family)},
              {"vocab_size", config.vocabulary},
              {"hidden_size", config.hidden},
              {"num_hidden_layers", config.layers},
              {"num_attention_heads", config.heads},
              {"num_key_value_heads", config.kv_heads},
              {"head_dim", config.head_dim},
              {"intermediate_size", config.intermediate},
              {"max_position_embeddings", config.max_position},
              {"hidden_act", "silu"},
              {"rms_norm_eps", config.norm_epsilon},
              {"rope_theta", config.rope_theta},
              {"rope_parameters", scaling_json(config)},
              {"tie_word_embeddings", config.tied_embeddings},
              {"initializer_range", config.initializer_range},
              {"use_cache", true},
              {"torch_dtype", config.dtype}};
  // transformers 4 reads the scaling here.
  if (config.rope.kind != RopeScaling::Kind::kNone) {
    out["rope_scaling"] = scaling_json(config);
    out["rope_scaling"].erase("rope_theta");
  }
  if (config.family != Family::kQwen2) out["attention_bias"] = config.qkv_bias;
  if (config.family == Family::kLlama) out["mlp_bias"] = config.mlp_bias;
  if (config.family != Family::kLlama) out["use_sliding_window"] = false;
  if (config.bos) out["bos_token_id"] = *config.bos;
  if (config.eos.size() == 1) out["eos_token_id"] = config.eos.front();
  if (config.eos.size() > 1) out["eos_token_id"] = config.eos;
  return out;
}

Result<ModelConfig> read_model_config(const std::filesystem::path& folder) {
  const auto path = folder / "config.json";
  KW_TRY(Json value, read_json(path));
  KW_TRY(ModelConfig config, model_config_from_json(value, path.string()));
  const auto generation = folder / "generation_config.json";
  std::error_code error;
  if (std::filesystem::exists(generation, error)) {
    KW_TRY(Json defaults, read_json(generation));
    KW_TRY(ObjectReader reader, ObjectReader::make(defaults, generation.string()));
    KW_TRY(auto eos, token_ids(reader, "eos_token_id"));
    if (!eos.empty()) config.eos = std::move(eos);
  }
  for (std::int64_t id : config.eos)
    if (id < 0 || id >= config.vocabulary)
      return fail(ErrorCode::kInvalidArgument,
                  "{}: eos_token_id {} is outside the vocabulary of {}", folder.string(), id,
                  config.vocabulary);
  return config;
}

}  // namespace kw::lm
