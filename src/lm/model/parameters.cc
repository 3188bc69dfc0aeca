// The layout is walked twice by the same code: once to count, once to place.
#include "lm/model/parameters.h"

#include <algorithm>
#include <atomic>
#include <thread>
#include <utility>

#include "base/hash.h"
#include "base/random.h"
#include "base/text.h"

namespace kw::lm {
namespace {

// A cache line, and the widest vector. Tensors of float32 begin at multiples of 128 numbers: a copy
// of the block in bfloat16 has each at a multiple of 256 bytes, as a GPU's matmuls want it.
std::size_t alignment_of(WeightType type) {
  return type == WeightType::kFloat32 ? 512 : 64;
}

}  // namespace

// Hands out aligned pieces of a block, or, without one, counts.
class Parameters::Layout {
 public:
  Layout(std::byte* block, WeightType type) : block_(block), alignment_(alignment_of(type)) {}

  Matrix matrix(WeightType type, std::int64_t rows, std::int64_t columns) {
    Matrix out{type, rows, columns, nullptr, nullptr};
    out.data = take(static_cast<std::size_t>(rows * columns) * size_of(type));
    if (type == WeightType::kInt8)
      out.scales = reinterpret_cast<std::uint16_t*>(take(static_cast<std::size_t>(rows) * 2));
    return out;
  }
  std::span<float> vector(std::int64_t size) {
    auto count = static_cast<std::size_t>(size);
    return {reinterpret_cast<float*>(take(count * sizeof(float))), count};
  }
  std::span<float> vector_if(bool wanted, std::int64_t size) {
    return wanted ? vector(size) : std::span<float>();
  }
  std::size_t used() const { return used_; }

 private:
  std::byte* take(std::size_t bytes) {
    std::byte* out = block_ == nullptr ? nullptr : block_ + used_;
    used_ += (bytes + alignment_ - 1) / alignment_ * alignment_;
    return out;
  }

  std::byte* block_;
  std::size_t alignment_, used_ = 0;
};

void Parameters::place(Layout& layout) {
  const ModelConfig& c = config_;
  const std::int64_t qkv = c.query_width() + 2 * c.kv_width();
  embedding = layout.matrix(type_, c.vocabulary, c.hidden);
  layers.assign(static_cast<std::size_t>(c.layers), {});
  for (LayerParameters& layer : layers) {
    layer.input_norm = layout.vector(c.hidden);
    layer.qkv = layout.matrix(type_, qkv, c.hidden);
    layer.qkv_bias = layout.vector_if(c.qkv_bias, qkv);
    layer.q_norm = layout.vector_if(c.qk_norm, c.head_dim);
    layer.k_norm = layout.vector_if(c.qk_norm, c.head_dim);
    layer.output = layout.matrix(type_, c.hidden, c.query_width());
    layer.output_bias = layout.vector_if(c.output_bias, c.hidden);
    layer.post_norm = layout.vector(c.hidden);
    layer.gate_up = layout.matrix(type_, 2 * c.intermediate, c.hidden);
    layer.gate_up_bias = layout.vector_if(c.mlp_bias, 2 * c.intermediate);
    layer.down = layout.matrix(type_, c.hidden, c.intermediate);
    layer.down_bias = layout.vector_if(c.mlp_bias, c.hidden);
  }
  final_norm = layout.vector(c.hidden);
  head = c.tied_embeddings ? embedding : layout.matrix(type_, c.vocabulary, c.hidden);
}

Result<Parameters> Parameters::make(const ModelConfig& config, WeightType type) {
  Parameters out(config, type);
  Layout counted(nullptr, type);
  out.place(counted);
  auto memory = os::Mapping::anonymous(counted.used());
  if (!memory)
    return fail(ErrorCode::kResourceExhausted,
                "no memory for {} of {} weights: bfloat16 and int8 take less, or choose a smaller "
                "model",
                format_bytes(counted.used()), to_string(type));
  out.memory_ = std::move(*memory);
  Layout placed(out.memory_.data(), type);
  out.place(placed);
  return out;
}

std::vector<std::int64_t> NamedParameter::shape() const {
  if (is_matrix()) return {matrix.rows, matrix.columns};
  return {static_cast<std::int64_t>(vector.size())};
}

namespace {

class Names {
 public:
  explicit Names(std::vector<NamedParameter>& out) : out_(out) {}

