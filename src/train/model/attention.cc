// The flash attention operators are internal to torch, and their arguments grow between releases.
// They are called through the dispatcher with arguments by name; all others keep their defaults.
#include "train/model/attention.h"

#include <string_view>
#include <utility>
#include <vector>

#include <ATen/ATen.h>
#include <ATen/core/dispatch/Dispatcher.h>
#include <torch/csrc/autograd/autograd.h>

#include "train/cuda/attention.h"

namespace kw::train {
namespace {

using Arguments = std::vector<std::pair<std::string_view, c10::IValue>>;

std::vector<at::Tensor> call_by_name(const c10::OperatorHandle& op, const Arguments& arguments) {
  torch::jit::Stack stack;
  for (const c10::Argument& one : op.schema().arguments()) {
    const c10::IValue* value = nullptr;
    for (const auto& [name, given] : arguments)
      if (name == one.name()) value = &given;
    TORCH_CHECK(value != nullptr || one.default_value().has_value(), op.schema().name(),
                " of this torch needs ", one.name());
    stack.push_back(value != nullptr ? *value : *one.default_value());
  }
  op.callBoxed(stack);
  std::vector<at::Tensor> out;
  for (const c10::IValue& value : stack) out.push_back(value.toTensor());
  return out;
}

Arguments shared_arguments(const Batch& batch) {
  return {{"cum_seq_q", batch.starts}, {"cum_seq_k", batch.starts}, {"max_q", batch.longest},
          {"max_k", batch.longest},    {"dropout_p", 0.0},          {"is_causal", true}};
}

at::Tensor flash_attention(AttentionTape& tape, const Batch& batch) {
  static const c10::OperatorHandle op =
      c10::Dispatcher::singleton().findSchemaOrThrow("aten::_flash_attention_forward", "");
  Arguments arguments = shared_arguments(batch);
  arguments.insert(
      arguments.end(),
      {{"query", tape.q}, {"key", tape.k}, {"value", tape.v}, {"return_debug_mask", false}});
  std::vector<at::Tensor> out = call_by_name(op, arguments);
  tape.out = std::move(out[0]);
  tape.statistics = std::move(out[1]);
  tape.random_state = std::move(out[2]);
  tape.unused = std::move(out[3]);
  return tape.out;
}

HeadSlopesByPart flash_attention_backward(const AttentionTape& tape, const at::Tensor& by_out,
                                          const Batch& batch) {
  static const c10::OperatorHandle op =
      c10::Dispatcher::singleton().findSchemaOrThrow("aten::_flash_attention_backward", "");
  Arguments arguments = shared_arguments(batch);
  arguments.insert(arguments.end(), {{"grad_out", by_out},
                                     {"query", tape.q},
                                     {"key", tape.k},
                                     {"value", tape.v},
                                     {"out", tape.out},
                                     {"logsumexp", tape.statistics},
                                     {"rng_state", tape.random_state},
                                     {"unused", tape.unused}});
  const std::vector<at::Tensor> out = call_by_name(op, arguments);
  return {out[0], out[1], out[2]};
}

at::Tensor attend_alone(const at::Tensor& q, const at::Tensor& k, const at::Tensor& v) {
  auto heads_first = [](const at::Tensor& x) { return x.transpose(0, 1).unsqueeze(0); };
  return at::scaled_dot_product_attention(heads_first(q), heads_first(k), heads_first(v), {}, 0,
                                          true, {}, q.size(1) != k.size(1))
      .squeeze(0)
      .transpose(0, 1);
}

at::Tensor attend_each(const at::Tensor& q, const at::Tensor& k, const at::Tensor& v,
                       const Batch& batch) {
  std::vector<at::Tensor> out;
  for (std::size_t s = 0; s + 1 < batch.bounds.size(); ++s) {
    auto part = [&](const at::Tensor& x) {
      return x.narrow(0, batch.bounds[s], batch.bounds[s + 1] - batch.bounds[s]);
    };
    out.push_back(attend_alone(part(q), part(k), part(v)));
  }
  return at::cat(out);
}

}  // namespace

at::Tensor attention(const at::Tensor& heads, const HeadsShape& shape, const Batch& batch,
                     AttentionTape* tape) {
  AttentionTape unkept;
  AttentionTape& into = tape != nullptr ? *tape : unkept;
  if (heads.is_cuda() && cuda::has_attention(shape.head_dim)) {
    cuda::Attended attended = cuda::attention_forward(heads, shape, batch);
    into.heads = heads;
    into.statistics = std::move(attended.statistics);
    into.out = std::move(attended.out);
    return into.out;
  }
  into.q = heads.narrow(1, 0, shape.heads);
  into.k = heads.narrow(1, shape.heads, shape.kv_heads);
  into.v = heads.narrow(1, shape.heads + shape.kv_heads, shape.kv_heads);
  if (heads.is_cuda()) return flash_attention(into, batch);
  // On the CPU torch's autograd keeps what the backward pass needs.
  const at::AutoGradMode grad(tape != nullptr);
  for (at::Tensor* leaf : {&into.q, &into.k, &into.v})
    *leaf = leaf->detach().set_requires_grad(tape != nullptr);
  into.out = attend_each(into.q, into.k, into.v, batch);
  return into.out.detach();
}

HeadSlopesByPart attention_backward(AttentionTape& tape, const at::Tensor& by_out,
                                    const HeadsShape& shape, const Batch& batch) {
  const AttentionTape used = std::exchange(tape, {});
  if (used.heads.defined())
    return cuda::attention_backward(used.heads, {used.out, used.statistics}, by_out, shape, batch);
  if (used.q.is_cuda()) return flash_attention_backward(used, by_out, batch);
  torch::autograd::backward({used.out}, {by_out});
  return {used.q.grad(), used.k.grad(), used.v.grad()};
}

}  // namespace kw::train
