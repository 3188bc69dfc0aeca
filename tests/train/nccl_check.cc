// Collectives over NCCL, and the optimizer over them, on as many ranks as the environment says (one
// without torchrun's variables). exit: 0 right, 1 wrong, 77 no GPU or no NCCL.
#include <array>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <vector>

#include <ATen/ATen.h>

#include "lm/model/parameters.h"
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
  at::Tensor sent = numbers + rank;
  ranks.broadcast(sent, size - 1);
  expect(sent.equal(numbers + (size - 1)), "broadcast");
}

// Gradients that add up to the same on any number of ranks that is a power of two.
at::Tensor trained(Collectives* ranks, at::Device device, bool muon) {
  auto parameters = kw::lm::Parameters::make(shape(), kw::lm::WeightType::kFloat32).value();
  kw::lm::initialise(parameters, 4);
  Weights weights(parameters, device, at::kBFloat16);
  OptimizerSettings settings{{.weight_decay = 0.1}, 0.5};
  if (muon) settings.muon = MuonStep{};
  Optimizer optimizer(weights, settings, ranks);
  for (int step = 0; step < 3; ++step) {
    at::Tensor gradients = weights.gradients();
    gradients.copy_(at::sin(at::arange(gradients.numel(), gradients.options()) * (0.1 + step)));
    gradients.mul_(weights.masters().ne(0));  // padding has none
    if (ranks != nullptr) gradients.div_(ranks->size());
    optimizer.step(0.01);
  }
  expect(weights.rounded_masters().equal(weights.masters().to(at::kBFloat16)), "rounded weights");
  return weights.masters().clone();
}

void check_optimizer(Collectives& ranks, at::Device device) {
  for (const bool muon : {false, true}) {
    const at::Tensor alone = trained(nullptr, device, muon), shared = trained(&ranks, device, muon);
    const double apart = (alone - shared).abs().max().item<double>();
    std::printf("%s: largest difference to one rank %.1e\n", muon ? "Muon" : "AdamW", apart);
    expect(apart < (muon ? 2e-3 : 1e-6), "optimizer");
    at::Tensor of_root = shared.clone();
    ranks.broadcast(of_root, 0);
    expect(of_root.equal(shared), "equal to the bit on all ranks");
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
