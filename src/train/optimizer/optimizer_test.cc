// AdamW and Muon against their formulas in float64.
#include "train/optimizer/optimizer.h"

#include <cmath>
#include <string>
#include <vector>

#include <ATen/ATen.h>
#include <ATen/Parallel.h>
#include <gtest/gtest.h>

#include "lm/model/lora.h"

namespace kw::train {
namespace {

// On one thread: these matrices are small, and threads would wait for each other.
class OptimizerSteps : public ::testing::Test {
 protected:
  OptimizerSteps() { at::set_num_threads(1); }
  ~OptimizerSteps() override { at::set_num_threads(threads_); }

 private:
  int threads_ = at::get_num_threads();
};

// Projections of several shapes, wide, tall and square, some of them stored together; biases.
lm::ModelConfig shapes() {
  lm::ModelConfig c;
  c.family = lm::Family::kQwen2;
  c.vocabulary = 50;
  c.hidden = 24;
  c.layers = 3;
  c.heads = 3;
  c.kv_heads = 1;
  c.head_dim = 8;
  c.intermediate = 40;
  c.max_position = 32;
  c.initializer_range = 0.1;
  c.tied_embeddings = false;
  c.qkv_bias = true;
  return c;
}

lm::Parameters make_parameters() {
  lm::Parameters out = lm::Parameters::make(shapes(), lm::WeightType::kFloat32).value();
  lm::initialise(out, 4);
  return out;
}

struct MatrixPlace {
  std::int64_t first, rows, columns;
  at::Tensor of(const at::Tensor& block) const {
    return block.narrow(0, first, rows * columns).view({rows, columns});
  }
};

// As its users name them: every projection alone.
std::vector<MatrixPlace> places_of(const Weights& weights) {
  std::vector<MatrixPlace> out;
  if (weights.has_adapter()) {
    for (const Weights::Entry& one : weights.entries())
      out.push_back({one.master.storage_offset(), one.master.size(0), one.master.size(1)});
    return out;
  }
  const std::byte* block = weights.parameters().embedding.data;
  for (const lm::NamedParameter& one : weights.parameters().named())
    if (one.name.find("_proj.weight") != std::string::npos)
      out.push_back({(one.matrix.data - block) / 4, one.matrix.rows, one.matrix.columns});
  return out;
}

at::Tensor plain_newton_schulz(at::Tensor u) {
  const bool tall = u.size(0) > u.size(1);
  if (tall) u = u.t();
  at::Tensor x = u / (u.norm() + 1e-7);
  for (int i = 0; i < 5; ++i) {
    const at::Tensor a = x.mm(x.t());
    x = 3.4445 * x + (-4.7750 * a + 2.0315 * a.mm(a)).mm(x);
  }
  return tall ? x.t() : x;
}

// The formulas, over whole blocks in float64.
class Plain {
 public:
  Plain(const Weights& weights, OptimizerSettings settings)
      : masters(weights.masters().to(at::kDouble)),
        settings_(std::move(settings)),
        first_(at::zeros_like(masters)),
        second_(at::zeros_like(masters)),
        momentum_(at::zeros_like(masters)),
        decay_(at::zeros_like(masters)) {
    for (const Weights::Entry& entry : weights.entries())
      if (entry.is_matrix)
        decay_.narrow(0, entry.master.storage_offset(), entry.master.numel())
            .fill_(settings_.adamw.weight_decay);
    if (settings_.muon) places_ = places_of(weights);
  }

  void step(const at::Tensor& gradients, double rate) {
    const AdamWSettings& s = settings_.adamw;
    ++step_;
    at::Tensor g = gradients.to(at::kDouble);
    if (settings_.max_norm > 0) g = g * std::min(1.0, settings_.max_norm / g.norm().item<double>());
    const at::Tensor before = masters;
    first_ = s.beta1 * first_ + (1 - s.beta1) * g;
    second_ = s.beta2 * second_ + (1 - s.beta2) * g * g;
    masters = masters * (1 - rate * decay_) -
              rate * (first_ / (1 - std::pow(s.beta1, step_))) /
                  ((second_ / (1 - std::pow(s.beta2, step_))).sqrt() + s.epsilon);
    for (const MatrixPlace& one : places_) muon(one, before, g, rate * settings_.muon->rate);
  }

