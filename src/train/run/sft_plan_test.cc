// Memory of a rank as computed beside the tensors that are made.
#include "train/run/sft_plan.h"

#include <gtest/gtest.h>

#include "train/optimizer/optimizer.h"
#include "train/testing/fake_ranks.h"

namespace kw::train {
namespace {

lm::ModelConfig shape(bool tied) {
  lm::ModelConfig out;
  out.family = lm::Family::kQwen2;
  out.vocabulary = 512;
  out.hidden = 128;
  out.layers = 4;
  out.heads = 2;
  out.kv_heads = 1;
  out.head_dim = 64;
  out.intermediate = 256;
  out.max_position = 64;
  out.initializer_range = 0.1;
  out.tied_embeddings = tied;
  out.qkv_bias = true;
  return out;
}

// Bytes of what one rank makes.
struct Made {
  double masters = 0, moments = 0, gradients = 0, computed = 0;
};

Made made(const lm::ModelConfig& config, at::ScalarType dtype, int rank, int size) {
  auto parameters = lm::Parameters::make(config, lm::WeightType::kFloat32).value();
  std::optional<Weights> weights;
  if (size == 1)
    weights.emplace(parameters, at::kCPU, dtype);
  else
    weights.emplace(
        parameters, at::kCPU, dtype,
        Sharding{model_shards(parameters, false, size), static_cast<std::size_t>(rank)});
  RankAlone ranks(rank, size);
  const Optimizer optimizer(*weights, {}, size == 1 ? nullptr : &ranks);
  auto bytes = [](const at::Tensor& of) { return static_cast<double>(of.nbytes()); };
  Made out{bytes(weights->masters()),
           bytes(optimizer.first_moments()) + bytes(optimizer.second_moments()),
           bytes(weights->gradients()), 0};
  if (dtype != at::kFloat) out.computed = bytes(weights->rounded_masters());
  if (weights->has_sharded_masters()) out.computed += bytes(weights->vectors());
  std::vector<const void*> counted;
  for (const Bucket& one : weights->buckets()) {
    const void* memory = one.gradient.const_data_ptr();
    if (std::ranges::find(counted, memory) != counted.end()) continue;
    counted.push_back(memory);
    out.gradients += bytes(one.gradient);
  }
  return out;
}

TEST(SftPlan, ARankHasWhatIsComputed) {
  for (const bool tied : {false, true})
    for (const at::ScalarType dtype : {at::kFloat, at::kBFloat16})
      for (const int size : {1, 2, 4}) {
        SCOPED_TRACE(::testing::Message() << "tied " << tied << ", " << dtype << ", " << size);
        const SftPlan plan = plan_of_rank(plan_sft(shape(tied), {}, dtype != at::kFloat, 32), size);
        for (int rank = 0; rank < size; ++rank) {
          const Made one = made(shape(tied), dtype, rank, size);
          // Shards have whole lines of 512 numbers; no tensor of this shape has padding.
          EXPECT_NEAR(static_cast<double>(plan.masters), one.masters, 4 * 512);
          EXPECT_NEAR(static_cast<double>(plan.moments), one.moments, 8 * 512);
          EXPECT_NEAR(static_cast<double>(plan.gradients), one.gradients, 4 * 512);
          EXPECT_EQ(static_cast<double>(plan.computed), one.computed);
        }
      }
}

// 3.1e9 parameters, as of Qwen2.5 3B: what one GPU of 48 GB does not hold, two do.
TEST(SftPlan, TwoRanksHoldAModelWhoseStateOneDoesNot) {
  lm::ModelConfig c = shape(true);
  c.vocabulary = 151936;
  c.hidden = 2048;
  c.layers = 36;
  c.heads = 16;
  c.kv_heads = 2;
  c.head_dim = 128;
  c.intermediate = 11008;
  const SftPlan whole = plan_sft(c, {}, true, 2048);
  auto state = [](const SftPlan& p) {
    return static_cast<double>(p.masters + p.moments + p.gradients + p.computed);
  };
  const auto n = static_cast<double>(whole.parameters);
  EXPECT_NEAR(state(whole) / n, 18, 0.01);
  const double beside = static_cast<double>(whole.buckets + whole.vectors);
  for (const int ranks : {2, 4, 8})
    EXPECT_NEAR(state(plan_of_rank(whole, ranks)), (2 + 16.0 / ranks) * n + beside, 1e6);
  EXPECT_LT(beside / n, 0.61);  // two layers are made by turns
}

TEST(SftPlan, AnAdapterIsWholeOnEveryRankButForItsMoments) {
  SftSettings settings;
  settings.lora.rank = 8;
  const SftPlan one = plan_sft(shape(true), settings, true, 32), two = plan_of_rank(one, 2);
  EXPECT_EQ(two.total(), one.total() - one.moments / 2);
  EXPECT_EQ(two.checkpoint, one.checkpoint);
}

}  // namespace
}  // namespace kw::train
