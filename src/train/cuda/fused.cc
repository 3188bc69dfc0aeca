#include "train/cuda/fused.h"

#include <algorithm>
#include <cmath>

#include <ATen/ATen.h>

#include "train/cuda/launch.h"

namespace kw::train::cuda {
namespace {

std::int32_t narrowed(std::int64_t x) {
  return static_cast<std::int32_t>(x);
}

std::int64_t divided_up(std::int64_t a, std::int64_t b) {
  return (a + b - 1) / b;
}

at::Tensor empty(at::IntArrayRef sizes, const at::Tensor& like, at::ScalarType dtype) {
  return at::empty(sizes, like.options().dtype(dtype).requires_grad(false));
}

// Blocks of kernels that add up over rows, each its share: enough to fill the GPU.
std::int64_t share_blocks(std::int64_t work) {
  return std::min<std::int64_t>(work, kernels().multiprocessors() * std::int64_t{8});
}

void add_column_sums(const at::Tensor& shares, const at::Tensor& sums) {
  launch(kernels().add_column_sums, divided_up(sums.numel(), 32), 1024, address(shares),
         address(sums), shares.numel() / sums.numel(), sums.numel());
}

HeadsInput heads_input(const HeadsShape& shape, const HeadsWeights& weights,
                       const Rotation& rotation) {
  HeadsInput in{};
  in.bias = address(weights.bias.value);
  in.q_norm = address(weights.q_norm.value);
  in.k_norm = address(weights.k_norm.value);
  in.cosines = address(rotation.cosines);
  in.sines = address(rotation.sines);
  in.positions = address(rotation.positions);
  in.tokens = rotation.positions.size(0);
  in.heads = narrowed(shape.heads);
  in.kv_heads = narrowed(shape.kv_heads);
  in.head_dim = narrowed(shape.head_dim);
  in.epsilon = static_cast<float>(shape.epsilon);
  return in;
}

SiluInput silu_input(const at::Tensor& inner, const at::Tensor& bias, const at::Tensor& out) {
  TORCH_CHECK(out.size(1) % 8 == 0);
  return {address(inner), address(bias), address(out), out.numel() / 8, narrowed(out.size(1))};
}

HeadRowsInput rows_input(const at::Tensor& logits, const at::Tensor& targets, const HeadRows& rows,
                         double temperature) {
  TORCH_CHECK(logits.stride(1) == 1 && logits.stride(0) % 8 == 0);
  HeadRowsInput in{};
  in.logits = reinterpret_cast<DevicePointer>(logits.const_data_ptr());
  in.targets = address(targets);
  in.logprobs = address(rows.logprobs);
  in.log_sums = address(rows.log_sums);
  in.entropies = address(rows.entropies);
  in.thresholds = address(rows.thresholds);
  in.pitch = logits.stride(0);
  in.vocabulary = narrowed(logits.size(1));
  in.scale = static_cast<float>(1 / temperature);
  return in;
}

// [C, V] bfloat16 in the first half of each row.
at::Tensor narrow_half_of(const at::Tensor& logits) {
  const std::int64_t pitch = logits.stride(0);
  return logits.as_strided({logits.size(0), pitch}, {pitch, 1})
      .view(at::kBFloat16)
      .narrow(1, 0, logits.size(1));
}

}  // namespace

Status check_support(std::int64_t hidden, std::int64_t head_dim, std::int64_t intermediate) {
  KW_TRY(const Kernels* all, load_kernels());
  KW_TRY_STATUS(all->norm(hidden));
  KW_TRY_STATUS(all->heads(head_dim));
  if (intermediate % 8 != 0)
    return fail(ErrorCode::kUnsupported,
                "intermediate_size {}: on a GPU, multiples of 8 are trained", intermediate);
  return {};
}

Normed add_norm(const Residual& in, const at::Tensor& scale, double epsilon) {
  const bool sums = in.delta.defined() || in.bias.defined();
  const std::int64_t rows = in.stream.size(0), width = in.stream.size(1);
  Normed out;
  out.sum = sums ? empty(in.stream.sizes(), in.stream, at::kFloat) : in.stream;
  out.normed = empty(in.stream.sizes(), in.stream, at::kBFloat16);
  out.inverse = empty({rows}, in.stream, at::kFloat);
  const NormKernels kernel = checked(kernels().norm(width));
  const AddNormInput input{
      address(in.stream),          address(in.delta),   address(in.bias),     address(scale),
      sums ? address(out.sum) : 0, address(out.normed), address(out.inverse), narrowed(width),
      static_cast<float>(epsilon)};
  launch(kernel.forward, rows, kernel.threads, input);
  return out;
}

NormSlopes add_norm_backward(const Normed& saved, const Weight& scale, const at::Tensor& by_normed,
                             const at::Tensor& by_sum) {
  const std::int64_t rows = saved.sum.size(0), width = saved.sum.size(1);
  const std::int64_t blocks = share_blocks(rows);
  NormSlopes out;
  out.wide = by_sum.defined() ? by_sum : empty(saved.sum.sizes(), saved.sum, at::kFloat);
  out.narrow = empty(saved.sum.sizes(), saved.sum, at::kBFloat16);
  out.normed = empty(saved.sum.sizes(), saved.sum, at::kBFloat16);
  const at::Tensor shares = empty({blocks, width}, saved.sum, at::kFloat);
  const NormKernels kernel = checked(kernels().norm(width));
  const AddNormBackwardInput input{address(saved.sum),   address(saved.inverse),
                                   address(scale.value), address(by_normed),
                                   address(by_sum),      address(out.wide),
                                   address(out.narrow),  address(out.normed),
                                   address(shares),      rows,
                                   narrowed(width)};
  launch(kernel.backward, blocks, kernel.threads, input);
  add_column_sums(shares, scale.gradient);
  return out;
}

at::Tensor heads_forward(const HeadsShape& shape, const HeadsWeights& weights,
                         const Rotation& rotation, const at::Tensor& qkv) {
  HeadsInput in = heads_input(shape, weights, rotation);
  const HeadsKernels kernel = checked(kernels().heads(shape.head_dim));
  const std::int64_t all = shape.heads + 2 * shape.kv_heads;
  const at::Tensor out = empty({in.tokens, all, shape.head_dim}, qkv, at::kBFloat16);
  in.qkv = address(qkv);
  in.out = address(out);
  in.group = kernel.group;
  launch(kernel.forward, divided_up(in.tokens * all * kernel.group, kHeadThreads), kHeadThreads,
         in);
  return out;
}

at::Tensor heads_backward(const HeadsShape& shape, const HeadsWeights& weights,
                          const Rotation& rotation, const at::Tensor& qkv,
                          const HeadSlopesByPart& by_heads) {
  HeadsInput in = heads_input(shape, weights, rotation);
  const HeadsKernels kernel = checked(kernels().heads(shape.head_dim));
  const std::int64_t all = shape.heads + 2 * shape.kv_heads, width = all * shape.head_dim;
  const at::Tensor out = empty({in.tokens, width}, by_heads.q, at::kBFloat16);
  in.qkv = address(qkv);
  in.out = address(out);
  in.by_q = address(by_heads.q);
  in.by_k = address(by_heads.k);
  in.by_v = address(by_heads.v);
  in.parts = by_heads.k.dim() == 4 ? narrowed(by_heads.k.size(0)) : 1;
  in.group = kernel.group;
  LaunchShape blocks;
  const std::int64_t shares = divided_up(share_blocks(in.tokens), all);
  blocks.grid[0] = static_cast<unsigned>(all);
  blocks.grid[1] = static_cast<unsigned>(shares);
  blocks.threads = kHeadThreads;
  const bool norms = weights.q_norm.value.defined(), bias = weights.bias.value.defined();
  at::Tensor by_bias, by_norms;
  if (bias) by_bias = empty({shares, width}, by_heads.q, at::kFloat);
  if (norms) by_norms = empty({shares, width}, by_heads.q, at::kFloat);
  in.by_bias = address(by_bias);
  in.by_norms = address(by_norms);
  launch(kernel.backward, blocks, in);
  if (bias) add_column_sums(by_bias, weights.bias.gradient);
  if (norms) {
    const at::Tensor by_head = by_norms.sum(0).view({all, shape.head_dim});
    at::Tensor(weights.q_norm.gradient).add_(by_head.narrow(0, 0, shape.heads).sum(0));
    at::Tensor(weights.k_norm.gradient).add_(by_head.narrow(0, shape.heads, shape.kv_heads).sum(0));
  }
  return out;
}

at::Tensor silu_multiply(const at::Tensor& inner, const at::Tensor& bias) {
  const at::Tensor out = empty({inner.size(0), inner.size(1) / 2}, inner, at::kBFloat16);
  const SiluInput in = silu_input(inner, bias, out);
  launch(kernels().silu_multiply, divided_up(in.eights, 256), 256, in);
  return out;
}

SiluSlopes silu_multiply_backward(const at::Tensor& inner, const at::Tensor& bias,
                                  const at::Tensor& by_out) {
  const SiluInput in = silu_input(inner, bias, by_out);
  launch(kernels().silu_multiply_backward, divided_up(in.eights, 256), 256, in);
  return {inner, by_out};
}

std::int64_t row_pitch(std::int64_t vocabulary) {
  return divided_up(vocabulary, 8) * 8;
}

HeadRows head_statistics(const at::Tensor& logits, const at::Tensor& targets, double temperature,
                         bool entropies, const Truncation& truncation) {
  const std::int64_t rows = logits.size(0);
  HeadRows out;
  out.logprobs = empty({rows}, logits, at::kFloat);
  out.log_sums = empty({rows}, logits, at::kFloat);
  if (entropies) out.entropies = empty({rows}, logits, at::kFloat);
  if (truncation.cutoffs.defined()) out.thresholds = empty({rows}, logits, at::kFloat);
  HeadRowsInput in = rows_input(logits, targets, out, temperature);
  in.cutoffs = address(truncation.cutoffs);
  in.slack = static_cast<float>(truncation.slack);
  launch(kernels().head_statistics, rows, 512, in);
  return out;
}

at::Tensor head_gradient(const at::Tensor& logits, const at::Tensor& targets, const HeadRows& rows,
                         const at::Tensor& by_logprobs, const at::Tensor& by_entropies,
                         double temperature) {
  HeadRowsInput in = rows_input(logits, targets, rows, temperature);
  in.by_logprobs = address(by_logprobs);
  in.by_entropies = address(by_entropies);
  launch(kernels().head_gradient, logits.size(0), 512, in);
  return narrow_half_of(logits);
}

std::optional<HeadLoss> head_loss(const at::Tensor& logits, const at::Tensor& targets,
                                  const at::Tensor& by_logprobs, double temperature) {
  const auto kernel = kernels().head_loss(logits.size(1));
  if (!kernel) return std::nullopt;
  const std::int64_t rows = logits.size(0);
  HeadLoss out{empty({rows}, logits, at::kFloat), narrow_half_of(logits)};
  HeadRows known;
  known.logprobs = out.logprobs;
  const HeadRowsInput all = rows_input(logits, targets, known, temperature);
  const HeadLossInput in{all.logits, all.targets,    all.logprobs, address(by_logprobs),
                         all.pitch,  all.vocabulary, all.scale};
  LaunchShape shape;
  shape.grid[0] = static_cast<unsigned>(rows);
  shape.grid[1] = shape.cluster_y = kernel->blocks;
  shape.threads = kHeadLossThreads;
  if (rows > 0) launch(kernel->function, shape, in);
  return out;
}

at::Tensor gradient_norm(const at::Tensor& gradients, double max_norm) {
  TORCH_CHECK(gradients.numel() % 4 == 0);
  const std::int64_t fours = gradients.numel() / 4;
  const std::int64_t blocks = std::clamp<std::int64_t>(fours / 512, 1, share_blocks(1 << 20));
  const at::Tensor sums = empty({blocks}, gradients, at::kDouble);
  at::Tensor out = empty({2}, gradients, at::kFloat);
  launch(kernels().squares, blocks, 512, address(gradients), address(sums), fours);
  launch(kernels().norm_of_squares, 1, 512, address(sums), narrowed(blocks),
         static_cast<float>(max_norm), address(out));
  return out;
}

void adamw(const AdamWStep& step, const at::Tensor& masters, const at::Tensor& computed,
           const at::Tensor& gradients, const at::Tensor& first, const at::Tensor& second,
           const at::Tensor& decays, const at::Tensor& norm) {
  const auto t = static_cast<double>(step.step);
  AdamWInput in{};
  in.masters = address(masters);
  in.first = address(first);
  in.second = address(second);
  in.gradients = address(gradients);
  in.computed = address(computed);
  in.decays = address(decays);
  in.factor = address(norm) + sizeof(float);
  in.fours = masters.numel() / 4;
  in.beta1 = static_cast<float>(step.beta1);
  in.beta2 = static_cast<float>(step.beta2);
  in.epsilon = static_cast<float>(step.epsilon);
  in.kept = static_cast<float>(1 - step.learning_rate * step.weight_decay);
  in.rate = static_cast<float>(step.learning_rate / (1 - std::pow(step.beta1, t)));
  in.second_scale = static_cast<float>(1 / std::sqrt(1 - std::pow(step.beta2, t)));
  launch(kernels().adamw, divided_up(in.fours, 256), 256, in);
}

}  // namespace kw::train::cuda