  at::Tensor masters;

 private:
  void muon(const MatrixPlace& one, const at::Tensor& before, const at::Tensor& g, double rate) {
    const MuonStep& s = *settings_.muon;
    at::Tensor m = one.of(momentum_);
    m.copy_(s.momentum * m + (1 - s.momentum) * one.of(g));
    const at::Tensor nesterov = s.momentum * m + (1 - s.momentum) * one.of(g);
    const double rows = static_cast<double>(one.rows), columns = static_cast<double>(one.columns);
    const double scale = s.scale == MuonScale::kOriginal ? std::sqrt(std::max(1.0, rows / columns))
                                                         : 0.2 * std::sqrt(std::max(rows, columns));
    one.of(masters).copy_((1 - rate * s.weight_decay) * one.of(before) -
                          rate * scale * plain_newton_schulz(nesterov));
  }

  OptimizerSettings settings_;
  at::Tensor first_, second_, momentum_, decay_;
  std::vector<MatrixPlace> places_;
  int step_ = 0;
};

// The largest share of the way from the start by which a tensor is off after four steps.
double distance_from_formula(Weights& weights, const OptimizerSettings& settings) {
  Optimizer optimizer(weights, settings);
  Plain plain(weights, settings);
  const at::Tensor start = plain.masters;
  for (int step = 1; step <= 4; ++step) {
    at::manual_seed(static_cast<std::uint64_t>(step));
    weights.clear_gradients();
    for (const Weights::Entry& entry : weights.entries())
      at::Tensor(entry.gradient).copy_(at::randn(entry.gradient.sizes()));
    const at::Tensor gradients = weights.gradients().clone();
    const double rate = 0.01 / step;
    plain.step(gradients, rate);
    EXPECT_NEAR(optimizer.step(rate).item<double>(), gradients.norm().item<double>(), 1e-3);
  }
  double out = 0;
  for (const Weights::Entry& entry : weights.entries()) {
    auto part = [&](const at::Tensor& block) {
      return block.narrow(0, entry.master.storage_offset(), entry.master.numel());
    };
    const at::Tensor way = part(plain.masters) - part(start);
    EXPECT_GT(way.norm().item<double>(), 1e-3) << entry.name;
    out = std::max(
        out, ((part(weights.masters()) - part(start) - way).norm() / way.norm()).item<double>());
  }
  return out;
}

OptimizerSettings settings_with(MuonScale scale) {
  return {{0.8, 0.9, 1e-6, 0.1}, 0.5, MuonStep{0.9, 0.1, scale, 1.5}};
}

TEST_F(OptimizerSteps, AdamWFollowsItsFormula) {
  lm::Parameters parameters = make_parameters();
  Weights weights(parameters, at::kCPU, at::kFloat);
  OptimizerSettings settings = settings_with(MuonScale::kOriginal);
  settings.muon.reset();
  EXPECT_LT(distance_from_formula(weights, settings), 2e-5);
}

TEST_F(OptimizerSteps, MuonFollowsItsFormulaInHiddenMatricesAndAdamWInAllElse) {
  for (const MuonScale scale : {MuonScale::kMatchRmsAdamW, MuonScale::kOriginal}) {
    lm::Parameters parameters = make_parameters();
    Weights weights(parameters, at::kCPU, at::kFloat);
    EXPECT_LT(distance_from_formula(weights, settings_with(scale)), 2e-5);
  }
}

TEST_F(OptimizerSteps, MuonTakesEveryFactorOfAnAdapterForItself) {
  lm::Parameters parameters = make_parameters();
  // Not the same projections in all layers: their distances differ.
  auto adapter =
      lm::new_lora(parameters, {.rank = 4, .alpha = 8, .targets = {"q_proj", "0.mlp.down_proj"}}, 2)
          .value();
  Weights weights(parameters, at::kCPU, at::kFloat, adapter);
  EXPECT_LT(distance_from_formula(weights, settings_with(MuonScale::kMatchRmsAdamW)), 2e-5);
}

TEST_F(OptimizerSteps, MuonSavesAMomentAndRoundsWhatIsComputedWith) {
  lm::Parameters parameters = make_parameters();
  Weights weights(parameters, at::kCPU, at::kBFloat16);
  Optimizer optimizer(weights, settings_with(MuonScale::kOriginal));
  // Only the embedding, the head, norms and biases are left, each rounded up to 128 numbers.
  EXPECT_EQ(optimizer.second_moments().numel(), 1280 + 1280 + 3 * 3 * 128 + 128);
  EXPECT_EQ(optimizer.first_moments().numel(), weights.masters().numel());
  weights.gradients().fill_(0.01);
  const at::Tensor before = weights.computed().clone();
  optimizer.step(1e-2);
  EXPECT_FALSE(weights.computed().equal(before));
  EXPECT_TRUE(weights.computed().equal(weights.masters().to(at::kBFloat16)));
}

// One of several ranks, whose collectives leave everything as it is: enough to look at its state.
class RankAlone : public Collectives {
 public:
  RankAlone(int rank, int size) : rank_(rank), size_(size) {}
  int rank() const override { return rank_; }
  int size() const override { return size_; }
  void all_reduce(at::Tensor& /*values*/) override {}
  void reduce_scatter(at::Tensor& /*block*/, std::span<const Shard> /*shards*/) override {}
  void all_gather(at::Tensor& /*block*/, std::span<const Shard> /*shards*/) override {}
  void broadcast(at::Tensor& /*values*/, int /*root*/) override {}

