#include "train/optimizer/muon.h"

#include <algorithm>
#include <cmath>
#include <string>

#include <ATen/ATen.h>

#include "base/check.h"

namespace kw::train {
namespace {

constexpr int kIterations = 5;
constexpr double kA = 3.4445, kB = -4.7750, kC = 2.0315;
constexpr double kMinNorm = 1e-7;

struct Place {
  std::string projection;  // its name without the layer's number
  std::int64_t first = 0, rows = 0, columns = 0;
};

constexpr std::string_view kLayers = "layers.";

// "model.layers.12.mlp.up_proj.weight" -> "mlp.up_proj.weight"; empty: the tensor is of no layer.
std::string projection_of(const std::string& name) {
  const std::size_t layers = name.find(kLayers);
  if (layers == std::string::npos) return "";
  return name.substr(name.find('.', layers + kLayers.size()) + 1);
}

std::vector<Place> places_of(const lm::Parameters& parameters) {
  std::vector<Place> out;
  const auto* block = reinterpret_cast<const float*>(parameters.embedding.data);
  for (const lm::NamedParameter& one : parameters.named()) {
    const std::string projection = projection_of(one.name);
    if (!one.is_matrix() || projection.empty()) continue;
    out.push_back({projection, reinterpret_cast<const float*>(one.matrix.data) - block,
                   one.matrix.rows, one.matrix.columns});
  }
  return out;
}

// Matrices of one projection whose distances are equal, together.
std::vector<HiddenMatrices> series_of(std::vector<Place> places) {
  std::stable_sort(places.begin(), places.end(),
                   [](const Place& a, const Place& b) { return a.projection < b.projection; });
  std::vector<HiddenMatrices> out;
  for (std::size_t i = 0; i < places.size(); ++i) {
    const Place& one = places[i];
    if (i > 0 && places[i - 1].projection == one.projection) {
      HiddenMatrices& last = out.back();
      const std::int64_t stride = one.first - places[i - 1].first;
      if (last.count == 1) last.stride = stride;
      if (last.stride == stride && last.rows == one.rows && last.columns == one.columns) {
        ++last.count;
        continue;
      }
    }
    out.push_back({one.first, one.rows * one.columns, 1, one.rows, one.columns});
  }
  return out;
}

double scale_of(MuonScale scale, const HiddenMatrices& some) {
  const auto rows = static_cast<double>(some.rows), columns = static_cast<double>(some.columns);
  if (scale == MuonScale::kOriginal) return std::sqrt(std::max(1.0, rows / columns));
  return 0.2 * std::sqrt(std::max(rows, columns));
}

std::vector<HiddenMatrices> matrices_in(const Shard& shard, std::vector<HiddenMatrices> all) {
  for (HiddenMatrices& some : all) {
    while (some.count > 0 && some.first < shard.begin) {
      some.first += some.stride;
      --some.count;
    }
    while (some.count > 0 && some.first + (some.count - 1) * some.stride >= shard.end) --some.count;
  }
  std::erase_if(all, [](const HiddenMatrices& some) { return some.count == 0; });
  return all;
}

}  // namespace

std::vector<HiddenMatrices> hidden_matrices(const lm::Parameters& parameters) {
  return series_of(places_of(parameters));
}

std::vector<HiddenMatrices> hidden_matrices(const Weights& weights) {
  if (!weights.has_adapter()) return hidden_matrices(weights.parameters());
  std::vector<Place> places;
  for (const Weights::Entry& one : weights.entries())
    places.push_back(
        {projection_of(one.name), one.place.begin, one.master.size(0), one.master.size(1)});
  return series_of(std::move(places));
}

at::Tensor orthogonalised(const at::Tensor& matrices, at::ScalarType dtype) {
  const bool tall = matrices.size(1) > matrices.size(2);
  const at::Tensor norms = at::linalg_vector_norm(matrices, 2, at::IntArrayRef{1, 2}, true);
  at::Tensor x = (tall ? matrices.mT() : matrices).div(norms.clamp_min(kMinNorm)).to(dtype);
  for (int i = 0; i < kIterations; ++i) {
    const at::Tensor gram = at::bmm(x, x.mT());
    const at::Tensor polynomial = at::baddbmm(gram, gram, gram, kB, kC);
    x = at::baddbmm(x, polynomial, x, kA, 1);
  }
  return tall ? x.mT() : x;
}

Muon::Muon(Weights& weights, const MuonStep& settings, at::Tensor momentum, Shard shard)
    : weights_(weights),
      settings_(settings),
      momentum_(std::move(momentum)),
      shard_(shard),
      matrices_(matrices_in(shard, hidden_matrices(weights))) {}

void Muon::update(double learning_rate, const at::Tensor& factor) {
  for (const HiddenMatrices& all : matrices_) {
    const std::int64_t together =
        std::max<std::int64_t>(kMuonNumbers / (all.rows * all.columns), 1);
    for (std::int64_t begin = 0; begin < all.count; begin += together) {
      HiddenMatrices some = all;
      some.first += begin * all.stride;
      some.count = std::min(together, all.count - begin);
      update(some, learning_rate * settings_.rate, factor);
    }
  }
}

void Muon::update(const HiddenMatrices& some, double learning_rate, const at::Tensor& factor) {
  // begin: where the block's numbers begin among all.
  auto view = [&](const at::Tensor& block, std::int64_t begin) {
    return block.as_strided({some.count, some.rows, some.columns}, {some.stride, some.columns, 1},
                            block.storage_offset() + some.first - begin);
  };
  const bool gpu = weights_.device().is_cuda();
  at::Tensor update = view(weights_.gradients(), weights_.gradients_begin());
  if (factor.defined()) update.mul_(factor);
  at::Tensor momentum = view(momentum_, shard_.begin);
  momentum.lerp_(update, 1 - settings_.momentum);
  update.lerp_(momentum, settings_.momentum);
  at::Tensor master = view(weights_.masters(), weights_.masters_begin());
  master.mul_(1 - learning_rate * settings_.weight_decay);
  master.add_(orthogonalised(update, gpu ? at::kBFloat16 : at::kFloat),
              -learning_rate * scale_of(settings_.scale, some));
  if (gpu) view(weights_.rounded_masters(), 0).copy_(master);
}

}  // namespace kw::train
