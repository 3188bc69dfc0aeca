// kw_train_kernels: the trainer's kernels on GPU 0 against the CPU's operators in float64, on
// random inputs. Prints a line a tensor: name, relative error, limit. exit: 0 all within, 1 some
// not, 2 an error.
#include <cmath>
#include <functional>
#include <string>
#include <utility>
#include <vector>

#include <ATen/ATen.h>
#include <fmt/format.h>

#include "lm/model/parameters.h"
#include "lm/sampling/sampling.h"
#include "train/cuda/attention.h"
#include "train/cuda/fused.h"
#include "train/cuda/matmul.h"
#include "train/cuda/transfer.h"
#include "train/model/attention.h"
#include "train/model/batch.h"
#include "train/model/decoder.h"
#include "train/model/lm_head.h"
#include "train/model/matmul.h"
#include "train/model/operators.h"
#include "train/optimizer/optimizer.h"

namespace kw::train {
namespace {

// Float32; results rounded to bfloat16; sums of a matmul in float32.
constexpr double kWide = 2e-6, kNarrow = 4e-3, kSums = 1e-5;

bool all_within = true;

void compare(const std::string& name, const at::Tensor& got, const at::Tensor& want, double limit) {
  const at::Tensor reference = want.to(at::kCPU, at::kDouble);
  const double error =
      ((got.to(at::kCPU, at::kDouble) - reference).norm() / reference.norm()).item<double>();
  const bool within = error <= limit;  // false for NaN
  all_within = all_within && within;
  fmt::print("{:<44} {:.2e} of {:.0e}{}\n", name, error, limit, within ? "" : "  WRONG");
}

// The same numbers for both: float64 on the CPU, and what the GPU takes.
struct Both {
  at::Tensor cpu, gpu;
};
Both wide(at::IntArrayRef sizes) {
  const at::Tensor x = at::randn(sizes, at::kFloat);
  return {x.to(at::kDouble), x.to(at::kCUDA)};
}
Both narrow(at::IntArrayRef sizes) {
  const at::Tensor x = at::randn(sizes, at::kFloat).to(at::kBFloat16);
  return {x.to(at::kDouble), x.to(at::kCUDA)};
}
struct BothWeights {
  Weight cpu, gpu;
};
BothWeights weights_of(at::IntArrayRef sizes) {
  const Both x = wide(sizes);
  return {{x.cpu, at::zeros_like(x.cpu)}, {x.gpu, at::zeros_like(x.gpu)}};
}

void check_norm(std::int64_t width) {
  const std::string name = fmt::format("norm of {}: ", width);
  const Both x = wide({1500, width}), delta = wide({1500, width}), bias = wide({width});
  const Both by_normed = narrow({1500, width}), by_sum = wide({1500, width});
  const BothWeights scale = weights_of({width});
  const Normed want = add_norm({x.cpu, delta.cpu, bias.cpu}, scale.cpu.value, 1e-5, at::kDouble);
  const Normed got = add_norm({x.gpu, delta.gpu, bias.gpu}, scale.gpu.value, 1e-5, at::kBFloat16);
  compare(name + "sum", got.sum, want.sum, kWide);
  compare(name + "normed", got.normed, want.normed, kNarrow);
  compare(name + "inverse", got.inverse, want.inverse, kWide);
  const NormSlopes back = add_norm_backward(want, scale.cpu, by_normed.cpu, by_sum.cpu);
  const NormSlopes slopes = add_norm_backward(got, scale.gpu, by_normed.gpu, by_sum.gpu.clone());
  compare(name + "by sum", slopes.wide, back.wide, kWide);
  compare(name + "by sum, rounded", slopes.narrow, back.narrow, kNarrow);
  compare(name + "normed again", slopes.normed, back.normed, kNarrow);
  compare(name + "by scale", scale.gpu.gradient, scale.cpu.gradient, 1e-5);
  const NormSlopes alone = add_norm_backward(got, scale.gpu, by_normed.gpu, {});
  compare(name + "without by_sum", alone.wide,
          add_norm_backward(want, scale.cpu, by_normed.cpu, {}).wide, kWide);
}

void check_heads(std::int64_t d, bool norms) {
  const std::string name = fmt::format("heads of {}{}: ", d, norms ? ", normed" : "");
  const HeadsShape shape{6, 2, d, 1e-5};
  const std::int64_t tokens = 333, all = 10;
  HeadsWeights cpu, gpu;
  const BothWeights bias = weights_of({all * d}), q = weights_of({d}), k = weights_of({d});
  cpu.bias = bias.cpu, gpu.bias = bias.gpu;
  if (norms) cpu.q_norm = q.cpu, gpu.q_norm = q.gpu, cpu.k_norm = k.cpu, gpu.k_norm = k.gpu;
  const Both angles = wide({64, d / 2});
  const at::Tensor positions = at::arange(tokens, at::kLong).remainder(64);
  const Rotation turn{angles.cpu.cos(), angles.cpu.sin(), positions};
  const Rotation turn_gpu{angles.gpu.cos(), angles.gpu.sin(), positions.to(at::kCUDA)};
  const Both qkv = wide({tokens, all * d});
  compare(name + "forward", heads_forward(shape, gpu, turn_gpu, qkv.gpu, at::kBFloat16),
          heads_forward(shape, cpu, turn, qkv.cpu, at::kDouble), kNarrow);
  const Both by_q = narrow({tokens, 6, d}), by_k = narrow({tokens, 2, d}),
             by_v = narrow({tokens, 2, d});
  compare(name + "backward",
          heads_backward(shape, gpu, turn_gpu, qkv.gpu, {by_q.gpu, by_k.gpu, by_v.gpu}),
          heads_backward(shape, cpu, turn, qkv.cpu, {by_q.cpu, by_k.cpu, by_v.cpu}), kNarrow);
  compare(name + "by bias", bias.gpu.gradient, bias.cpu.gradient, 1e-5);
  const Both more = narrow({2, 2, tokens, 2, d});  // parts of those of k and v
  auto parts = [&more](const at::Tensor& x, int i) {
    return at::stack({x, more.gpu[i][0], more.gpu[i][1]});
  };
  BothWeights other = weights_of({all * d});
  HeadsWeights cpu_again = cpu, gpu_again = gpu;
  cpu_again.bias.gradient = other.cpu.gradient, gpu_again.bias.gradient = other.gpu.gradient;
  if (norms)
    for (HeadsWeights* one : {&cpu_again, &gpu_again}) {
      one->q_norm.gradient = at::zeros_like(one->q_norm.gradient);
      one->k_norm.gradient = at::zeros_like(one->k_norm.gradient);
    }
  compare(name + "backward, in parts",
          heads_backward(shape, gpu_again, turn_gpu, qkv.gpu,
                         {by_q.gpu, parts(by_k.gpu, 0), parts(by_v.gpu, 1)}),
          heads_backward(shape, cpu_again, turn, qkv.cpu,
                         {by_q.cpu, by_k.cpu + more.cpu[0].sum(0), by_v.cpu + more.cpu[1].sum(0)}),
          kNarrow);
  if (!norms) return;
  compare(name + "by q_norm", q.gpu.gradient, q.cpu.gradient, 1e-5);
  compare(name + "by k_norm", k.gpu.gradient, k.cpu.gradient, 1e-5);
}

// Packed sequences, one of a single token and one of whole tiles.
void check_attention(std::int64_t d, std::int64_t heads, std::int64_t kv_heads) {
  const std::string name = fmt::format("attention of {} by {} heads of {}: ", heads, kv_heads, d);
  const HeadsShape shape{heads, kv_heads, d, 1e-5};
  const std::vector<std::int64_t> lengths{300, 1, 256, 129, 700, 64};
  std::int64_t tokens = 0;
  for (std::int64_t length : lengths) tokens += length;
  const std::vector<std::int32_t> none(static_cast<std::size_t>(tokens), 0);
  const Batch cpu = make_batch(none, none, lengths, at::kCPU);
  const Batch gpu = make_batch(none, none, lengths, at::Device(at::kCUDA, 0));
  const Both x = narrow({tokens, heads + 2 * kv_heads, d}), by_out = narrow({tokens, heads, d});
  AttentionTape want_tape, got_tape;
  compare(name + "forward", attention(x.gpu, shape, gpu, &got_tape),
          attention(x.cpu, shape, cpu, &want_tape), kNarrow);
  const HeadSlopesByPart want = attention_backward(want_tape, by_out.cpu, shape, cpu);
  AttentionTape again_tape = got_tape;
  const HeadSlopesByPart got = attention_backward(got_tape, by_out.gpu, shape, gpu);
  compare(name + "by q", got.q, want.q, 2 * kNarrow);
  auto summed = [](const at::Tensor& parts) { return parts.dim() == 4 ? parts.sum(0) : parts; };
  compare(name + "by k", summed(got.k), want.k, 2 * kNarrow);
  compare(name + "by v", summed(got.v), want.v, 2 * kNarrow);
  const HeadSlopesByPart again = attention_backward(again_tape, by_out.gpu, shape, gpu);
  if (cuda::has_attention(d))
    for (const auto& [one, other] :
         {std::pair(got.q, again.q), std::pair(got.k, again.k), std::pair(got.v, again.v)})
      compare(name + "the same bits again", one, other, 0);
}

void check_silu() {
  for (bool biased : {false, true}) {
    const std::string name = biased ? "silu with bias: " : "silu: ";
    const Both inner = narrow({77, 2 * 200}), by_out = narrow({77, 200});
    const Both bias = biased ? wide({400}) : Both();
    compare(name + "forward", silu_multiply(inner.gpu, bias.gpu),
            silu_multiply(inner.cpu, bias.cpu), kNarrow);
    const SiluSlopes want = silu_multiply_backward(inner.cpu, bias.cpu, by_out.cpu);
    const SiluSlopes got = silu_multiply_backward(inner.gpu.clone(), bias.gpu, by_out.gpu.clone());
    compare(name + "by inner", got.inner, want.inner, kNarrow);
    compare(name + "forward again", got.out, want.out, kNarrow);
  }
}

// Numbers of tokens that share their ways, ragged ones, and rows with gaps between them.
void check_matmul(std::int64_t n, std::int64_t k) {
  for (const std::int64_t tokens : {3001, 2970, 50}) {
    const std::string name = fmt::format("matmul of {} tokens, {} by {}: ", tokens, n, k);
    const Both x = narrow({tokens, k}), w = narrow({n, k}), by_y = narrow({tokens, n});
    const at::Tensor want = at::mm(x.cpu, w.cpu.t()), got = matmul_transposed(x.gpu, w.gpu);
    compare(name + "wide", got, want, kSums);
    compare(name + "narrow", matmul_transposed(x.gpu, w.gpu, true), want, kNarrow);
    compare(name + "the same bits again", matmul_transposed(x.gpu, w.gpu), got, 0);
    const at::Tensor gaps = at::empty({tokens, n + 64}, got.options());
    matmul_transposed_into(gaps.narrow(1, 0, n), x.gpu, w.gpu);
    compare(name + "into rows with gaps", gaps.narrow(1, 0, n), want, kSums);
    compare(name + "by x", matmul_narrow(by_y.gpu, w.gpu), at::mm(by_y.cpu, w.cpu), kNarrow);
    const at::Tensor apart = at::zeros({tokens, n + 64}, by_y.gpu.options());
    apart.narrow(1, 0, n).copy_(by_y.gpu);
    compare(name + "by x, from rows with gaps", matmul_narrow(apart.narrow(1, 0, n), w.gpu),
            at::mm(by_y.cpu, w.cpu), kNarrow);
    const Both sum = wide({n, k});
    add_outer_product(sum.gpu, by_y.gpu, x.gpu);
    compare(name + "added by w", sum.gpu, sum.cpu + at::mm(by_y.cpu.t(), x.cpu), kSums);
  }
}

// More than the ring of page-locked memory holds, sizes that leave gaps, and numbers that are read
// after others were put on the GPU.
void check_transfers() {
  for (int i = 0; i < 12; ++i) {
    const at::Tensor x = at::randn({1'300'003 + 7 * i}, at::kFloat);
    const at::Tensor there = cuda::upload(x);
    compare("upload", there, x, 0);
  }
  std::vector<at::Tensor> sent, there;
  for (int i = 0; i < 300; ++i) {
    at::Tensor x = at::randn({50'001}, at::kFloat);
    there.push_back(cuda::upload(x));
    sent.push_back(x.clone());
    x.zero_();
  }
  compare("uploads without waiting", at::cat(there), at::cat(sent), 0);
  std::vector<at::Tensor> numbers;
  std::vector<cuda::DeferredNumbers> deferred;
  for (int i = 0; i < 7; ++i) {
    numbers.push_back(at::randn({5}, at::kDouble));
    deferred.emplace_back(numbers.back().to(at::kCUDA));
  }
  for (std::size_t i = 0; i < numbers.size(); ++i)
    compare("deferred numbers", at::tensor(deferred[i].wait(), at::kDouble), numbers[i], 0);
}

// kept: the likeliest tokens of each row that truncated sampling has left; 0: all.
void check_head(std::int64_t vocabulary, bool entropies, std::int64_t kept) {
  const std::string name = fmt::format(
      "head of {}{}{}: ", vocabulary, entropies ? " with entropies" : "", kept ? " truncated" : "");
  const std::int64_t tokens = 150, width = 64;
  const Both hidden = narrow({tokens, width}), weight = narrow({vocabulary, width});
  const at::Tensor targets = at::randint(vocabulary, {tokens}, at::kLong);
  const Both by_logprobs = wide({tokens}), by_entropies = wide({tokens});
  by_logprobs.cpu.narrow(0, 40, 3).zero_();  // tokens that add nothing
  by_entropies.cpu.narrow(0, 40, 3).zero_();
  const HeadSettings settings{.chunk_tokens = 64, .temperature = 4, .entropy = true};
  Truncation truncation;
  if (kept > 0) {
    const at::Tensor logprobs = at::log_softmax(hidden.cpu.matmul(weight.cpu.t()) / 4, 1);
    truncation.cutoffs = std::get<0>(logprobs.topk(kept, 1)).select(1, kept - 1).to(at::kFloat);
    truncation.cutoffs.narrow(0, 7, 5).fill_(lm::kNoCutoff);
  }
  auto on = [&truncation](at::Device device) {
    Truncation out = truncation;
    if (out.cutoffs.defined()) out.cutoffs = out.cutoffs.contiguous().to(device);
    return out;
  };
  auto run = [&](const at::Tensor& h, const at::Tensor& w, const at::Tensor& gradient) {
    const at::Device device = h.device();
    const at::ScalarType dtype = gradient.scalar_type();
    return head_gradients(
        h, w, targets.to(device), gradient,
        [&](std::int64_t begin, const at::Tensor& logprobs) {
          auto part = [&](const at::Tensor& x) {
            return x.narrow(0, begin, logprobs.size(0)).to(device, dtype);
          };
          return HeadSlopes{part(by_logprobs.cpu),
                            entropies ? part(by_entropies.cpu) : at::Tensor()};
        },
        settings, on(device));
  };
  const at::Tensor want_weight = at::zeros({vocabulary, width}, at::kDouble);
  const at::Tensor got_weight =
      at::zeros({vocabulary, width}, at::TensorOptions(at::kFloat).device(at::kCUDA));
  const HeadGradients want = run(hidden.cpu, weight.cpu, want_weight);
  const HeadGradients got = run(hidden.gpu, weight.gpu, got_weight);
  compare(name + "logprobs", got.forward.logprobs, want.forward.logprobs, 1e-5);
  compare(name + "entropies", got.forward.entropies, want.forward.entropies, 1e-5);
  compare(name + "by hidden", got.hidden, want.hidden, kNarrow);
  compare(name + "by weight", got_weight, want_weight, kNarrow);
  const HeadLogprobs alone = head_logprobs(hidden.gpu, weight.gpu, targets.to(at::kCUDA), settings,
                                           on(at::Device(at::kCUDA, 0)));
  compare(name + "logprobs alone", alone.logprobs, want.forward.logprobs, 1e-5);
}

// Vocabularies for one block a row, for clusters of all sizes, and one that is too large for them.
void check_head_loss(std::int64_t vocabulary) {
  const std::string name = fmt::format("loss of {} tokens: ", vocabulary);
  const std::int64_t tokens = 100, width = 64;
  const Both hidden = narrow({tokens, width}), weight = narrow({vocabulary, width});
  const at::Tensor targets = at::randint(vocabulary, {tokens}, at::kLong);
  targets[0] = vocabulary - 1;
  targets[1] = 0;
  const Both by_logprobs = wide({tokens});
  by_logprobs.cpu.narrow(0, 40, 3).zero_();  // tokens that add nothing
  by_logprobs.gpu.narrow(0, 40, 3).zero_();
  const HeadSettings settings{.chunk_tokens = 64, .temperature = 4};
  const Both sums = wide({vocabulary, width});
  const Weight cpu{weight.cpu, sums.cpu}, gpu{weight.gpu, sums.gpu};
  const HeadGradients want =
      head_loss_gradients(hidden.cpu, cpu, targets, by_logprobs.cpu, settings);
  const HeadGradients got =
      head_loss_gradients(hidden.gpu, gpu, targets.to(at::kCUDA), by_logprobs.gpu, settings);
  compare(name + "logprobs", got.forward.logprobs, want.forward.logprobs, 1e-6);
  compare(name + "by hidden", got.hidden, want.hidden, kNarrow);
  compare(name + "by weight", sums.gpu, sums.cpu, kNarrow);
}

lm::ModelConfig model_config() {
  lm::ModelConfig c;
  c.family = lm::Family::kQwen3;
  c.vocabulary = 1003;
  c.hidden = 256;
  c.layers = 3;
  c.heads = 4;
  c.kv_heads = 2;
  c.head_dim = 64;
  c.intermediate = 512;
  c.max_position = 512;
  c.initializer_range = 0.05;
  c.qk_norm = c.qkv_bias = true;
  return c;
}

Result<lm::Parameters> make_parameters() {
  KW_TRY(lm::Parameters out, lm::Parameters::make(model_config(), lm::WeightType::kFloat32));
  lm::initialise(out, 5);
  return out;
}

// Of one micro-batch; `layers` of the layers recomputed.
void add_gradient(const Weights& weights, std::int64_t layers, bool by_engine = false) {
  const Decoder decoder(weights,
                        {.context = 512, .recompute_layers = layers, .by_engine = by_engine});
  std::vector<std::int32_t> tokens, targets;
  for (int i = 0; i < 700; ++i) {
    tokens.push_back(i * i * 31 % 1003);
    targets.push_back((i * 57 + 3) % 1003);
  }
  Batch batch =
      make_batch(tokens, targets, std::vector<std::int64_t>{300, 1, 399}, weights.device());
  for (std::size_t i = 0; i < tokens.size(); ++i)  // prompts and answers take turns
    batch.phases.push_back(i / 70 % 2 == 0 ? lm::Phase::kPrefill : lm::Phase::kDecode);
  Tape tape = decoder.forward(batch);
  const HeadGradients head = head_gradients(
      tape.last.normed, weights.head.value, batch.targets, gradient_sum(weights.head),
      [](std::int64_t, const at::Tensor& logprobs) -> HeadSlopes {
        return {at::full_like(logprobs, -1.0 / 700), {}};
      },
      {.chunk_tokens = 256, .engine = decoder.engine_products()});
  decoder.backward(batch, tape, head.hidden);
}
at::Tensor gradient_of(Weights& weights, std::int64_t layers, bool by_engine = false) {
  weights.clear_gradients();
  add_gradient(weights, layers, by_engine);
  return weights.gradients();
}

Status check_model() {
  KW_TRY(lm::Parameters for_cpu, make_parameters());
  KW_TRY(lm::Parameters for_gpu, make_parameters());
  Weights cpu(for_cpu, at::kCPU, at::kFloat), gpu(for_gpu, at::Device(at::kCUDA, 0), at::kBFloat16);
  const at::Tensor want = gradient_of(cpu, 0).clone();
  compare("gradient of a model", gradient_of(gpu, 0), want, 3e-2);
  compare("gradient of a model, recomputed", gradient_of(gpu, 2), want, 3e-2);
  compare("gradient of a model by the engine's products", gradient_of(gpu, 0, true), want, 3e-2);
  compare("the same, recomputed", gradient_of(gpu, 2, true), want, 3e-2);
  gpu.clear_gradients();
  for (int i = 0; i < 2; ++i) add_gradient(gpu, 0);
  compare("gradient of two micro-batches", gpu.gradients(), 2 * want, 3e-2);
  gpu.clear_gradients();
  compare("gradient of none", gpu.gradients() + 1, at::ones_like(want), 0);
  // Both optimizers get the CPU's gradients.
  const OptimizerSettings settings{{.weight_decay = 0.1}, 0.5};
  Optimizer on_cpu(cpu, settings), on_gpu(gpu, settings);
  const at::Tensor before = cpu.masters().clone();
  for (int step = 1; step <= 3; ++step) {
    at::Tensor a = cpu.gradients(), b = gpu.gradients();
    a.copy_(want * step);
    b.copy_(want * step);
    compare("gradient's norm", on_gpu.step(1e-2).reshape({1}), on_cpu.step(1e-2).reshape({1}),
            kWide);
  }
  compare("AdamW: change of the masters", gpu.masters().cpu() - before, cpu.masters() - before,
          1e-4);
  compare("AdamW: second moments", on_gpu.second_moments(), on_cpu.second_moments(), 1e-5);
  compare("AdamW: rounded masters", gpu.computed(), gpu.masters().to(at::kBFloat16), 0);
  // Muon's products are float32 on the CPU and bfloat16 on the GPU.
  OptimizerSettings with_muon = settings;
  with_muon.muon = MuonStep{.weight_decay = 0.1};
  Optimizer muon_on_cpu(cpu, with_muon), muon_on_gpu(gpu, with_muon);
  at::Tensor a = cpu.gradients(), b = gpu.gradients();
  a.copy_(want);
  b.copy_(want);
  const at::Tensor cpu_before = cpu.masters().clone(), gpu_before = gpu.masters().clone();
  muon_on_cpu.step(1e-2);
  muon_on_gpu.step(1e-2);
  compare("Muon: change of the masters", (gpu.masters() - gpu_before).cpu(),
          cpu.masters() - cpu_before, 5e-2);
  compare("Muon: momentum", muon_on_gpu.first_moments(), muon_on_cpu.first_moments(), 1e-4);
  compare("Muon: rounded masters", gpu.computed(), gpu.masters().to(at::kBFloat16), 0);
  return {};
}

Status check_all() {
  KW_TRY_STATUS(cuda::check_support(256, 64, 512));
  at::manual_seed(3);
  for (std::int64_t width : {64, 512, 896, 1536, 2048, 4096, 8192}) check_norm(width);
  for (std::int64_t d : {16, 64, 128, 256})
    for (bool norms : {false, true}) check_heads(d, norms);
  check_silu();
  check_transfers();
  for (const auto& [n, k] : {std::pair(256, 128), std::pair(1152, 896), std::pair(8192, 512)})
    check_matmul(n, k);
  for (std::int64_t d : {32, 64, 128})
    for (const auto& [heads, kv_heads] : {std::pair(6, 2), std::pair(14, 2), std::pair(3, 3)})
      check_attention(d, heads, kv_heads);
  for (bool entropies : {false, true})
    for (std::int64_t vocabulary : {97, 1003, 9000}) check_head(vocabulary, entropies, 0);
  for (std::int64_t vocabulary : {97, 1003, 9000}) check_head(vocabulary, false, 5);
  for (std::int64_t vocabulary : {97, 1003, 9000, 20480, 20481, 50000, 151936, 163841})
    check_head_loss(vocabulary);
  for (const std::string& line : cuda::matmul_choices()) fmt::print("{}\n", line);
  return check_model();
}

}  // namespace
}  // namespace kw::train

int main() {
  try {
    const kw::Status status = kw::train::check_all();
    if (!status) {
      fmt::print(stderr, "error: {}\n", status.error().message());
      return 2;
    }
  } catch (const c10::Error& e) {
    fmt::print(stderr, "error: {}\n", e.what_without_backtrace());
    return 2;
  }
  return kw::train::all_within ? 0 : 1;
}
