// What transformers have around their attention: rotary positions, gated products, whole layers.
#include <algorithm>
#include <cmath>

#include "writer/generate/operators.h"

namespace kw::writer::generate {
namespace {

using Sizes = std::vector<IntExpr>;

// x cos + rotated x sin, where rotated has the second half of the last dimension negated in front
// of the first.
void rotary(Builder& b) {
  const std::int64_t d = b.pick<std::int64_t>({16, 32, 64, 64, 128, 40});
  const std::int64_t most = std::max<std::int64_t>(1, b.limits.max_elements / d);
  const std::int64_t length = b.size(2, std::clamp<std::int64_t>(most / 4, 2, 4096));
  const std::int64_t rows = std::max<std::int64_t>(1, most / length);
  const std::int64_t heads = std::min<std::int64_t>(rows, b.pick<std::int64_t>({1, 4, 8, 8, 12}));
  const Dim B =
      b.axis("batch_size", b.size(1, std::clamp<std::int64_t>(rows / heads, 1, 32)), false);
  const Dim H = b.axis("num_heads", heads, false), T = b.axis("seq_len", length, false);
  const Dim D = b.axis("head_dim", d);
  const Dims shape = {B, H, T, D}, table = {T, D};
  const Dim half = {IntExpr(d / 2), d / 2};
  b.fix(D);
  b.whole("half", d / 2);
  const ValueId x = b.input(b.pick({"q", "x", "query"}), shape).id;
  const ValueId cos = b.input("cos", table).id, sin = b.input("sin", table).id;
  const Dims halves = {B, H, T, half};
  const ValueId first = b.call("slice.Tensor", {x, 3, 0, half, 1}, halves);
  const ValueId second = b.call("slice.Tensor", {x, 3, half, D, 1}, halves);
  const ValueId turned = b.call(
      "cat.default",
      {std::vector<std::optional<ValueId>>{b.call("neg.default", {second}, halves), first}, 3},
      shape);
  const ValueId straight = b.call("mul.Tensor", {x, cos}, shape);
  const ValueId crossed = b.call("mul.Tensor", {turned, sin}, shape);
  b.result(b.call("add.Tensor", {straight, crossed}, shape), shape).range(-12, 12);
}

// silu(x G^T) * (x U^T)
void gated_linear(Builder& b) {
  const std::int64_t k = b.size(8, std::clamp<std::int64_t>(b.limits.max_elements / 4, 8, 2048));
  const std::int64_t n = b.size(8, std::clamp<std::int64_t>(b.limits.max_elements / 4, 8, 4096));
  const std::int64_t most =
      std::min(b.limits.max_elements / std::max(k, n), b.limits.max_work / (2 * n * k));
  const Dim M = b.axis("num_tokens", b.size(1, std::clamp<std::int64_t>(most, 1, 4096)), false);
  const Dim K = b.axis("hidden_size", k), N = b.axis("intermediate_size", n);
  const ValueId x = b.input("x", {M, K}).id;
  const auto product = [&](const char* name) {
    const ValueId weight = b.weight(name, {N, K}, Start::kWeight, K).id;
    const ValueId turned = b.call("permute.default", {weight, Sizes{1, 0}}, {K, N});
    return b.call("mm.default", {x, turned}, {M, N});
  };
  const ValueId gate = product("gate_weight"), up = product("up_weight");
  const ValueId soft = b.call("silu.default", {gate}, {M, N});
  b.result(b.call("mul.Tensor", {soft, up}, {M, N}), {M, N}).range(-9, 9);
}

// nn.MultiheadAttention of x with itself, batch first, with biases.
void multihead_attention(Builder& b) {
  const std::int64_t d = b.pick<std::int64_t>({8, 16, 32, 64}),
                     h = b.pick<std::int64_t>({1, 2, 4, 8});
  const std::int64_t e = d * h;
  const std::int64_t length =
      b.size(2, std::clamp<std::int64_t>(b.limits.max_elements / (e * 4), 2, 512));
  const std::int64_t work = std::max<std::int64_t>(1, length * e * (4 * e + 2 * length));
  const std::int64_t most =
      std::min(b.limits.max_elements / (length * e), b.limits.max_work / work);
  const Dim B = b.axis("batch_size", b.size(1, std::clamp<std::int64_t>(most, 1, 64)), false);
  const Dim T = b.axis("seq_len", length, false);
  // Numbers: no input has them for a dimension.
  const Dim H = {h, h}, D = {d, d}, E = {e, e};
  const Dim all = times(E, {3, 3}), rows = times(B, T), maps = times(B, H);
  const ValueId x = b.input("x", {B, T, E}).id;
  b.size_of("embed_dim", E);
  b.size_of("num_heads", H);
  b.size_of("head_dim", D);
  const ValueId in_weight = b.weight("in_proj_weight", {all, E}, Start::kWeight, E).id;
  const ValueId in_bias = b.weight("in_proj_bias", {all}, Start::kZeros).id;
  const ValueId out_weight = b.weight("out_proj.weight", {E, E}, Start::kWeight, E).id;
  const ValueId out_bias = b.weight("out_proj.bias", {E}, Start::kZeros).id;
  const auto linear = [&](ValueId value, ValueId weight, ValueId bias, const Dim& n) {
    const ValueId turned = b.call("permute.default", {weight, Sizes{1, 0}}, {E, n});
    return b.call("addmm.default", {bias, value, turned}, {rows, n});
  };
  const ValueId flat = b.call("view.default", {x, Dims{rows, E}}, {rows, E});
  const ValueId made = linear(flat, in_weight, in_bias, all);
  const auto part = [&](int which) {
    const IntExpr& width = E.size;
    const Dims split = {B, T, H, D}, heads = {B, H, T, D}, each = {maps, T, D};
    const ValueId mine =
        b.call("slice.Tensor", {made, 1, width * which, width * (which + 1), 1}, {rows, E});
    const ValueId apart = b.call("view.default", {mine, split}, split);
    const ValueId turned = b.call("permute.default", {apart, Sizes{0, 2, 1, 3}}, heads);
    return b.call("view.default", {turned, each}, each);
  };
  const ValueId q = part(0), k = part(1), v = part(2);
  const Dims scores = {maps, T, T};
  const ValueId turned = b.call("permute.default", {k, Sizes{0, 2, 1}}, {maps, D, T});
  const ValueId products = b.call("bmm.default", {q, turned}, scores);
  const double scale = 1 / std::sqrt(static_cast<double>(d));
  const ValueId scaled = b.call("mul.Tensor", {products, scale}, scores);
  const ValueId weights = b.call("_softmax.default", {scaled, 2, false}, scores);
  const ValueId mixed = b.call("bmm.default", {weights, v}, {maps, T, D});
  const ValueId heads = b.call("view.default", {mixed, Dims{B, H, T, D}}, {B, H, T, D});
  const ValueId back = b.call("permute.default", {heads, Sizes{0, 2, 1, 3}}, {B, T, H, D});
  const ValueId joined = b.call("view.default", {back, Dims{rows, E}}, {rows, E});
  const ValueId out = linear(joined, out_weight, out_bias, E);
  b.result(b.call("view.default", {out, Dims{B, T, E}}, {B, T, E}), {B, T, E}).range(-3, 3);
}

}  // namespace

std::vector<OpSpec> transformer_operators() {
  constexpr std::string_view kAttention = "attention";
  return {
      {"rotary_embedding",
       kAttention,
       1.5,
       2,
       Domain::kNone,
       nullptr,
       rotary,
       "rotary position embedding by halves of {half}, with tables of cosines and sines,",
       {{"",
         "{t:x1}, {t:x2} = {x}.chunk(2, dim=-1)\n{x} * {y} + torch.cat((-{t:x2}, {t:x1}), dim=-1) "
         "* "
         "{z}"},
        {"",
         "{t:first} = {x}[..., :{half}]\n{t:second} = {x}[..., {half}:]\n{t:rotated} = "
         "torch.cat([-{t:second}, {t:first}], dim=-1)\n{x} * {y} + {t:rotated} * {z}"},
        {"",
         "{t:half} = {x}.shape[-1] // 2\n{t:left}, {t:right} = torch.split({x}, {t:half}, "
         "dim=-1)\n{t:turned} = torch.cat((torch.neg({t:right}), {t:left}), "
         "-1)\ntorch.addcmul({x} * {y}, {t:turned}, {z})"},
        {"",
         "{t:pairs} = {x}.unflatten(-1, (2, {half}))\n{t:turned} = torch.stack((-{t:pairs}[..., 1, "
         ":], {t:pairs}[..., 0, :]), dim=-2).flatten(-2)\ntorch.mul({x}, {y}) + "
         "torch.mul({t:turned}, {z})"},
        {"",
         "{t:a}, {t:b} = {x}.narrow(-1, 0, {half}), {x}.narrow(-1, {half}, {half})\n{t:lo} = {t:a} "
         "* "
         "{y}[..., :{half}] - {t:b} * {z}[..., :{half}]\n{t:hi} = {t:b} * {y}[..., {half}:] + "
         "{t:a} "
         "* {z}[..., {half}:]\ntorch.cat(({t:lo}, {t:hi}), dim=-1)"}}},
      {"gated_linear",
       "matmul",
       0.8,
       3,
       Domain::kNone,
       nullptr,
       gated_linear,
       "the product of two linear maps, SiLU applied to the first (SwiGLU),",
       {{"", "F.silu(F.linear({x}, {gate_weight})) * F.linear({x}, {up_weight})"},
        {"",
         "{t:gate} = {x} @ {gate_weight}.t()\n{t:up} = {x} @ {up_weight}.t()\n{t:gate} * "
         "torch.sigmoid({t:gate}) * {t:up}"},
        {"",
         "{t:both} = F.linear({x}, torch.cat([{gate_weight}, {up_weight}], dim=0))\n{t:gate}, "
         "{t:up} = {t:both}.chunk(2, dim=-1)\nF.silu({t:gate}) * {t:up}"},
        {"",
         "torch.mul(torch.nn.functional.silu(torch.matmul({x}, {gate_weight}.T)), "
         "torch.matmul({x}, "
         "{up_weight}.T))"},
        {"",
         "{t:g} = torch.einsum(\"mk,nk->mn\", {x}, {gate_weight})\n{t:u} = "
         "torch.einsum(\"mk,nk->mn\", {x}, {up_weight})\n{t:g} / (1 + torch.exp(-{t:g})) * "
         "{t:u}"}}},
      {"multihead_attention",
       kAttention,
       1,
       4,
       Domain::kNone,
       nullptr,
       multihead_attention,
       "multi-head self-attention with {num_heads} heads of {head_dim} and its projections",
       {{"nn.MultiheadAttention({embed_dim}, {num_heads}, batch_first=True)",
         "self.{m}({x}, {x}, {x}, need_weights=False)[0]"},
        {"nn.MultiheadAttention(embed_dim={embed_dim}, num_heads={num_heads}, batch_first=True)",
         "{t:attended}, _ = self.{m}({x}, {x}, {x})\n{t:attended}"},
        {"nn.MultiheadAttention({embed_dim}, {num_heads})",
         "{t:seq} = {x}.transpose(0, 1)\nself.{m}({t:seq}, {t:seq}, {t:seq}, "
         "need_weights=False)[0].transpose(0, 1)"},
        {"",
         "{t:b}, {t:n}, {t:width} = {x}.shape\n{t:qkv} = F.linear({x}, {in_proj_weight}, "
         "{in_proj_bias}).reshape({t:b}, {t:n}, 3, {num_heads}, {head_dim}).permute(2, 0, 3, 1, "
         "4)\n{t:q}, {t:k}, {t:v} = {t:qkv}[0], {t:qkv}[1], {t:qkv}[2]\n{t:attn} = ({t:q} @ "
         "{t:k}.transpose(-2, -1) * {head_dim} ** -0.5).softmax(dim=-1)\n{t:mixed} = ({t:attn} @ "
         "{t:v}).transpose(1, 2).reshape({t:b}, {t:n}, {t:width})\nF.linear({t:mixed}, "
         "{out_proj.weight}, {out_proj.bias})"},
        {"",
         "{t:q}, {t:k}, {t:v} = F.linear({x}, {in_proj_weight}, {in_proj_bias}).chunk(3, "
         "dim=-1)\n{t:q} = {t:q}.unflatten(-1, ({num_heads}, {head_dim})).transpose(1, 2)\n{t:k} = "
         "{t:k}.unflatten(-1, ({num_heads}, {head_dim})).transpose(1, 2)\n{t:v} = "
         "{t:v}.unflatten(-1, ({num_heads}, {head_dim})).transpose(1, 2)\n{t:mixed} = "
         "F.scaled_dot_product_attention({t:q}, {t:k}, {t:v}).transpose(1, "
         "2).flatten(2)\nF.linear({t:mixed}, {out_proj.weight}, {out_proj.bias})"}}},
  };
}

}  // namespace kw::writer::generate
