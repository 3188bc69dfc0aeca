#include "train/model/weights.h"

#include <algorithm>
#include <cstring>
#include <map>
#include <utility>

#include <ATen/ATen.h>

#include "base/check.h"

namespace kw::train {
namespace {

// The embedding is the first tensor of the block, and the block is a multiple of 512 bytes.
at::Tensor block_of(lm::Parameters& parameters) {
  return at::from_blob(parameters.embedding.data,
                       {static_cast<std::int64_t>(parameters.bytes() / sizeof(float))}, at::kFloat);
}

}  // namespace

Weights::Weights(lm::Parameters& parameters, at::Device device, at::ScalarType compute, bool trains)
    : parameters_(&parameters), compute_(compute), host_(block_of(parameters)) {
  KW_CHECK(parameters.type() == lm::WeightType::kFloat32);
  KW_CHECK(compute == at::kFloat || compute == at::kBFloat16);
  masters_ = base_ = host_.to(device);  // the same memory on the CPU
  if (trains) gradients_ = at::zeros_like(masters_);
  rounded_ = computed_ = compute == at::kFloat ? masters_ : masters_.to(compute);
  make_views();
}

Weights::Weights(lm::Parameters& parameters, at::Device device, at::ScalarType compute,
                 lm::LoraAdapter adapter)
    : parameters_(&parameters),
      compute_(compute),
      host_(block_of(parameters)),
      adapter_(std::move(adapter)) {
  KW_CHECK(parameters.type() == lm::WeightType::kFloat32);
  KW_CHECK(compute == at::kFloat || compute == at::kBFloat16);
  base_ = host_.to(device, at::kFloat, false, /*copy=*/true);
  const bool in_place = compute == at::kFloat && device.is_cpu();
  computed_ = in_place ? host_ : base_.to(compute, false, /*copy=*/true);
  place_adapter(device);
  make_views();
  publish();
}

// One block of A and B of each projection.
void Weights::place_adapter(at::Device device) {
  std::int64_t total = 0;
  for (const lm::LoraMatrices& one : adapter_->matrices)
    total += aligned(std::ssize(one.a)) + aligned(std::ssize(one.b));
  at::Tensor values = at::zeros({total}, at::kFloat);
  std::int64_t first = 0;
  for (const lm::LoraMatrices& one : adapter_->matrices) {
    for (const std::vector<float>* from : {&one.a, &one.b}) {
      std::memcpy(values.mutable_data_ptr<float>() + first, from->data(),
                  from->size() * sizeof(float));
      first += aligned(std::ssize(*from));
    }
  }
  masters_ = values.to(device);
  gradients_ = at::zeros_like(masters_);
  rounded_ = compute_ == at::kFloat ? masters_ : masters_.to(compute_);

  std::map<std::string, const std::byte*> places;
  for (const lm::NamedParameter& one : parameters_->named())
    if (one.is_matrix()) places.emplace(one.name, one.matrix.data);
  const std::int64_t rank = adapter_->shape.rank;
  first = 0;
  for (const lm::LoraMatrices& one : adapter_->matrices) {
    Sum sum{place_of(places.at(one.projection + ".weight")), one.rows, one.columns, {}, {}};
    for (const bool is_a : {true, false}) {
      const std::int64_t rows = is_a ? rank : one.rows, columns = is_a ? one.columns : rank;
      auto view = [&](const at::Tensor& block) {
        return block.narrow(0, first, rows * columns).view({rows, columns});
      };
      (is_a ? sum.a : sum.b) = view(masters_);
      entries_.push_back(
          {one.projection + (is_a ? ".A" : ".B"), view(masters_), view(gradients_), true});
      first += aligned(rows * columns);
    }
    sums_.push_back(std::move(sum));
  }
}

void Weights::make_views() {
  embedding = matrix("embedding", parameters_->embedding);
  for (std::size_t i = 0; i < parameters_->layers.size(); ++i) {
    const lm::LayerParameters& from = parameters_->layers[i];
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
  final_norm = vector("final_norm", parameters_->final_norm);
  head = config().tied_embeddings ? embedding : matrix("head", parameters_->head);
  if (!device().is_cuda() || adapter_ || !gradients_.defined()) return;
  for (LayerWeights& layer : layers)
    for (Weight* one : {&layer.qkv, &layer.output, &layer.gate_up, &layer.down}) begin_blank(*one);
  begin_blank(head);
  if (config().tied_embeddings) embedding = head;
  for (const Entry& entry : entries_) {
    const bool is_blank = std::any_of(blanks_.begin(), blanks_.end(), [&](const Weight& one) {
      return one.gradient.is_same(entry.gradient);
    });
    if (!is_blank) cleared_.push_back(entry.gradient);
  }
}

std::int64_t Weights::place_of(const void* data) const {
  return static_cast<const float*>(data) - host_.const_data_ptr<float>();
}

Weight Weights::matrix(const std::string& name, const lm::Matrix& source) {
  const std::int64_t first = place_of(source.data), count = source.rows * source.columns;
  auto view = [&](const at::Tensor& block) {
    if (!block.defined()) return block;
    return block.narrow(0, first, count).view({source.rows, source.columns});
  };
  Weight out{view(computed_), {}, {}};
  if (!adapter_) {
    out.gradient = view(gradients_);
    entries_.push_back({name, view(masters_), out.gradient, true});
    return out;
  }
  for (const Sum& sum : sums_) {
    if (sum.first < first || sum.first >= first + count) continue;
    auto alike = [&](const at::Tensor& master, const at::Tensor& block) {
      return block.as_strided(master.sizes(), master.strides(), master.storage_offset());
    };
    out.adapters.push_back({(sum.first - first) / source.columns, sum.rows, adapter_->scale(),
                            alike(sum.a, rounded_), alike(sum.b, rounded_),
                            alike(sum.a, gradients_), alike(sum.b, gradients_)});
  }
  return out;
}

Weight Weights::vector(const std::string& name, std::span<float> source) {
  if (source.empty()) return {};
  const std::int64_t first = place_of(source.data());
  const auto size = static_cast<std::int64_t>(source.size());
  Weight out{base_.narrow(0, first, size), {}, {}};
  if (adapter_) {
    out.gradient = at::zeros_like(out.value);
    unused_.push_back(out.gradient);
    return out;
  }
  if (gradients_.defined()) out.gradient = gradients_.narrow(0, first, size);
  entries_.push_back({name, out.value, out.gradient, false});
  return out;
}

const at::Tensor& gradient_sum(const Weight& weight) {
  if (weight.is_blank != nullptr && std::exchange(*weight.is_blank, false))
    at::Tensor(weight.gradient).zero_();
  return weight.gradient;
}

void Weights::begin_blank(Weight& matrix) {
  matrix.is_blank = std::make_shared<bool>(false);
  blanks_.push_back(matrix);
}

const at::Tensor& Weights::gradients() const {
  for (const Weight& one : blanks_) gradient_sum(one);
  return gradients_;
}

void Weights::clear_gradients() {
  if (blanks_.empty()) {
    gradients_.zero_();
  } else {
    at::_foreach_zero_(cleared_);
    for (const Weight& one : blanks_) *one.is_blank = true;
  }
  for (at::Tensor& one : unused_) one.zero_();
}

void Weights::add_sums(at::Tensor& block) const {
  const at::NoGradGuard no_grad;
  for (const Sum& sum : sums_) {
    auto rows = [&](const at::Tensor& of) {
      return of.narrow(0, sum.first, sum.rows * sum.columns).view({sum.rows, sum.columns});
    };
    rows(block).copy_(at::addmm(rows(base_), sum.b, sum.a, 1, adapter_->scale()));
  }
}

void Weights::add_adapter() {
  if (adapter_) add_sums(computed_);
}

void Weights::publish() {
  if (compute_ != at::kFloat) rounded_.copy_(masters_);
  add_adapter();
}

void Weights::copy_model(at::Tensor& host) const {
  host.copy_(base_);
  if (adapter_) add_sums(host);
}

void Weights::follow(const Weights& others, double rate) {
  KW_CHECK(!gradients_.defined() && !adapter_ && masters_.sizes() == others.base_.sizes());
  at::Tensor model = others.base_;
  if (others.adapter_) {
    model = model.clone();
    others.add_sums(model);
  }
  masters_.lerp_(model, rate);
  publish();
}

std::optional<lm::LoraAdapter> Weights::adapter() const {
  std::optional<lm::LoraAdapter> out = adapter_;
  for (std::size_t i = 0; i < sums_.size(); ++i) {
    for (const auto& [from, into] : {std::pair(&sums_[i].a, &out->matrices[i].a),
                                     std::pair(&sums_[i].b, &out->matrices[i].b)}) {
      const at::Tensor host = from->to(at::kCPU).contiguous();
      std::memcpy(into->data(), host.const_data_ptr(), host.nbytes());
    }
  }
  return out;
}

}  // namespace kw::train
