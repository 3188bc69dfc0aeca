#include "train/optimizer/optimizer.h"

#include <algorithm>
#include <utility>
#include <vector>

#include <ATen/ATen.h>

#include "base/check.h"
#include "train/cuda/fused.h"

namespace kw::train {
namespace {

// Where Muon's matrices lie, each with the padding behind it, ascending. Matrices that begin inside
// of that padding are one part.
std::vector<Shard> parts_of(const std::vector<HiddenMatrices>& matrices, std::int64_t total) {
  std::vector<Shard> all;
  for (const HiddenMatrices& some : matrices)
    for (std::int64_t i = 0; i < some.count; ++i) {
      const std::int64_t begin = some.first + i * some.stride;
      all.push_back({begin, std::min(aligned(begin + some.rows * some.columns), total)});
    }
  std::ranges::sort(all, {}, &Shard::begin);
  std::vector<Shard> out;
  for (const Shard& one : all) {
    if (!out.empty() && one.begin < out.back().end)
      out.back().end = std::max(out.back().end, one.end);
    else
      out.push_back(one);
  }
  return out;
}

// A block of `total` numbers without the parts.
std::vector<Shard> without(const std::vector<Shard>& parts, std::int64_t total) {
  std::vector<Shard> out;
  std::int64_t place = 0;
  for (const Shard& one : parts) {
    if (one.begin > place) out.push_back({place, one.begin});
    place = one.end;
  }
  if (total > place) out.push_back({place, total});
  return out;
}

// How many of AdamW's numbers there are before a place.
std::int64_t count_before(const std::vector<Shard>& of_adamw, std::int64_t place) {
  std::int64_t out = 0;
  for (const Shard& one : of_adamw)
    out += std::max<std::int64_t>(std::min(one.end, place) - one.begin, 0);
  return out;
}

// AdamW's numbers of a shard, whose moments begin with it.
std::vector<MasterSpan> spans_in(const std::vector<Shard>& of_adamw, const Shard& shard) {
  const std::int64_t second = count_before(of_adamw, shard.begin);
  std::vector<MasterSpan> out;
  for (const Shard& one : of_adamw) {
    const std::int64_t begin = std::max(one.begin, shard.begin);
    const std::int64_t count = std::min(one.end, shard.end) - begin;
    if (count > 0)
      out.push_back({begin, count, begin - shard.begin, count_before(of_adamw, begin) - second});
  }
  return out;
}

constexpr std::int64_t kPiece = std::int64_t{1} << 22;  // numbers that are gathered at once

}  // namespace

std::vector<Shard> model_shards(const lm::Parameters& parameters, bool muon, int ranks) {
  const auto total = static_cast<std::int64_t>(parameters.bytes() / sizeof(float));
  return make_shards(total, ranks,
                     muon ? parts_of(hidden_matrices(parameters), total) : std::vector<Shard>());
}

Optimizer::Optimizer(Weights& weights, const OptimizerSettings& settings, Collectives* ranks)
    : weights_(weights), ranks_(ranks), max_norm_(settings.max_norm) {
  const std::int64_t total = weights.count();
  const std::vector<Shard> of_muon =
      settings.muon ? parts_of(hidden_matrices(weights), total) : std::vector<Shard>();
  const std::vector<Shard> of_adamw = without(of_muon, total);
  shards_ = make_shards(total, ranks == nullptr ? 1 : ranks->size(), of_muon);
  KW_CHECK(weights.sharding() == nullptr ||
           (weights.sharding()->shards == shards_ && weights.sharding()->rank == rank()));
  for (const Shard& one : shards_)
    second_shards_.push_back({count_before(of_adamw, one.begin), count_before(of_adamw, one.end)});
  first_ = at::zeros({shard().size()}, weights.masters().options());
  second_ = at::zeros({second_shards_[rank()].size()}, first_.options());
  if (settings.muon) muon_.emplace(weights, *settings.muon, first_, shard());
  adamw_.emplace(weights, settings.adamw, spans_in(of_adamw, shard()), first_, second_);
}

std::size_t Optimizer::rank() const {
  return ranks_ == nullptr ? 0 : static_cast<std::size_t>(ranks_->rank());
}

at::Tensor Optimizer::own(const at::Tensor& block) const {
  return block.narrow(0, shard().begin, shard().size());
}

// [2] float32: the norm of the gradient of all ranks, and the factor that clips it.
at::Tensor Optimizer::global_norm() const {
  const at::Tensor mine = weights_.gradients_at(shard().begin, shard().size());
  const bool gpu = weights_.device().is_cuda();
  if (gpu && ranks_ == nullptr) return cuda::gradient_norm(mine, max_norm_);
  // Millions of squares: sums in float32 are off by a ten-thousandth.
  at::Tensor norm = gpu ? cuda::gradient_norm(mine, max_norm_)[0].to(at::kDouble)
                        : at::linalg_vector_norm(mine, 2, {}, false, at::kDouble);
  if (ranks_ != nullptr) {
    norm = norm.square();
    ranks_->all_reduce(norm);
    norm = norm.sqrt();
  }
  norm = norm.to(at::kFloat);
  const at::Tensor factor =
      max_norm_ > 0 ? (max_norm_ / (norm + 1e-6)).clamp_max(1) : at::ones_like(norm);
  return at::stack({norm, factor});
}

at::Tensor Optimizer::step(double learning_rate) {
  const at::NoGradGuard no_grad;
  ++steps_;
  if (ranks_ != nullptr && weights_.sharding() == nullptr) {
    at::Tensor gradients = weights_.gradients();
    ranks_->reduce_scatter(gradients, shards_);
  }
  const at::Tensor norm = global_norm();
  const bool gpu = weights_.device().is_cuda();
  if (!gpu && max_norm_ > 0) weights_.gradients_at(shard().begin, shard().size()).mul_(norm[1]);
  adamw_->update(learning_rate, steps_, norm);
  if (muon_) muon_->update(learning_rate, gpu ? norm[1] : at::Tensor());
  // On a GPU an optimizer's kernels have rounded this rank's masters already.
  if (ranks_ != nullptr)
    share();
  else if (gpu)
    weights_.add_adapter();
  else
    weights_.publish();
  return norm[0];
}

// After this rank's masters changed: all have what is computed with.
void Optimizer::share() {
  if (!weights_.has_sharded_masters()) {
    at::Tensor masters = weights_.masters();
    ranks_->all_gather(masters, shards_);
    weights_.publish();
    return;
  }
  weights_.publish();
  at::Tensor rounded = weights_.rounded_masters(), vectors = weights_.vectors();
  ranks_->all_gather(rounded, shards_);
  ranks_->all_gather(vectors, weights_.vector_shards());
}

void Optimizer::begin_alike() {
  if (ranks_ == nullptr) return;
  at::Tensor start = weights_.start();
  for (std::int64_t begin = 0; begin < start.numel(); begin += kPiece) {
    const std::int64_t count = std::min(kPiece, start.numel() - begin);
    at::Tensor piece = start.narrow(0, begin, count).to(weights_.device());
    ranks_->broadcast(piece, 0);
    if (!ranks_->is_root()) start.narrow(0, begin, count).copy_(piece);
  }
  weights_.begin();
  if (weights_.has_sharded_masters()) share();
}

void Optimizer::gather(const at::Tensor& mine, const std::vector<Shard>& shards,
                       at::Tensor& into) const {
  if (ranks_ == nullptr) {
    into.copy_(mine);
    return;
  }
  for (std::size_t owner = 0; owner < shards.size(); ++owner) {
    for (std::int64_t begin = 0; begin < shards[owner].size(); begin += kPiece) {
      const std::int64_t count = std::min(kPiece, shards[owner].size() - begin);
      at::Tensor piece =
          owner == rank() ? mine.narrow(0, begin, count) : at::empty({count}, mine.options());
      ranks_->broadcast(piece, static_cast<int>(owner));
      if (into.defined()) into.narrow(0, shards[owner].begin + begin, count).copy_(piece);
    }
  }
}

void Optimizer::copy_moments(at::Tensor& first, at::Tensor& second) const {
  gather(first_, shards_, first);
  gather(second_, second_shards_, second);
}

void Optimizer::copy_model(at::Tensor& model) const {
  if (weights_.has_sharded_masters())
    gather(weights_.masters(), shards_, model);
  else if (model.defined())
    weights_.copy_model(model);
}

void Optimizer::give_state() const {
  at::Tensor model, first, second;
  copy_model(model);
  copy_moments(first, second);
}

void Optimizer::set_moments(const at::Tensor& first, const at::Tensor& second) {
  first_.copy_(own(first));
  second_.copy_(second.narrow(0, second_shards_[rank()].begin, second_.numel()));
}

}  // namespace kw::train
