// AdamW and Muon against their formulas in float64.
#include "train/optimizer/optimizer.h"

#include <cmath>
#include <string>
#include <vector>

#include <ATen/ATen.h>
#include <ATen/Parallel.h>
#include <gtest/gtest.h>

#include "lm/model/lora.h"
#include "train/optimizer/bucket_sums.h"
#include "train/testing/fake_ranks.h"

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

lm::Parameters make_parameters(bool tied = false, std::uint64_t seed = 4) {
  lm::ModelConfig config = shapes();
  config.tied_embeddings = tied;
  lm::Parameters out = lm::Parameters::make(config, lm::WeightType::kFloat32).value();
  lm::initialise(out, seed);
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
      out.push_back({one.place.begin, one.master.size(0), one.master.size(1)});
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
        decay_.narrow(0, entry.place.begin, entry.master.numel())
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
      return block.narrow(0, entry.place.begin, entry.master.numel());
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

// Multiples of 1/64, so that sums of their shares are exact; padding has none.
at::Tensor gradient_of(const Weights& weights, int step) {
  const at::Tensor numbers = at::arange(weights.count(), at::kLong);
  at::Tensor out = at::zeros({weights.count()}, at::kFloat);
  const at::Tensor values = numbers.mul(37 + step).remainder(129).sub(64).to(at::kFloat).div(64);
  for (const Weights::Entry& entry : weights.entries()) {
    const Shard& place = entry.place;
    out.narrow(0, place.begin, place.size()).copy_(values.narrow(0, place.begin, place.size()));
  }
  return out;
}

// A backward pass whose gradient is `share` of `gradient`, written as layers write theirs.
void backward(Weights& weights, BucketSums& sums, const at::Tensor& gradient, double share) {
  auto fill = [&](std::size_t bucket) {
    const Bucket& into = weights.buckets()[bucket];
    for (const Weight& one : into.matrices) gradient_sum(one);
    for (const Weights::Entry& entry : weights.entries())
      if (common_part(entry.place, into.range).size() > 0)
        at::Tensor(entry.gradient)
            .add_(gradient.narrow(0, entry.place.begin, entry.place.size())
                      .view(entry.gradient.sizes()),
                  share);
  };
  const std::size_t layers = weights.layers.size();
  if (weights.buckets().size() > layers + 2) fill(layers + 2);
  sums.head_done();
  for (std::size_t layer = layers; layer > 0; --layer) {
    fill(layer);
    sums.layer_done(layer - 1);
  }
  fill(layers + 1);
  fill(0);
  sums.rest_done();
}

// Ranks whose sums are made at the last moment, as a GPU may make them.
class LateRanks final : public Collectives {
 public:
  explicit LateRanks(Collectives& ranks) : ranks_(ranks) {}
  int rank() const override { return ranks_.rank(); }
  int size() const override { return ranks_.size(); }
  void all_reduce(at::Tensor& values) override { ranks_.all_reduce(values); }
  void reduce_scatter(at::Tensor& block, std::span<const Shard> shards) override {
    ranks_.reduce_scatter(block, shards);
  }
  void begin_reduce_scatter(at::Tensor& block, std::span<const Shard> shards) override {
    EXPECT_FALSE(begun_.defined());
    begun_ = block;
    shards_.assign(shards.begin(), shards.end());
  }
  void end_reduce_scatter() override {
    ASSERT_TRUE(begun_.defined());
    ranks_.reduce_scatter(begun_, shards_);
    begun_.reset();
  }
  void all_gather(at::Tensor& block, std::span<const Shard> shards) override {
    ranks_.all_gather(block, shards);
  }
  void broadcast(at::Tensor& values, int root) override { ranks_.broadcast(values, root); }

 private:
  Collectives& ranks_;
  at::Tensor begun_;
  std::vector<Shard> shards_;
};

struct Trained {
  at::Tensor model, computed, first, second, norm;
};

Trained trained_alone(bool tied, at::ScalarType dtype, const OptimizerSettings& settings) {
  lm::Parameters parameters = make_parameters(tied, 4);
  Weights weights(parameters, at::kCPU, dtype);
  Optimizer optimizer(weights, settings);
  Trained out;
  for (int step = 0; step < 3; ++step) {
    at::Tensor(weights.gradients()).copy_(gradient_of(weights, step));
    out.norm = optimizer.step(0.01);
  }
  out.model = at::empty({weights.count()});
  optimizer.copy_model(out.model);
  out.computed = weights.computed().clone();
  out.first = optimizer.first_moments().clone();
  out.second = optimizer.second_moments().clone();
  return out;
}

// Rank 0 has two micro-batches and the others have one, and rank 0 alone has the right weights.
Trained trained_as(Collectives& ranks, bool tied, at::ScalarType dtype,
                   const OptimizerSettings& settings) {
  const bool is_root = ranks.rank() == 0, is_last = ranks.rank() + 1 == ranks.size();
  const double share = is_root ? 0.25 : std::exp2(-ranks.rank() - (is_last ? 0 : 1));
  lm::Parameters parameters = make_parameters(tied, is_root ? 4 : 5);
  Sharding sharding{model_shards(parameters, settings.muon.has_value(), ranks.size()),
                    static_cast<std::size_t>(ranks.rank())};
  const std::int64_t mine = sharding.own().size();
  Weights weights(parameters, at::kCPU, dtype, std::move(sharding));
  EXPECT_EQ(weights.gradients().numel(), mine);
  EXPECT_EQ(weights.masters().numel(), dtype == at::kFloat ? weights.count() : mine);
  Optimizer optimizer(weights, settings, &ranks);
  optimizer.begin_alike();
  BucketSums sums(weights, &ranks);
  Trained out;
  for (int step = 0; step < 3; ++step) {
    const at::Tensor gradient = gradient_of(weights, step);
    weights.clear_gradients();
    backward(weights, sums, gradient, share);
    if (is_root)
      backward(weights, sums, gradient, share);
    else
      sums.none();
    out.norm = optimizer.step(0.01);
  }
  if (is_root) {
    out.model = at::empty({weights.count()});
    out.first = at::empty({weights.count()});
    out.second = at::empty({optimizer.second_count()});
    optimizer.copy_model(out.model);
    optimizer.copy_moments(out.first, out.second);
  } else {
    optimizer.give_state();
  }
  // What is computed with: matrices as they lie, and the vectors over their places.
  out.computed = weights.computed().clone();
  auto place = [&](const Weight& vector, std::span<const float> in_parameters) {
    if (!vector.value.defined()) return;
    const auto* block = reinterpret_cast<const float*>(parameters.embedding.data);
    out.computed.narrow(0, in_parameters.data() - block, vector.value.numel()).copy_(vector.value);
  };
  for (std::size_t i = 0; i < weights.layers.size(); ++i) {
    place(weights.layers[i].input_norm, parameters.layers[i].input_norm);
    place(weights.layers[i].qkv_bias, parameters.layers[i].qkv_bias);
    place(weights.layers[i].post_norm, parameters.layers[i].post_norm);
  }
  place(weights.final_norm, parameters.final_norm);
  return out;
}

double largest_gap(const at::Tensor& a, const at::Tensor& b) {
  return (a.to(at::kDouble) - b.to(at::kDouble)).abs().max().item<double>();
}

// AdamW's numbers are to the bit the same; products of Muon may be added up in another order.
TEST_F(OptimizerSteps, RanksWithShardsTrainAsOneRankDoes) {
  for (const bool tied : {false, true}) {
    for (const at::ScalarType dtype : {at::kFloat, at::kBFloat16}) {
      for (const bool muon : {false, true}) {
        OptimizerSettings settings = settings_with(MuonScale::kMatchRmsAdamW);
        settings.max_norm = 0;
        if (!muon) settings.muon.reset();
        const Trained want = trained_alone(tied, dtype, settings);
        for (const int size : {2, 4}) {
          SCOPED_TRACE(::testing::Message() << "tied " << tied << ", " << dtype << ", Muon " << muon
                                            << ", " << size << " ranks");
          std::vector<Trained> all(static_cast<std::size_t>(size));
          run_ranks(size, [&](Collectives& ranks) {
            LateRanks late(ranks);
            all[static_cast<std::size_t>(ranks.rank())] = trained_as(late, tied, dtype, settings);
          });
          EXPECT_LE(largest_gap(all[0].model, want.model), muon ? 1e-5 : 0);
          EXPECT_LE(largest_gap(all[0].first, want.first), muon ? 1e-6 : 0);
          EXPECT_LE(largest_gap(all[0].second, want.second), 0);
          EXPECT_NEAR(all[0].norm.item<double>(), want.norm.item<double>(), 1e-3);
          if (!muon) {
            EXPECT_EQ(largest_gap(all[0].computed, want.computed), 0);
          }
          for (const Trained& one : all) EXPECT_TRUE(one.computed.equal(all[0].computed));
        }
      }
    }
  }
}

// Vectors that were rounded like matrices would train too, and worse.
TEST_F(OptimizerSteps, VectorsOfRanksAreComputedWithInFloat32) {
  OptimizerSettings settings = settings_with(MuonScale::kOriginal);
  settings.muon.reset();
  run_ranks(3, [&](Collectives& ranks) {
    lm::Parameters parameters = make_parameters(true, 4);
    Weights weights(
        parameters, at::kCPU, at::kBFloat16,
        Sharding{model_shards(parameters, false, 3), static_cast<std::size_t>(ranks.rank())});
    Optimizer optimizer(weights, settings, &ranks);
    optimizer.begin_alike();
    weights.clear_gradients();
    BucketSums sums(weights, &ranks);
    backward(weights, sums, gradient_of(weights, 1), 1);
    optimizer.step(0.01);
    const at::Tensor norm = weights.final_norm.value;
    EXPECT_EQ(norm.scalar_type(), at::kFloat);
    EXPECT_GT(largest_gap(norm, at::ones_like(norm)), 1e-3);
    EXPECT_FALSE(norm.equal(norm.to(at::kBFloat16).to(at::kFloat)));
  });
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
