// Products with a gate: gated linear units, gates of experts.
#include <algorithm>
#include <cmath>

#include "writer/generate/operators.h"

namespace kw::writer::generate {
namespace {

using Sizes = std::vector<IntExpr>;

// silu(x G^T) * (x U^T)
void gated_linear(Builder& b) {
  const std::int64_t k = b.size(8, std::clamp<std::int64_t>(b.limits.max_elements / 4, 8, 2048));
  const std::int64_t n = b.size(8, std::clamp<std::int64_t>(b.limits.max_elements / 4, 8, 4096));
  const std::int64_t most =
      std::min(b.limits.max_elements / std::max(k, n), b.limits.max_work / (2 * n * k));
  const Dim rows_dim =
      b.axis("num_tokens", b.size(1, std::clamp<std::int64_t>(most, 1, 4096)), false);
  const Dim depth_dim = b.axis("hidden_size", k), columns_dim = b.axis("intermediate_size", n);
  const ValueId x = b.input("x", {rows_dim, depth_dim}).id;
  const auto product = [&](const char* name) {
    const ValueId weight = b.weight(name, {columns_dim, depth_dim}, Start::kWeight, depth_dim).id;
    const ValueId turned =
        b.call("permute.default", {weight, Sizes{1, 0}}, {depth_dim, columns_dim});
    return b.call("mm.default", {x, turned}, {rows_dim, columns_dim});
  };
  const ValueId gate = product("gate_weight"), up = product("up_weight");
  const ValueId soft = b.call("silu.default", {gate}, {rows_dim, columns_dim});
  b.result(b.call("mul.Tensor", {soft, up}, {rows_dim, columns_dim}), {rows_dim, columns_dim})
      .range(-9, 9);
}

// The largest shares of softmax(x W^T), scaled to sum 1
void expert_gate(Builder& b) {
  const std::int64_t experts = b.pick<std::int64_t>({4, 8, 8, 16, 32, 7});
  const std::int64_t k = b.size(8, std::clamp<std::int64_t>(b.limits.max_elements / 8, 8, 2048));
  const std::int64_t most =
      std::min(b.limits.max_elements / std::max(k, experts), b.limits.max_work / (experts * k));
  const Dim rows_dim =
      b.axis("num_tokens", b.size(2, std::clamp<std::int64_t>(most, 2, 8192)), false);
  const Dim depth_dim = b.axis("hidden_size", k), experts_dim = b.axis("num_experts", experts);
  const std::int64_t chosen = b.whole("top_k", b.pick<std::int64_t>({2, 2, 2, 3}));
  const ValueId x = b.input(b.pick({"x", "hidden_states", "tokens"}), {rows_dim, depth_dim}).id;
  b.size_of("hidden_size", depth_dim);
  b.size_of("num_experts", experts_dim);
  const ValueId weight = b.weight("weight", {experts_dim, depth_dim}, Start::kWeight, depth_dim).id;
  const Dims all = {rows_dim, experts_dim}, top = {rows_dim, {chosen, chosen}},
             one = {rows_dim, {1, 1}};
  const ValueId turned = b.call("permute.default", {weight, Sizes{1, 0}}, {depth_dim, experts_dim});
  const ValueId scores = b.call("mm.default", {x, turned}, all);
  const ValueId shares = b.call("_softmax.default", {scores, 1, false}, all);
  const int largest =
      b.call_several("topk.default", {shares, chosen, 1, true, true}, {type_of(top), std::nullopt});
  const ValueId sum = b.call("sum.dim_IntList", {ValueId{largest, 0}, Sizes{1}, true}, one);
  b.result(b.call("div.Tensor", {ValueId{largest, 0}, sum}, top), top).range(0, 1);
}

OpSpec gated_linear_operator() {
  return {.name = "gated_linear",
          .weight = 0.8,
          .tier = 3,
          .domain = Domain::kNone,
          .build = gated_linear,
          .words = "the product of two linear maps, SiLU applied to the first (SwiGLU),",
          .ways = {{"", "F.silu(F.linear({x}, {gate_weight})) * F.linear({x}, {up_weight})"},
                   {"", R"({t:gate} = {x} @ {gate_weight}.t()
{t:up} = {x} @ {up_weight}.t()
{t:gate} * torch.sigmoid({t:gate}) * {t:up})"},
                   {"", R"({t:both} = F.linear({x}, torch.cat([{gate_weight}, {up_weight}], dim=0))
{t:gate}, {t:up} = {t:both}.chunk(2, dim=-1)
F.silu({t:gate}) * {t:up})"},
                   {"",
                    "torch.mul(torch.nn.functional.silu(torch.matmul({x}, {gate_weight}.T)), "
                    "torch.matmul({x}, {up_weight}.T))"},
                   {"", R"({t:g} = torch.einsum("mk,nk->mn", {x}, {gate_weight})
{t:u} = torch.einsum("mk,nk->mn", {x}, {up_weight})
{t:g} / (1 + torch.exp(-{t:g})) * {t:u})"}}};
}

OpSpec expert_gate_operator() {
  return {.name = "expert_gate",
          .weight = 0.6,
          .tier = 4,
          .domain = Domain::kNone,
          .build = expert_gate,
          .words =
              "the gate of a mixture of {num_experts} experts: of the softmax of a linear map the "
              "{top_k} largest of each row, the largest first, scaled to sum 1,",
          .ways = {{"nn.Linear({hidden_size}, {num_experts}, bias=False)",
                    R"({t:probs} = F.softmax(self.{m}({x}), dim=-1)
{t:top}, {t:which} = torch.topk({t:probs}, {top_k}, dim=-1)
{t:top} / {t:top}.sum(dim=-1, keepdim=True))"},
                   {"nn.Linear({hidden_size}, {num_experts}, bias=False)",
                    R"({t:logits} = self.{m}({x})
F.softmax({t:logits}.topk({top_k}, dim=-1).values, dim=-1))"},
                   {"", R"({t:scores} = torch.softmax({x} @ {weight}.t(), dim=-1)
{t:best} = {t:scores}.topk({top_k}, dim=-1)[0]
{t:best} / {t:best}.sum(-1, keepdim=True))"},
                   {"", R"({t:logits} = F.linear({x}, {weight})
{t:best} = torch.sort({t:logits}, dim=-1, descending=True).values[:, :{top_k}]
torch.softmax({t:best}, dim=-1))"},
                   {"", R"({t:logits} = torch.einsum("td,ed->te", {x}, {weight})
{t:shares} = torch.exp({t:logits} - {t:logits}.logsumexp(dim=-1, keepdim=True))
{t:top} = torch.topk({t:shares}, {top_k}, dim=-1).values
torch.div({t:top}, torch.sum({t:top}, dim=-1, keepdim=True)))"},
                   {"", R"({t:probs} = torch.matmul({x}, {weight}.T).softmax(-1)
F.normalize({t:probs}.topk({top_k}, dim=-1).values, p=1.0, dim=-1))"}}};
}

}  // namespace

std::vector<OpSpec> gate_operators() {
  return {gated_linear_operator(), expert_gate_operator()};
}

}  // namespace kw::writer::generate
