// Collectives over NCCL, and the optimizer over them, on as many ranks as the environment says (one
// without torchrun's variables). exit: 0 right, 1 wrong, 77 no GPU or no NCCL.
#include <array>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <optional>
#include <vector>

#include <ATen/ATen.h>

#include "lm/model/parameters.h"
#include "train/optimizer/bucket_sums.h"
#include "train/optimizer/optimizer.h"
#include "train/parallel/collectives.h"
#include "train/parallel/nccl_collectives.h"
#include "train/run/device.h"

namespace {

using namespace kw::train;  // NOLINT(google-build-using-namespace)

int wrong = 0;
void expect(bool right, const char* what) {
  if (!right) ++wrong;
  std::printf("%s %s\n", right ? "right" : "WRONG", what);
}

kw::lm::ModelConfig shape() {
  kw::lm::ModelConfig out;
  out.family = kw::lm::Family::kQwen2;
  out.vocabulary = 500;
  out.hidden = 128;
  out.layers = 3;
  out.heads = 2;
  out.kv_heads = 1;
  out.head_dim = 64;
  out.intermediate = 256;
  out.max_position = 64;
  out.initializer_range = 0.1;
  out.tied_embeddings = true;
  out.qkv_bias = true;
  return out;
}

void check_collectives(Collectives& ranks, at::Device device) {
  const int size = ranks.size(), rank = ranks.rank();
  const double all = size * (size + 1) / 2.0;
  for (const at::ScalarType type : {at::kFloat, at::kDouble}) {
    at::Tensor values = at::full({1000}, rank + 1, at::TensorOptions(type).device(device));
    ranks.all_reduce(values);
    expect(values.eq(all).all().item<bool>(), "all_reduce");
  }
  const std::vector<Shard> shards = make_shards(70'000, size, {{30'000, 50'000}});
  const Shard mine = shards[static_cast<std::size_t>(rank)];
  const at::Tensor numbers = at::arange(70'000, at::TensorOptions(at::kFloat).device(device));
  at::Tensor block = numbers * (rank + 1);
  ranks.reduce_scatter(block, shards);
  const auto part = [&](const at::Tensor& of) { return of.narrow(0, mine.begin, mine.size()); };
  expect(part(block).equal(part(numbers) * all), "reduce_scatter");
  block = at::zeros_like(numbers);
  part(block).copy_(part(numbers));
  ranks.all_gather(block, shards);
  expect(block.equal(numbers), "all_gather");
  at::Tensor narrow = block.mul(rank + 1).to(at::kBFloat16);
  part(narrow).copy_(part(numbers));
  ranks.all_gather(narrow, shards);
  expect(narrow.equal(numbers.to(at::kBFloat16)), "all_gather of bfloat16");
  at::Tensor sent = numbers + rank;
  ranks.broadcast(sent, size - 1);
  expect(sent.equal(numbers + (size - 1)), "broadcast");
}

// A backward pass: gradients are written into the buckets, which are added up over the ranks.
void backward(Weights& weights, Collectives& ranks, const at::Tensor& gradients) {
  weights.clear_gradients();
  BucketSums sums(weights, &ranks);
  auto fill = [&](std::size_t bucket) {
    const Bucket& into = weights.buckets()[bucket];
    for (const Weight& one : into.matrices) gradient_sum(one);
    at::Tensor gradient = into.gradient;
    gradient.copy_(gradients.narrow(0, into.range.begin, into.range.size()));
  };
  for (std::size_t layer = weights.layers.size(); layer > 0; --layer) {
    fill(layer);
    sums.layer_done(layer - 1);
  }
  fill(weights.layers.size() + 1);
  fill(0);
  sums.rest_done();
}

// Gradients that add up to the same on any number of ranks that is a power of two.
at::Tensor trained(Collectives* ranks, at::Device device, bool muon) {
  auto parameters = kw::lm::Parameters::make(shape(), kw::lm::WeightType::kFloat32).value();
  kw::lm::initialise(parameters, 4);
  std::optional<Weights> made;
  if (ranks == nullptr)
    made.emplace(parameters, device, at::kBFloat16);
  else
    made.emplace(parameters, device, at::kBFloat16,
                 Sharding{model_shards(parameters, muon, ranks->size()),
                          static_cast<std::size_t>(ranks->rank())});
  Weights& weights = *made;
  OptimizerSettings settings{{.weight_decay = 0.1}, 0.5};
  if (muon) settings.muon = MuonStep{};
  Optimizer optimizer(weights, settings, ranks);
  optimizer.begin_alike();
  const at::Tensor used = at::zeros({weights.count()}, weights.masters().options());
  for (const Weights::Entry& one : weights.entries())
    used.narrow(0, one.place.begin, one.place.size()).fill_(1);  // padding has no gradient
  for (int step = 0; step < 3; ++step) {
    const at::Tensor gradients =
        at::sin(at::arange(used.numel(), used.options()) * (0.1 + step)) * used;
    if (ranks == nullptr)
      at::Tensor(weights.gradients()).copy_(gradients);
    else
      backward(weights, *ranks, gradients / ranks->size());
    optimizer.step(0.01);
  }
  // All have what is computed with; rank 0 gets the masters, and shares them for the comparison.
  at::Tensor model = at::zeros({weights.count()}, at::kFloat);
  if (ranks == nullptr || ranks->is_root())
    optimizer.copy_model(model);
  else
    optimizer.give_state();
  if (ranks == nullptr) return model.to(device);
  if (ranks->is_root()) {
    at::Tensor first = at::empty_like(model), second = at::empty({optimizer.second_count()});
    optimizer.copy_moments(first, second);
  }
  model = model.to(device);
  ranks->broadcast(model, 0);
  for (const Weights::Entry& one : weights.entries()) {
    auto part = [&](const at::Tensor& of) {
      return of.narrow(0, one.place.begin, one.place.size());
    };
    if (one.is_matrix)
      expect(part(weights.rounded_masters()).equal(part(model).to(at::kBFloat16)),
             "rounded weights");
  }
  expect(weights.final_norm.value.equal(model.narrow(0, weights.entries().back().place.begin, 128)),
         "vectors in float32");
  return model;
}

void check_optimizer(Collectives& ranks, at::Device device) {
  for (const bool muon : {false, true}) {
    const at::Tensor alone = trained(nullptr, device, muon), shared = trained(&ranks, device, muon);
    const double apart = (alone - shared).abs().max().item<double>();
    std::printf("%s: largest difference to one rank %.1e\n", muon ? "Muon" : "AdamW", apart);
    expect(apart < (muon ? 2e-3 : 1e-6), "optimizer");
  }
}

void time_collectives(Collectives& ranks, at::Device device) {
  at::Tensor block = at::zeros({1 << 28}, at::TensorOptions(at::kFloat).device(device));
  const std::vector<Shard> shards = make_shards(block.numel(), ranks.size(), {});
  for (int round = 0; round < 2; ++round) {
    ranks.barrier(device);
    const auto begin = std::chrono::steady_clock::now();
    ranks.reduce_scatter(block, shards);
    ranks.all_gather(block, shards);
    ranks.barrier(device);
    const std::chrono::duration<double> took = std::chrono::steady_clock::now() - begin;
    std::printf("1 GiB reduced, scattered and gathered in %.2f ms\n", took.count() * 1000);
  }
}

kw::Result<int> run() {
  KW_TRY(const Launch launch, launch_of(process_variables()));
  KW_TRY(const std::string gpu, visible_gpu(launch, process_variables()("CUDA_VISIBLE_DEVICES")));
  setenv("CUDA_VISIBLE_DEVICES", gpu.c_str(), 1);
  if (!at::hasCUDA()) return 77;
  const at::Device device(at::kCUDA, 0);
  KW_TRY_STATUS(prepare_device(device, shape()));
  KW_TRY(const std::unique_ptr<Group> group, Group::join(launch, std::chrono::seconds(60)));
  return without_exceptions([&]() -> kw::Result<int> {
    KW_TRY(const std::unique_ptr<Collectives> ranks, make_nccl(*group, device));
    check_collectives(*ranks, device);
    check_optimizer(*ranks, device);
    time_collectives(*ranks, device);
    return wrong == 0 ? 0 : 1;
  });
}

}  // namespace

int main() {
  const kw::Result<int> code = run();
  if (code) return *code;
  std::fprintf(stderr, "error: %s\n", code.error().message().c_str());
  return code.error().code() == kw::ErrorCode::kUnsupported ? 77 : 1;
}
