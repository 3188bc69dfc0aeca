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
  count_ = masters_.numel();
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

Weights::Weights(lm::Parameters& parameters, at::Device device, at::ScalarType compute,
                 Sharding sharding)
    : parameters_(&parameters),
      compute_(compute),
      host_(block_of(parameters)),
      count_(host_.numel()),
      sharding_(std::move(sharding)) {
  KW_CHECK(parameters.type() == lm::WeightType::kFloat32);
  KW_CHECK(compute == at::kFloat || compute == at::kBFloat16);
  const Shard& own = sharding_->own();
  if (compute == at::kFloat) {
    masters_ = base_ = rounded_ = computed_ = host_.to(device);
  } else {
    masters_begin_ = own.begin;
    masters_ = host_.narrow(0, own.begin, own.size()).to(device, at::kFloat, false, /*copy=*/true);
    rounded_ = computed_ = host_.to(compute).to(device);  // the device never has all of float32
  }
  gradients_begin_ = own.begin;
  gradients_ = at::zeros({own.size()}, masters_.options());
  if (compute != at::kFloat) place_vectors();
  make_buckets();
  make_views();
}

// A vector takes as many numbers as in the block, so a shard's border within it is one here too.
void Weights::place_vectors() {
  const Shard& own = sharding_->own();
  std::int64_t total = 0;
  std::vector<std::pair<Shard, Shard>> parts;  // of the shard: in the block and in vectors_
  vector_shards_.assign(sharding_->shards.size(), {});
  auto add = [&](std::span<const float> source) {
    if (source.empty()) return;
    const std::int64_t first = place_of(source.data());
    const Shard whole{first, first + aligned(std::ssize(source))};
    vector_places_.emplace(first, total);
    for (std::size_t rank = 0; rank < vector_shards_.size(); ++rank)
      vector_shards_[rank].end += common_part(whole, sharding_->shards[rank]).size();
    if (const Shard part = common_part(whole, own); part.size() > 0)
      parts.push_back({part, {total + part.begin - first, total + part.end - first}});
    total += whole.size();
  };
  for (const lm::LayerParameters& layer : parameters_->layers)
    for (const std::span<float> one :
         {layer.input_norm, layer.qkv_bias, layer.q_norm, layer.k_norm, layer.output_bias,
          layer.post_norm, layer.gate_up_bias, layer.down_bias})
      add(one);
  add(parameters_->final_norm);
  std::int64_t place = 0;
  for (Shard& one : vector_shards_) {
    one = {place, place + one.size()};
    place = one.end;
  }
  at::Tensor start = at::zeros({total}, at::kFloat);
  for (const auto& [in_block, in_vectors] : vector_places_) {
    const auto next = vector_places_.upper_bound(in_block);
    const std::int64_t end = next == vector_places_.end() ? total : next->second;
    start.narrow(0, in_vectors, end - in_vectors)
        .copy_(host_.narrow(0, in_block, end - in_vectors));
  }
  vectors_ = start.to(device());
  for (const auto& [in_block, in_vectors] : parts) {
    own_vector_masters_.push_back(masters_at(in_block.begin, in_block.size()));
    own_vectors_.push_back(vectors_.narrow(0, in_vectors.begin, in_vectors.size()));
  }
}

// A layer's tensors lie together. Layers are alike, so theirs lie alike in the memory they share,
// which every second layer has: one is summed up while the next is made.
void Weights::make_buckets() {
  std::vector<std::int64_t> begins = {0};
  for (const lm::LayerParameters& layer : parameters_->layers)
    begins.push_back(place_of(layer.input_norm.data()));
  begins.push_back(place_of(parameters_->final_norm.data()));
  if (!config().tied_embeddings) begins.push_back(place_of(parameters_->head.data));
  begins.push_back(count_);
  for (std::size_t i = 0; i + 1 < begins.size(); ++i)
    buckets_.push_back({{begins[i], begins[i + 1]}, {}, {}, {}});
  const std::size_t last_layer = parameters_->layers.size();
  for (std::size_t i = 0; i < buckets_.size(); ++i) {
    Bucket& bucket = buckets_[i];
    const bool is_layer = i >= 1 && i <= last_layer, is_head = i == last_layer + 2;
    const std::size_t owner = is_layer ? 2 - i % 2 : is_head ? 0 : i;
    bucket.gradient = owner == i ? at::zeros({bucket.range.size()}, gradients_.options())
                                 : buckets_[owner].gradient;
    KW_CHECK(bucket.gradient.numel() == bucket.range.size());
  }
}

