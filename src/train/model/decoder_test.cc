// The decoder against the engine on the CPU, and what training must not depend on: packing,
// micro-batches, recomputation.
#include "train/model/decoder.h"

#include <algorithm>
#include <numeric>
#include <optional>
#include <vector>

#include <ATen/ATen.h>
#include <ATen/core/grad_mode.h>
#include <gtest/gtest.h>

#include "lm/cpu/cpu_engine.h"
#include "train/model/lm_head.h"
#include "train/optimizer/optimizer.h"

namespace kw::train {
namespace {

lm::ModelConfig tiny(lm::Family family) {
  lm::ModelConfig c;
  c.family = family;
  c.vocabulary = 97;
  c.hidden = 64;
  c.layers = 3;
  c.heads = 4;
  c.kv_heads = 2;
  c.head_dim = 16;
  c.intermediate = 96;
  c.max_position = 256;
  c.initializer_range = 0.1;
  c.tied_embeddings = family != lm::Family::kLlama;
  c.qkv_bias = family == lm::Family::kQwen2;
  c.qk_norm = family == lm::Family::kQwen3;
  if (family == lm::Family::kLlama)
    c.rope = {.kind = lm::RopeScaling::Kind::kLlama3, .factor = 8, .original_max_position = 32};
  return c;
}

// New weights, with biases and norms that are not 0 and 1.
lm::Parameters make_parameters(lm::Family family) {
  auto made = lm::Parameters::make(tiny(family), lm::WeightType::kFloat32);
  EXPECT_TRUE(made);
  lm::initialise(*made, 5);
  for (const lm::NamedParameter& one : made->named())
    for (std::size_t i = 0; i < one.vector.size(); ++i)
      one.vector[i] += 0.1F * static_cast<float>(static_cast<int>(i * 7 % 11) - 5);
  return std::move(*made);
}

std::vector<std::int32_t> tokens_of(std::size_t count, std::size_t seed) {
  std::vector<std::int32_t> out;
  for (std::size_t i = 0; i < count; ++i)
    out.push_back(static_cast<std::int32_t>((i * i * 31 + i * 7 + seed * 13) % 97));
  return out;
}

const std::vector<std::size_t> kPromptLengths = {40, 1, 17, 90};

// Targets are made up: any token serves.
Batch batch_of(const std::vector<std::size_t>& which) {
  std::vector<std::int32_t> tokens, targets;
  std::vector<std::int64_t> lengths;
  for (std::size_t i : which) {
    const auto part = tokens_of(kPromptLengths[i], i);
    tokens.insert(tokens.end(), part.begin(), part.end());
    for (std::int32_t token : part) targets.push_back((token * 5 + 1) % 97);
    lengths.push_back(static_cast<std::int64_t>(part.size()));
  }
  return make_batch(tokens, targets, lengths, at::kCPU);
}

std::vector<float> engine_logprobs(const lm::Parameters& parameters, const Batch& batch,
                                   std::size_t sequence) {
  const std::int64_t begin = batch.bounds[sequence];
  const std::int64_t count = batch.bounds[sequence + 1] - begin;
  auto engine = lm::cpu::make_cpu_engine(parameters, {.limits = {1, count, count}});
  EXPECT_TRUE(engine);
  lm::Step step;
  for (std::int64_t i = 0; i < count; ++i) {
    step.add(batch.tokens[begin + i].item<std::int32_t>(), static_cast<std::int32_t>(i), 0);
    lm::SampleRequest request;
    request.row = static_cast<std::int32_t>(i);
    request.forced = batch.targets[begin + i].item<std::int32_t>();
    step.samples.push_back(request);
  }
  std::vector<lm::Sample> samples(step.samples.size());
  (*engine)->run(step, samples);
  std::vector<float> out;
  for (const lm::Sample& one : samples) out.push_back(one.logprob);
  return out;
}

TEST(Decoder, LogprobsAreTheEngines) {
  for (auto family : {lm::Family::kQwen2, lm::Family::kQwen3, lm::Family::kLlama}) {
    SCOPED_TRACE(lm::to_string(family));
    lm::Parameters parameters = make_parameters(family);
    const Batch batch = batch_of({0, 1, 2, 3});
    Weights weights(parameters, at::kCPU, at::kFloat);
    const Decoder decoder(weights, {.context = 128});
    const at::Tensor got =
        head_logprobs(decoder.hidden(batch), weights.head.value, batch.targets, {}).logprobs;
    for (std::size_t s = 0; s < kPromptLengths.size(); ++s) {
      const std::vector<float> want = engine_logprobs(parameters, batch, s);
      const at::Tensor part = got.narrow(0, batch.bounds[s], std::ssize(want));
      EXPECT_LT((part - at::tensor(want)).abs().max().item<double>(), 1e-5) << "sequence " << s;
    }
  }
}

// Adds the gradient of the mean loss over all 148 tokens for the sequences of one micro-batch.
void accumulate(Weights& weights, const Decoder& decoder, const std::vector<std::size_t>& which) {
  const Batch batch = batch_of(which);
  Tape tape = decoder.forward(batch);
  const HeadGradients head =
      head_gradients(tape.last.normed, weights.head.value, batch.targets, weights.head.gradient,
                     [](std::int64_t, const at::Tensor& logprobs) -> HeadSlopes {
                       return {at::full_like(logprobs, -1.0 / 148), {}};
                     },
                     {.chunk_tokens = 64});
  decoder.backward(batch, tape, head.hidden);
}

at::Tensor gradient_of(lm::Family family, const std::vector<std::vector<std::size_t>>& batches,
                       std::int64_t recompute_layers = 0) {
  lm::Parameters parameters = make_parameters(family);
  Weights weights(parameters, at::kCPU, at::kFloat);
  const Decoder decoder(weights, {.context = 128, .recompute_layers = recompute_layers});
  for (const auto& which : batches) accumulate(weights, decoder, which);
  return weights.gradients().clone();
}

double relative(const at::Tensor& got, const at::Tensor& want) {
  return ((got - want).norm() / want.norm()).item<double>();
}

TEST(Decoder, GradientsDoNotDependOnPacking) {
  for (auto family : {lm::Family::kQwen2, lm::Family::kQwen3, lm::Family::kLlama}) {
    const at::Tensor want = gradient_of(family, {{0, 1, 2, 3}});
    EXPECT_LT(relative(gradient_of(family, {{3}, {1}, {2}, {0}}), want), 1e-6);
    EXPECT_LT(relative(gradient_of(family, {{2, 0}, {1, 3}}), want), 1e-6);
    for (std::int64_t layers : {1, 100})
      EXPECT_TRUE(gradient_of(family, {{0, 1, 2, 3}}, layers).equal(want)) << "recompute";
  }
}

// The directional derivative of the loss, by finite differences along the gradient.
TEST(Decoder, GradientsAreDerivatives) {
  for (auto family : {lm::Family::kQwen2, lm::Family::kQwen3, lm::Family::kLlama}) {
    SCOPED_TRACE(lm::to_string(family));
    lm::Parameters parameters = make_parameters(family);
    Weights weights(parameters, at::kCPU, at::kFloat);
    const Decoder decoder(weights, {.context = 128});
    accumulate(weights, decoder, {0, 1, 2, 3});
    const Batch batch = batch_of({0, 1, 2, 3});
    auto loss = [&] {
      return -head_logprobs(decoder.hidden(batch), weights.head.value, batch.targets, {})
                  .logprobs.to(at::kDouble)
                  .mean()
                  .item<double>();
    };
    for (const Weights::Entry& entry : weights.entries()) {
      const at::NoGradGuard no_grad;
      const double norm = entry.gradient.norm().item<double>();
      ASSERT_GT(norm, 1e-4) << entry.name;
      const at::Tensor saved = entry.master.clone();
      const double length = 2e-3 / norm;
      at::Tensor master = entry.master;
      master.copy_(saved + length * entry.gradient);
      const double above = loss();
      master.copy_(saved - length * entry.gradient);
      const double below = loss();
      master.copy_(saved);
      const double step = 2 * length * norm * norm;
      EXPECT_NEAR((above - below) / step, 1, 0.03) << entry.name;
    }
  }
}

// On the CPU the engine's weights are the masters: a step changes what the engine answers.
lm::LoraAdapter adapter_for(const lm::Parameters& parameters) {
  auto out = lm::new_lora(parameters, {.rank = 3, .alpha = 5, .targets = lm::lora_targets()}, 1);
  EXPECT_TRUE(out);
  for (lm::LoraMatrices& one : out->matrices)  // B begins as zeros, which would hide A's gradient
    for (std::size_t i = 0; i < one.b.size(); ++i)
      one.b[i] = 0.02F * static_cast<float>(static_cast<int>(i * 5 % 13) - 6);
  return std::move(*out);
}

// W + s B A has dA = s B^T dW and dB = s dW A^T, with dW of a model whose weights are the sums.
TEST(Lora, GradientsAreThoseOfTheSumThroughTheProduct) {
  for (auto family : {lm::Family::kQwen2, lm::Family::kQwen3, lm::Family::kLlama}) {
    SCOPED_TRACE(lm::to_string(family));
    lm::Parameters parameters = make_parameters(family), summed = make_parameters(family);
    const lm::LoraAdapter adapter = adapter_for(parameters);
    ASSERT_EQ(adapter.matrices.size(), 21U);
    merge_lora(summed, adapter);
    Weights all(summed, at::kCPU, at::kFloat), narrow(parameters, at::kCPU, at::kFloat, adapter);
    for (Weights* weights : {&all, &narrow})
      accumulate(*weights, Decoder(*weights, {.context = 128}), {0, 1, 2, 3});
    at::Tensor model = at::empty_like(all.masters());
    narrow.copy_model(model);
    EXPECT_LT(relative(model, all.masters()), 1e-7);
    EXPECT_LT(relative(narrow.computed(), all.masters()), 1e-7);

    const auto named = summed.named();
    const auto* block = reinterpret_cast<const float*>(summed.embedding.data);
    std::size_t entry = 0;
    for (const lm::LoraMatrices& one : adapter.matrices) {
      SCOPED_TRACE(one.projection);
      const auto found =
          std::ranges::find(named, one.projection + ".weight", &lm::NamedParameter::name);
      ASSERT_NE(found, named.end());
      const auto first = reinterpret_cast<const float*>(found->matrix.data) - block;
      const at::Tensor by_sum =
          all.gradients().narrow(0, first, one.rows * one.columns).view({one.rows, one.columns});
      const Weights::Entry& a = narrow.entries()[entry++];
      const Weights::Entry& b = narrow.entries()[entry++];
      EXPECT_EQ(a.name, one.projection + ".A");
      EXPECT_LT(relative(a.gradient, b.master.t().mm(by_sum) * (5.0 / 3)), 1e-5);
      EXPECT_LT(relative(b.gradient, by_sum.mm(a.master.t()) * (5.0 / 3)), 1e-5);
    }
    EXPECT_EQ(entry, narrow.entries().size());
  }
}

TEST(Lora, AStepMovesTheAdapterAloneAndTheEngineSeesIt) {
  lm::Parameters parameters = make_parameters(lm::Family::kQwen3);
  const lm::Parameters before = make_parameters(lm::Family::kQwen3);
  Weights weights(parameters, at::kCPU, at::kFloat, adapter_for(parameters));
  const Decoder decoder(weights, {.context = 128});
  Optimizer optimizer(weights, {});
  accumulate(weights, decoder, {0, 1});
  optimizer.step(1e-2);
  const Batch batch = batch_of({0, 1});
  const at::Tensor ours =
      head_logprobs(decoder.hidden(batch), weights.head.value, batch.targets, {}).logprobs;
  const std::vector<float> engine = engine_logprobs(parameters, batch, 0);
  for (std::size_t i = 0; i < engine.size(); ++i)
    EXPECT_NEAR(engine[i], ours[static_cast<std::int64_t>(i)].item<float>(), 1e-4);
  // The adapter as it is now, merged into the weights of the start, gives what is computed with.
  lm::Parameters merged = make_parameters(lm::Family::kQwen3);
  merge_lora(merged, *weights.adapter());
  const auto was = before.named(), is = parameters.named(), want = merged.named();
  for (std::size_t i = 0; i < is.size(); ++i) {
    SCOPED_TRACE(is[i].name);
    if (!is[i].is_matrix()) {
      EXPECT_TRUE(std::ranges::equal(is[i].vector, was[i].vector));
      continue;
    }
    const auto count = static_cast<std::size_t>(is[i].matrix.rows * is[i].matrix.columns);
    auto values = [&](const lm::NamedParameter& one) {
      return std::span(reinterpret_cast<const float*>(one.matrix.data), count);
    };
    EXPECT_EQ(std::ranges::equal(values(is[i]), values(was[i])),
              is[i].name.find("_proj") == std::string::npos);
    for (std::size_t k = 0; k < count; ++k) ASSERT_NEAR(values(is[i])[k], values(want[i])[k], 1e-6);
  }
}

TEST(Decoder, TheEngineSeesAStepAtOnce) {
  lm::Parameters parameters = make_parameters(lm::Family::kQwen3);
  Weights weights(parameters, at::kCPU, at::kFloat);
  const Decoder decoder(weights, {.context = 128});
  Optimizer optimizer(weights, {});
  const Batch batch = batch_of({2});
  auto mean_of = [&] {
    const std::vector<float> all = engine_logprobs(parameters, batch, 0);
    return std::accumulate(all.begin(), all.end(), 0.0) / static_cast<double>(all.size());
  };
  const double before = mean_of();
  for (int i = 0; i < 3; ++i) {
    weights.clear_gradients();
    accumulate(weights, decoder, {2});
    optimizer.step(5e-3);
  }
  EXPECT_GT(mean_of(), before + 0.1);
}

TEST(Weights, AnAverageFollowsTheModelThatIsTrained) {
  for (const bool adapter : {false, true}) {
    lm::Parameters parameters = make_parameters(lm::Family::kQwen3);
    lm::Parameters start = make_parameters(lm::Family::kQwen3);
    std::optional<Weights> trained;
    if (adapter) {
      trained.emplace(parameters, at::kCPU, at::kFloat, adapter_for(parameters));
    } else {
      trained.emplace(parameters, at::kCPU, at::kFloat);
    }
    Weights average(start, at::kCPU, at::kBFloat16, /*trains=*/false);
    const at::Tensor before = average.masters().to(at::kDouble);
    at::Tensor(trained->masters()).add_(0.25);
    trained->publish();
    at::Tensor model = at::empty_like(average.masters());
    trained->copy_model(model);
    average.follow(*trained, 0.3);
    EXPECT_LT(relative(average.masters(), 0.7 * before + 0.3 * model), 1e-6);
    EXPECT_GT(relative(average.masters(), before), 1e-3);
    EXPECT_TRUE(average.computed().equal(average.masters().to(at::kBFloat16)));
  }
}

}  // namespace
}  // namespace kw::train
