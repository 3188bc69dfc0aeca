#include "lm/model/lora.h"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <map>
#include <optional>
#include <system_error>

#include <fmt/ranges.h>

#include "base/check.h"
#include "base/hash.h"
#include "base/json.h"
#include "base/random.h"
#include "base/text.h"
#include "os/file.h"
#include "tensor/safetensors.h"

namespace kw::lm {
namespace {

namespace fs = std::filesystem;

constexpr const char* kConfigFile = "adapter_config.json";
constexpr const char* kTensorFile = "adapter_model.safetensors";
constexpr std::string_view kPrefix = "base_model.model.";
constexpr std::string_view kWeight = ".weight";

struct Projection {
  std::string name;
  std::int64_t rows, columns;
};

// In the order of Parameters::named().
std::vector<Projection> projections_of(const ModelConfig& c) {
  std::vector<Projection> out;
  for (std::int64_t i = 0; i < c.layers; ++i) {
    const std::string layer = fmt::format("model.layers.{}.", i);
    const std::string attention = layer + "self_attn.", mlp = layer + "mlp.";
    out.push_back({attention + "q_proj", c.query_width(), c.hidden});
    out.push_back({attention + "k_proj", c.kv_width(), c.hidden});
    out.push_back({attention + "v_proj", c.kv_width(), c.hidden});
    out.push_back({attention + "o_proj", c.hidden, c.query_width()});
    out.push_back({mlp + "gate_proj", c.intermediate, c.hidden});
    out.push_back({mlp + "up_proj", c.intermediate, c.hidden});
    out.push_back({mlp + "down_proj", c.hidden, c.intermediate});
  }
  return out;
}

// As PEFT does: the whole name, or its end behind a point.
bool matches(const std::string& name, const std::string& target) {
  return name == target || name.ends_with("." + target);
}

std::vector<Projection> chosen(const ModelConfig& config, const LoraShape& shape) {
  std::vector<Projection> out = projections_of(config);
  std::erase_if(out, [&](const Projection& one) {
    return std::ranges::none_of(
        shape.targets, [&](const std::string& target) { return matches(one.name, target); });
  });
  return out;
}

Status check(const ModelConfig& config, const LoraShape& shape) {
  if (shape.rank < 1) return fail(ErrorCode::kInvalidArgument, "rank: expected 1 or more");
  if (!(shape.alpha > 0) || !std::isfinite(shape.alpha))
    return fail(ErrorCode::kInvalidArgument, "alpha: expected a positive number");
  if (shape.targets.empty())
    return fail(ErrorCode::kInvalidArgument, "targets: name at least one of {}",
                join(lora_targets(), ", "));
  const std::vector<Projection> all = projections_of(config);
  for (const std::string& target : shape.targets) {
    if (std::ranges::none_of(all, [&](const Projection& one) { return matches(one.name, target); }))
      return fail(ErrorCode::kInvalidArgument,
                  "targets: {:?} is no projection of the model; there are {}", target,
                  join(lora_targets(), ", "));
  }
  return {};
}

// Matrices of the right sizes, zeros.
std::vector<LoraMatrices> matrices_of(const ModelConfig& config, const LoraShape& shape) {
  std::vector<LoraMatrices> out;
  const auto rank = static_cast<std::size_t>(shape.rank);
  for (Projection& one : chosen(config, shape)) {
    LoraMatrices made{std::move(one.name), one.rows, one.columns, {}, {}};
    made.a.resize(rank * static_cast<std::size_t>(made.columns));
    made.b.resize(rank * static_cast<std::size_t>(made.rows));
    out.push_back(std::move(made));
  }
  return out;
}

std::string tensor_name(const LoraMatrices& one, char which) {
  return fmt::format("{}{}.lora_{}{}", kPrefix, one.projection, which, kWeight);
}

// Settings of PEFT that change what its numbers mean: the key, and the values that change nothing.
const std::vector<std::pair<std::string, std::vector<Json>>>& plain_values() {
  static const std::vector<std::pair<std::string, std::vector<Json>>> all = {
      {"use_dora", {false}},
      {"use_rslora", {false}},
      {"fan_in_fan_out", {false}},
      {"bias", {"none"}},
      {"rank_pattern", {Json::object()}},
      {"alpha_pattern", {Json::object()}},
      {"modules_to_save", {Json::array()}},
      {"layers_to_transform", {Json::array()}},
      {"layer_replication", {Json::array()}},
      {"trainable_token_indices", {Json::array()}},
      {"target_parameters", {Json::array()}},
      {"lora_bias", {false}},
  };
  return all;
}

Result<std::vector<std::string>> read_targets(ObjectReader& reader) {
  KW_TRY(const Json* value, reader.get("target_modules"));
  if (value->is_string() && *value == "all-linear") return lora_targets();
  std::vector<std::string> out;
  if (value->is_array()) {
    for (const Json& name : *value)
      if (name.is_string()) out.push_back(name.get<std::string>());
  }
  if (out.empty() || out.size() != value->size())
    return fail(ErrorCode::kInvalidArgument, "{}: expected a list of names or \"all-linear\"",
                reader.path("target_modules"));
  return out;
}

Result<LoraAdapter> read_config(const fs::path& path) {
  KW_TRY(const std::string text, os::read_file(path));
  auto parsed = parse_json(text);
  if (!parsed) return tl::unexpected(std::move(parsed).error().with_context(path.string()));
  KW_TRY(ObjectReader reader, ObjectReader::make(*parsed, path.string()));
  KW_TRY(const std::string type, reader.string("peft_type"));
  if (type != "LORA")
    return fail(ErrorCode::kUnsupported, "{}: {} is not LORA", reader.path("peft_type"), type);
  for (const auto& [key, values] : plain_values()) {
    const Json* found = reader.find(key);
    if (found == nullptr || found->is_null() || std::ranges::find(values, *found) != values.end())
      continue;
    return fail(ErrorCode::kUnsupported, "{}: {} is not supported", reader.path(key),
                found->dump());
  }
  LoraAdapter out;
  KW_TRY(out.shape.rank, reader.integer("r"));
  KW_TRY(out.shape.alpha, reader.number("lora_alpha"));
  KW_TRY(out.shape.targets, read_targets(reader));
  if (const Json* base = reader.find("base_model_name_or_path"); base && base->is_string())
    out.base_model = base->get<std::string>();
  return out;
}

Result<std::vector<float>> floats(const tensor::StoredTensor& stored, const std::string& where) {
  if (stored.dtype != tensor::DType::kFloat32 && stored.dtype != tensor::DType::kBFloat16)
    return fail(ErrorCode::kUnsupported, "{}: {} is neither float32 nor bfloat16", where,
                tensor::to_string(stored.dtype));
  const std::size_t count = stored.data.size() / tensor::size_of(stored.dtype);
  std::vector<float> out(count);
  if (stored.dtype == tensor::DType::kFloat32) {
    std::memcpy(out.data(), stored.data.data(), stored.data.size());
  } else {
    Matrix row{WeightType::kBFloat16, 1, static_cast<std::int64_t>(count),
               const_cast<std::byte*>(stored.data.data())};
    decode_row(row, 0, out);
  }
  if (!std::ranges::all_of(out, [](float value) { return std::isfinite(value); }))
    return fail(ErrorCode::kDataLoss, "{} is not finite", where);
  return out;
}

Status read_matrix(const fs::path& path, const std::string& name,
                   const std::vector<std::int64_t>& shape, std::vector<float>& into) {
  KW_TRY(const tensor::StoredTensor stored,
         tensor::read_safetensor(path, name, 8 * into.size() + 64));
  const std::string where = fmt::format("{}: tensor {}", path.string(), name);
  if (stored.shape != shape)
    return fail(ErrorCode::kInvalidArgument, "{}: shape [{}], expected [{}] of this model", where,
                fmt::join(stored.shape, ", "), fmt::join(shape, ", "));
  KW_TRY(into, floats(stored, where));
  return {};
}

}  // namespace

const std::vector<std::string>& lora_targets() {
  static const std::vector<std::string> all = {"q_proj",    "k_proj",  "v_proj",   "o_proj",
                                               "gate_proj", "up_proj", "down_proj"};
  return all;
}

Result<LoraAdapter> new_lora(const Parameters& parameters, const LoraShape& shape,
                             std::uint64_t seed) {
  KW_TRY_STATUS(check(parameters.config(), shape));
  LoraAdapter out{shape, "", matrices_of(parameters.config(), shape)};
  for (LoraMatrices& one : out.matrices) {
    const std::string digest = sha256_hex(std::to_string(seed) + "/" + one.projection);
    Rng rng(std::stoull(digest.substr(0, 16), nullptr, 16));
    const double bound = 1 / std::sqrt(static_cast<double>(one.columns));
    for (float& value : one.a) value = static_cast<float>(bound * (2 * rng.uniform() - 1));
  }
  return out;
}

Result<LoraAdapter> load_lora(const fs::path& folder, const Parameters& parameters) {
  const fs::path config = folder / kConfigFile;
  KW_TRY(LoraAdapter out, read_config(config));
  if (Status right = check(parameters.config(), out.shape); !right)
    return tl::unexpected(std::move(right).error().with_context(config.string()));
  out.matrices = matrices_of(parameters.config(), out.shape);
  const fs::path path = folder / kTensorFile;
  KW_TRY(const auto entries, tensor::safetensors_entries(path));
  std::vector<std::string> expected;
  for (LoraMatrices& one : out.matrices) {
    expected.push_back(tensor_name(one, 'A'));
    KW_TRY_STATUS(read_matrix(path, expected.back(), {out.shape.rank, one.columns}, one.a));
    expected.push_back(tensor_name(one, 'B'));
    KW_TRY_STATUS(read_matrix(path, expected.back(), {one.rows, out.shape.rank}, one.b));
  }
  for (const tensor::SafetensorsEntry& entry : entries) {
    if (std::ranges::find(expected, entry.name) == expected.end())
      return fail(ErrorCode::kInvalidArgument, "{}: tensor {} belongs to no projection of {}",
                  path.string(), entry.name, config.string());
  }
  return out;
}

std::int64_t lora_parameters(const ModelConfig& config, const LoraShape& shape) {
  std::int64_t out = 0;
  for (const Projection& one : chosen(config, shape)) out += shape.rank * (one.rows + one.columns);
  return out;
}

Result<LoraShape> read_lora_shape(const fs::path& folder) {
  KW_TRY(LoraAdapter read, read_config(folder / kConfigFile));
  return read.shape;
}

Status save_lora(const fs::path& folder, const LoraAdapter& adapter) {
  std::error_code error;
  fs::create_directories(folder, error);
  std::vector<tensor::TensorView> views;
  for (const LoraMatrices& one : adapter.matrices) {
    views.push_back({tensor_name(one, 'A'),
                     tensor::DType::kFloat32,
                     {adapter.shape.rank, one.columns},
                     one.a.data()});
    views.push_back({tensor_name(one, 'B'),
                     tensor::DType::kFloat32,
                     {one.rows, adapter.shape.rank},
                     one.b.data()});
  }
  KW_TRY_STATUS(tensor::write_safetensors(folder / kTensorFile, views));
  const Json config = {{"peft_type", "LORA"},
                       {"task_type", "CAUSAL_LM"},
                       {"base_model_name_or_path", adapter.base_model},
                       {"r", adapter.shape.rank},
                       {"lora_alpha", adapter.shape.alpha},
                       {"lora_dropout", 0.0},
                       {"target_modules", adapter.shape.targets},
                       {"bias", "none"},
                       {"fan_in_fan_out", false},
                       {"use_rslora", false},
                       {"use_dora", false},
                       {"inference_mode", true}};
  return os::write_file_atomic(folder / kConfigFile, config.dump(2) + "\n");
}

void merge_lora(Parameters& parameters, const LoraAdapter& adapter) {
  KW_CHECK(parameters.type() != WeightType::kInt8);
  std::map<std::string, Matrix> weights;
  for (const NamedParameter& one : parameters.named())
    if (one.is_matrix()) weights.emplace(one.name, one.matrix);
  const auto rank = static_cast<std::size_t>(adapter.shape.rank);
  const auto scale = static_cast<float>(adapter.scale());
  for (const LoraMatrices& one : adapter.matrices) {
    const Matrix& weight = weights.at(one.projection + ".weight");
    const auto columns = static_cast<std::size_t>(one.columns);
    std::vector<float> row(columns);
    for (std::int64_t r = 0; r < one.rows; ++r) {
      decode_row(weight, r, row);
      for (std::size_t k = 0; k < rank; ++k) {
        const float factor = scale * one.b[static_cast<std::size_t>(r) * rank + k];
        const float* a = one.a.data() + k * columns;
        for (std::size_t c = 0; c < columns; ++c) row[c] += factor * a[c];
      }
      encode_row(row, weight, r);
    }
  }
}

}  // namespace kw::lm