at::Tensor Weights::gradient_view(std::int64_t first, std::int64_t count) const {
  if (buckets_.empty())
    return gradients_.defined() ? gradients_.narrow(0, first, count) : gradients_;
  for (const Bucket& one : buckets_)
    if (one.range.begin <= first && first < one.range.end)
      return one.gradient.narrow(0, first - one.range.begin, count);
  KW_CHECK(false);
  return {};
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
  count_ = masters_.numel();
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
      entries_.push_back({one.projection + (is_a ? ".A" : ".B"),
                          {first, first + rows * columns},
                          view(masters_),
                          view(gradients_),
                          true});
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
  // Buckets are written anew for each layer; a whole gradient on a GPU, once a step.
  const bool begin_as_blanks = sharding_ || (device().is_cuda() && gradients_.defined());
  if (!begin_as_blanks || adapter_) return;
  for (LayerWeights& layer : layers)
    for (Weight* one : {&layer.qkv, &layer.output, &layer.gate_up, &layer.down}) begin_blank(*one);
  begin_blank(head);
  if (config().tied_embeddings) embedding = head;
  if (sharding_ && !config().tied_embeddings) begin_blank(embedding);
  if (sharding_) {
    fill_buckets();
    return;
  }
  for (const Entry& entry : entries_)
    if (!find_blank(entry)) cleared_.push_back(entry.gradient);
}

const Weight* Weights::find_blank(const Entry& entry) const {
  const auto found = std::ranges::find_if(
      blanks_, [&](const Weight& one) { return one.gradient.is_same(entry.gradient); });
  return found == blanks_.end() ? nullptr : &*found;
}

void Weights::fill_buckets() {
  for (Bucket& bucket : buckets_) {
    std::int64_t place = bucket.range.begin;
    auto add_rest = [&](std::int64_t end) {
      if (end > place)
        bucket.rest.push_back(bucket.gradient.narrow(0, place - bucket.range.begin, end - place));
    };
    for (const Entry& entry : entries_) {
      const Weight* const blank = find_blank(entry);
      if (blank == nullptr || common_part(entry.place, bucket.range).size() == 0) continue;
      bucket.matrices.push_back(*blank);
      add_rest(entry.place.begin);
      place = entry.place.end;
    }
    add_rest(bucket.range.end);
  }
}

std::int64_t Weights::place_of(const void* data) const {
  return static_cast<const float*>(data) - host_.const_data_ptr<float>();
}

Weight Weights::matrix(const std::string& name, const lm::Matrix& source) {
  const std::int64_t first = place_of(source.data), count = source.rows * source.columns;
  auto view = [&](const at::Tensor& block) {
    return block.narrow(0, first, count).view({source.rows, source.columns});
  };
  Weight out{view(computed_), {}, {}};
  if (!adapter_) {
    out.gradient = gradient_view(first, count);
    if (out.gradient.defined()) out.gradient = out.gradient.view({source.rows, source.columns});
    entries_.push_back({name,
                        {first, first + count},
                        has_sharded_masters() ? at::Tensor() : view(masters_),
                        out.gradient,
                        true});
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
  const bool is_apart = has_sharded_masters();
  Weight out{
      is_apart ? vectors_.narrow(0, vector_places_.at(first), size) : base_.narrow(0, first, size),
      {},
      {}};
  if (adapter_) {
    out.gradient = at::zeros_like(out.value);
    unused_.push_back(out.gradient);
    return out;
  }
  out.gradient = gradient_view(first, size);
  entries_.push_back(
      {name, {first, first + size}, is_apart ? at::Tensor() : out.value, out.gradient, false});
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
  if (sharding_) return gradients_;
  for (const Weight& one : blanks_) gradient_sum(one);
  return gradients_;
}

void Weights::clear(const Bucket& bucket) {
  if (!bucket.rest.empty()) at::_foreach_zero_(bucket.rest);
  for (const Weight& one : bucket.matrices) *one.is_blank = true;
}

void Weights::clear_gradients() {
  if (sharding_) {
    gradients_.zero_();
    for (const Bucket& one : buckets_) clear(one);
  } else if (blanks_.empty()) {
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

void Weights::begin() {
  if (has_sharded_masters()) masters_.copy_(host_.narrow(0, masters_begin_, masters_.numel()));
  publish();
}

void Weights::publish() {
  if (compute_ != at::kFloat) rounded_.narrow(0, masters_begin_, masters_.numel()).copy_(masters_);
  if (!own_vectors_.empty()) at::_foreach_copy_(own_vectors_, own_vector_masters_);
  add_adapter();
}

void Weights::copy_model(at::Tensor& host) const {
  KW_CHECK(!has_sharded_masters());
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
