#include "train/model/weights.h"

#include <ATen/ATen.h>

#include "base/check.h"

namespace kw::train {

Weights::Weights(lm::Parameters& parameters, at::Device device, at::ScalarType compute, bool trains)
    : parameters_(&parameters), compute_(compute) {
  KW_CHECK(parameters.type() == lm::WeightType::kFloat32);
  KW_CHECK(compute == at::kFloat || compute == at::kBFloat16);
  // The embedding is the first tensor of the block, and the block is a multiple of 512 bytes.
  host_ =
      at::from_blob(parameters.embedding.data,
                    {static_cast<std::int64_t>(parameters.bytes() / sizeof(float))}, at::kFloat);
  masters_ = host_.to(device);  // the same memory on the CPU
  if (trains) gradients_ = at::zeros_like(masters_);
  computed_ = compute == at::kFloat ? masters_ : masters_.to(compute);
  embedding = matrix("embedding", parameters.embedding);
  for (std::size_t i = 0; i < parameters.layers.size(); ++i) {
    const lm::LayerParameters& from = parameters.layers[i];
    const std::string prefix = "layers." + std::to_string(i) + ".";
    LayerWeights layer;
    layer.input_norm = vector(prefix + "input_norm", from.input_norm);
    layer.qkv = matrix(prefix + "qkv", from.qkv);
    layer.qkv_bias = vector(prefix + "qkv_bias", from.qkv_bias);
    layer.q_norm = vector(prefix + "q_norm", from.q_norm);
    layer.k_norm = vector(prefix + "k_norm", from.k_norm);
    layer.output = matrix(prefix + "output", from.output);
    layer.output_bias = vector(prefix + "output_bias", from.output_bias);
    layer.post_norm = vector(prefix + "post_norm", from.post_norm);
    layer.gate_up = matrix(prefix + "gate_up", from.gate_up);
    layer.gate_up_bias = vector(prefix + "gate_up_bias", from.gate_up_bias);
    layer.down = matrix(prefix + "down", from.down);
    layer.down_bias = vector(prefix + "down_bias", from.down_bias);
    layers.push_back(std::move(layer));
  }
  final_norm = vector("final_norm", parameters.final_norm);
  head = config().tied_embeddings ? embedding : matrix("head", parameters.head);
}

Weight Weights::matrix(const std::string& name, const lm::Matrix& source) {
  const auto first = reinterpret_cast<const float*>(source.data) - host_.const_data_ptr<float>();
  auto view = [&](const at::Tensor& block) {
    if (!block.defined()) return block;
    return block.narrow(0, first, source.rows * source.columns).view({source.rows, source.columns});
  };
  entries_.push_back({name, view(masters_), view(gradients_), true});
  return {view(computed_), view(gradients_)};
}

Weight Weights::vector(const std::string& name, std::span<float> source) {
  if (source.empty()) return {};
  const auto first = source.data() - host_.const_data_ptr<float>();
  const auto size = static_cast<std::int64_t>(source.size());
  Weight out{masters_.narrow(0, first, size),
             gradients_.defined() ? gradients_.narrow(0, first, size) : gradients_};
  entries_.push_back({name, out.value, out.gradient, false});
  return out;
}

void Weights::clear_gradients() {
  gradients_.zero_();
}

void Weights::publish() {
  if (compute_ != at::kFloat) computed_.copy_(masters_);
}

}  // namespace kw::train