 private:
  int rank_, size_;
};

TEST_F(OptimizerSteps, RanksShareTheMoments) {
  lm::Parameters parameters = make_parameters();
  Weights weights(parameters, at::kCPU, at::kFloat);
  OptimizerSettings adamw = settings_with(MuonScale::kOriginal);
  adamw.muon.reset();
  const std::int64_t total = weights.masters().numel();
  for (const int size : {2, 4}) {
    std::int64_t together = 0;
    for (int rank = 0; rank < size; ++rank) {
      RankAlone one(rank, size);
      const Optimizer optimizer(weights, adamw, &one);
      const auto bytes = static_cast<std::int64_t>(optimizer.first_moments().nbytes() +
                                                   optimizer.second_moments().nbytes());
      EXPECT_NEAR(static_cast<double>(bytes), 8.0 * static_cast<double>(total) / size, 8 * 512.0);
      together += bytes;
    }
    EXPECT_EQ(together, 8 * total);
  }
}

// A rank that had a part of a matrix could not make it orthogonal.
TEST_F(OptimizerSteps, RanksHaveWholeMatricesOfMuon) {
  lm::Parameters parameters = make_parameters();
  Weights weights(parameters, at::kCPU, at::kFloat);
  for (const int size : {2, 3, 5}) {
    std::int64_t place = 0, second = 0;
    for (int rank = 0; rank < size; ++rank) {
      RankAlone one(rank, size);
      const Optimizer optimizer(weights, settings_with(MuonScale::kOriginal), &one);
      const Shard& shard = optimizer.shard();
      EXPECT_EQ(shard.begin, place);
      place = shard.end;
      second += optimizer.second_moments().numel();
      for (const HiddenMatrices& some : hidden_matrices(weights))
        for (std::int64_t i = 0; i < some.count; ++i) {
          const std::int64_t begin = some.first + i * some.stride;
          const std::int64_t end = begin + some.rows * some.columns;
          EXPECT_TRUE(end <= shard.begin || begin >= shard.end ||
                      (begin >= shard.begin && end <= shard.end));
        }
    }
    EXPECT_EQ(place, weights.masters().numel());
    EXPECT_EQ(second, Optimizer(weights, settings_with(MuonScale::kOriginal)).second_count());
  }
}

// Its five iterations bring singular values near 1, and leave those at 0.
TEST_F(OptimizerSteps, OrthogonalisedMatricesHaveSingularValuesNearOne) {
  at::manual_seed(1);
  const at::Tensor matrices = at::randn({2, 30, 12}, at::kDouble);
  const at::Tensor values = at::linalg_svdvals(orthogonalised(matrices, at::kDouble));
  EXPECT_GT(values.min().item<double>(), 0.6);
  EXPECT_LT(values.max().item<double>(), 1.25);
  EXPECT_EQ(orthogonalised(at::zeros({1, 3, 5}), at::kFloat).abs().max().item<double>(), 0);
}

}  // namespace
}  // namespace kw::train