  void matrix(const std::string& name, const Matrix& whole) { rows(name, whole, 0, whole.rows); }
  void rows(const std::string& name, const Matrix& whole, std::int64_t first, std::int64_t count) {
    NamedParameter one{name, whole, {}};
    one.matrix.rows = count;
    one.matrix.data = whole.row(first);
    if (whole.scales != nullptr) one.matrix.scales = whole.scales + first;
    out_.push_back(std::move(one));
  }
  void vector(const std::string& name, std::span<float> values) {
    if (!values.empty()) out_.push_back({name, {}, values});
  }
  void part(const std::string& name, std::span<float> whole, std::int64_t first,
            std::int64_t count) {
    if (!whole.empty())
      vector(name, whole.subspan(static_cast<std::size_t>(first), static_cast<std::size_t>(count)));
  }

 private:
  std::vector<NamedParameter>& out_;
};

void name_layer(Names& names, const std::string& prefix, const LayerParameters& layer,
                const ModelConfig& c) {
  const std::string attention = prefix + "self_attn.", mlp = prefix + "mlp.";
  names.vector(prefix + "input_layernorm.weight", layer.input_norm);
  std::int64_t first = 0;
  for (const auto& [name, width] :
       {std::pair("q_proj", c.query_width()), std::pair("k_proj", c.kv_width()),
        std::pair("v_proj", c.kv_width())}) {
    names.rows(attention + name + ".weight", layer.qkv, first, width);
    names.part(attention + name + ".bias", layer.qkv_bias, first, width);
    first += width;
  }
  names.vector(attention + "q_norm.weight", layer.q_norm);
  names.vector(attention + "k_norm.weight", layer.k_norm);
  names.matrix(attention + "o_proj.weight", layer.output);
  names.vector(attention + "o_proj.bias", layer.output_bias);
  names.vector(prefix + "post_attention_layernorm.weight", layer.post_norm);
  first = 0;
  for (const char* name : {"gate_proj", "up_proj"}) {
    names.rows(mlp + name + ".weight", layer.gate_up, first, c.intermediate);
    names.part(mlp + name + ".bias", layer.gate_up_bias, first, c.intermediate);
    first += c.intermediate;
  }
  names.matrix(mlp + "down_proj.weight", layer.down);
  names.vector(mlp + "down_proj.bias", layer.down_bias);
}

}  // namespace

std::vector<NamedParameter> Parameters::named() const {
  std::vector<NamedParameter> out;
  Names names(out);
  names.matrix("model.embed_tokens.weight", embedding);
  for (std::size_t i = 0; i < layers.size(); ++i)
    name_layer(names, "model.layers." + std::to_string(i) + ".", layers[i], config_);
  names.vector("model.norm.weight", final_norm);
  if (!config_.tied_embeddings) names.matrix("lm_head.weight", head);
  return out;
}

namespace {

void initialise_one(const NamedParameter& one, std::uint64_t seed, float deviation) {
  if (!one.is_matrix()) {
    const bool is_norm = one.name.find("norm") != std::string::npos;
    std::fill(one.vector.begin(), one.vector.end(), is_norm ? 1.0F : 0.0F);
    return;
  }
  const std::string digest = sha256_hex(std::to_string(seed) + "/" + one.name);
  Rng rng(std::stoull(digest.substr(0, 16), nullptr, 16));
  std::vector<float> row(static_cast<std::size_t>(one.matrix.columns));
  for (std::int64_t r = 0; r < one.matrix.rows; ++r) {
    for (float& value : row) value = deviation * static_cast<float>(rng.normal());
    encode_row(row, one.matrix, r);
  }
}

}  // namespace

void initialise(Parameters& parameters, std::uint64_t seed, int threads) {
  const auto deviation = static_cast<float>(parameters.config().initializer_range);
  const std::vector<NamedParameter> all = parameters.named();
  std::atomic<std::size_t> next = 0;
  auto work = [&] {
    for (std::size_t i = next++; i < all.size(); i = next++)
      initialise_one(all[i], seed, deviation);
  };
  std::vector<std::jthread> others;
  for (int i = 1; i < threads; ++i) others.emplace_back(work);
  work();
}

}  // namespace kw::lm
