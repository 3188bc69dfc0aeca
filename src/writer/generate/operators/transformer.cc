// What transformers have around their attention: rotary positions and gated products.
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
  const Dim batch_dim =
      b.axis("batch_size", b.size(1, std::clamp<std::int64_t>(rows / heads, 1, 32)), false);
  const Dim heads_dim = b.axis("num_heads", heads, false),
            length_dim = b.axis("seq_len", length, false);
  const Dim width_dim = b.axis("head_dim", d);
  const Dims shape = {batch_dim, heads_dim, length_dim, width_dim}, table = {length_dim, width_dim};
  const Dim half = {IntExpr(d / 2), d / 2};
  b.fix(width_dim);
  b.whole("half", d / 2);
  const ValueId x = b.input(b.pick({"q", "x", "query"}), shape).id;
  const ValueId cos = b.input("cos", table).id, sin = b.input("sin", table).id;
  const Dims halves = {batch_dim, heads_dim, length_dim, half};
  const ValueId first = b.call("slice.Tensor", {x, 3, 0, half, 1}, halves);
  const ValueId second = b.call("slice.Tensor", {x, 3, half, width_dim, 1}, halves);
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

OpSpec rotary_embedding_operator() {
  return {
      .name = "rotary_embedding",
      .family = "attention",
      .weight = 1.5,
      .tier = 2,
      .domain = Domain::kNone,
      .build = rotary,
      .words = "rotary position embedding by halves of {half}, with tables of cosines and sines,",
      .ways = {{"", R"({t:x1}, {t:x2} = {x}.chunk(2, dim=-1)
{x} * {y} + torch.cat((-{t:x2}, {t:x1}), dim=-1) * {z})"},
               {"", R"({t:first} = {x}[..., :{half}]
{t:second} = {x}[..., {half}:]
{t:rotated} = torch.cat([-{t:second}, {t:first}], dim=-1)
{x} * {y} + {t:rotated} * {z})"},
               {"", R"({t:half} = {x}.shape[-1] // 2
{t:left}, {t:right} = torch.split({x}, {t:half}, dim=-1)
{t:turned} = torch.cat((torch.neg({t:right}), {t:left}), -1)
torch.addcmul({x} * {y}, {t:turned}, {z}))"},
               {"", R"({t:pairs} = {x}.unflatten(-1, (2, {half}))
{t:turned} = torch.stack((-{t:pairs}[..., 1, :], {t:pairs}[..., 0, :]), dim=-2).flatten(-2)
torch.mul({x}, {y}) + torch.mul({t:turned}, {z}))"},
               {"", R"({t:a}, {t:b} = {x}.narrow(-1, 0, {half}), {x}.narrow(-1, {half}, {half})
{t:lo} = {t:a} * {y}[..., :{half}] - {t:b} * {z}[..., :{half}]
{t:hi} = {t:b} * {y}[..., {half}:] + {t:a} * {z}[..., {half}:]
torch.cat(({t:lo}, {t:hi}), dim=-1))"}}};
}

OpSpec gated_linear_operator() {
  return {.name = "gated_linear",
          .family = "matmul",
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

}  // namespace

std::vector<OpSpec> transformer_operators() {
  return {rotary_embedding_operator(), gated_linear_operator()};
}

}  // namespace kw::writer::generate
