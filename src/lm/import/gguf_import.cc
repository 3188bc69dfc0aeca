#include "lm/import/gguf_import.h"

#include <array>
#include <cmath>
#include <set>

#include <fmt/ranges.h>

#include "base/text.h"
#include "lm/import/gguf_config.h"
#include "lm/model/checkpoint.h"
#include "lm/tokenizer/tokenizer.h"
#include "os/file.h"
#include "os/memory.h"

namespace kw::lm {
namespace {

namespace fs = std::filesystem;
using tensor::GgufFile;
using tensor::GgufTensor;

constexpr std::array<std::pair<std::string_view, std::string_view>, 11> kParts = {{
    {"input_layernorm", "attn_norm"},
    {"post_attention_layernorm", "ffn_norm"},
    {"self_attn.q_proj", "attn_q"},
    {"self_attn.k_proj", "attn_k"},
    {"self_attn.v_proj", "attn_v"},
    {"self_attn.o_proj", "attn_output"},
    {"self_attn.q_norm", "attn_q_norm"},
    {"self_attn.k_norm", "attn_k_norm"},
    {"mlp.gate_proj", "ffn_gate"},
    {"mlp.up_proj", "ffn_up"},
    {"mlp.down_proj", "ffn_down"},
}};

// "model.layers.3.mlp.up_proj.weight" is "blk.3.ffn_up.weight".
std::string gguf_name(std::string_view name) {
  constexpr std::string_view kLayers = "model.layers.";
  if (name == "model.embed_tokens.weight") return "token_embd.weight";
  if (name == "model.norm.weight") return "output_norm.weight";
  if (name == "lm_head.weight") return "output.weight";
  if (!name.starts_with(kLayers)) return std::string(name);
  name.remove_prefix(kLayers.size());
  const std::size_t layer_end = name.find('.'), part_end = name.rfind('.');
  const std::string_view part = name.substr(layer_end + 1, part_end - layer_end - 1);
  for (const auto& [ours, theirs] : kParts) {
    if (ours == part)
      return fmt::format("blk.{}.{}{}", name.substr(0, layer_end), theirs, name.substr(part_end));
  }
  return std::string(name);
}

// Where row `row` of a q or k of Llama is in the file: the two halves of a head take turns there.
std::int64_t interleaved(std::int64_t row, std::int64_t head_dim) {
  const std::int64_t in_head = row % head_dim, half = head_dim / 2;
  return row - in_head + in_head % half * 2 + in_head / half;
}

std::int64_t source_row(const ModelConfig& config, std::string_view name, std::int64_t row) {
  const bool rotated = name.find(".attn_q.") != std::string_view::npos ||
                       name.find(".attn_k.") != std::string_view::npos;
  return config.family == Family::kLlama && rotated ? interleaved(row, config.head_dim) : row;
}

Status read_parameter(const GgufFile& file, const ModelConfig& config, const NamedParameter& one) {
  const std::string name = gguf_name(one.name);
  const GgufTensor* stored = file.find(name);
  if (stored == nullptr) return fail(ErrorCode::kInvalidArgument, "{}: is missing", name);
  if (stored->shape != one.shape())
    return fail(ErrorCode::kInvalidArgument, "{}: has the shape [{}], not [{}]", name,
                fmt::join(stored->shape, ", "), fmt::join(one.shape(), ", "));
  auto check = [&](std::span<const float> values) -> Status {
    for (float value : values) {
      if (!std::isfinite(value)) return fail(ErrorCode::kDataLoss, "{}: is not finite", name);
    }
    return {};
  };
  std::vector<float> row(static_cast<std::size_t>(stored->columns()));
  if (!one.is_matrix()) {
    tensor::dequantise_row(*stored, 0, row);
    for (std::size_t at = 0; at < row.size(); ++at)
      one.vector[at] =
          row[static_cast<std::size_t>(source_row(config, name, static_cast<std::int64_t>(at)))];
    return check(row);
  }
  for (std::int64_t at = 0; at < one.matrix.rows; ++at) {
    tensor::dequantise_row(*stored, source_row(config, name, at), row);
    KW_TRY_STATUS(check(row));
    encode_row(row, one.matrix, at);
  }
  return {};
}

Status refuse_left_over(const GgufFile& file, const std::vector<NamedParameter>& wanted) {
  std::set<std::string> known = {kRopeTable};
  for (const NamedParameter& one : wanted) known.insert(gguf_name(one.name));
  for (const GgufTensor& tensor : file.tensors) {
    if (known.count(tensor.name) == 0)
      return fail(ErrorCode::kUnsupported, "{}: is no part of the model",
                  printable(tensor.name, 80));
  }
  return {};
}

Result<ImportedModel> read_model(const GgufFile& file) {
  KW_TRY(ModelConfig config, config_of(file));
  KW_TRY(TokenizerFiles tokenizer, tokenizer_of(file));
  KW_TRY(Parameters parameters, Parameters::make(config, WeightType::kFloat32));
  const std::vector<NamedParameter> wanted = parameters.named();
  KW_TRY_STATUS(refuse_left_over(file, wanted));
  for (const NamedParameter& one : wanted) KW_TRY_STATUS(read_parameter(file, config, one));
  // What is written must load.
  KW_TRY(Tokenizer loaded, Tokenizer::from_json(tokenizer.tokenizer, &tokenizer.config));
  if (loaded.size() > static_cast<std::size_t>(config.vocabulary))
    return fail(ErrorCode::kInvalidArgument,
                "tokenizer.ggml.tokens: {} tokens, and token_embd.weight has {} rows",
                loaded.size(), config.vocabulary);
  return ImportedModel{std::move(parameters), std::move(tokenizer)};
}

}  // namespace

Result<ImportedModel> read_gguf_model(const fs::path& file) {
  KW_TRY(os::Mapping bytes, os::Mapping::file(file));
  auto named = [&](Error error) {
    return tl::unexpected(std::move(error).with_context(file.string()));
  };
  auto parsed = tensor::parse_gguf(bytes.bytes());
  if (!parsed) return named(std::move(parsed).error());
  auto model = read_model(*parsed);
  if (!model) return named(std::move(model).error());
  return model;
}

Status write_model(const fs::path& folder, const ImportedModel& model, WeightType type) {
  std::error_code error;
  fs::create_directories(folder, error);
  if (error) return fail(ErrorCode::kPermissionDenied, "{}: {}", folder.string(), error.message());
  if (fs::exists(folder / "config.json", error))
    return fail(ErrorCode::kAlreadyExists, "{}: has a model already", folder.string());
  KW_TRY_STATUS(
      os::write_file_atomic(folder / "tokenizer.json", model.tokenizer.tokenizer.dump(1)));
  KW_TRY_STATUS(
      os::write_file_atomic(folder / "tokenizer_config.json", model.tokenizer.config.dump(2)));
  return save_checkpoint(folder, model.parameters, {.type = type});
}

}  // namespace kw::lm
