// Scaled dot-product attention and what is near to it.
#include <algorithm>
#include <cmath>

#include "writer/generate/operators.h"

namespace kw::writer::generate {
namespace {

struct Heads {
  Dim batch, heads, queries, keys, width;
};

Heads draw(Builder& b, bool square) {
  const std::int64_t d = b.pick<std::int64_t>({16, 32, 64, 64, 128, 24, 40});
  const std::int64_t most = std::max<std::int64_t>(1, b.limits.max_elements / d);
  const std::int64_t length = b.size(2, std::clamp<std::int64_t>(most / 4, 2, 1024));
  const std::int64_t rows =
      std::max<std::int64_t>(1, std::min(most / length, b.limits.max_work / (length * length * d)));
  const std::int64_t heads =
      std::min<std::int64_t>(rows, b.pick<std::int64_t>({1, 2, 4, 8, 8, 12, 16}));
  const std::int64_t batch = b.size(1, std::clamp<std::int64_t>(rows / heads, 1, 32));
  Heads out;
  out.batch = b.axis("batch_size", batch, false);
  out.heads = b.axis("num_heads", heads, false);
  out.queries = b.axis("seq_len", length, false);
  out.keys = square || b.chance(0.7) ? out.queries : b.axis("kv_len", b.size(2, length), false);
  out.width = b.axis("head_dim", d);
  return out;
}

// softmax(q k^T / sqrt(width), what `mask` hides being -inf) v
// window: 0, or of how many keys, its own the last one, a query sees; causal then.
void attention(Builder& b, bool causal, std::int64_t window) {
  const Heads h = draw(b, causal);
  const ValueId q = b.input("q", {h.batch, h.heads, h.queries, h.width}).id;
  const ValueId k = b.input("k", {h.batch, h.heads, h.keys, h.width}).id;
  const ValueId v = b.input("v", {h.batch, h.heads, h.keys, h.width}).id;
  const double scale = 1 / std::sqrt(static_cast<double>(h.width.n));
  b.size_of("head_dim", h.width);
  b.size_of("length", h.queries);
  const Dim rows = times(h.batch, h.heads);
  const Dims flat_q = {rows, h.queries, h.width}, flat_k = {rows, h.keys, h.width};
  const Dims scores = {rows, h.queries, h.keys};
  const ValueId queries = b.call("view.default", {q, flat_q}, flat_q);
  const ValueId keys = b.call("view.default", {k, flat_k}, flat_k);
  const ValueId values = b.call("view.default", {v, flat_k}, flat_k);
  const ValueId turned =
      b.call("permute.default", {keys, std::vector<IntExpr>{0, 2, 1}}, {rows, h.width, h.keys});
  const ValueId products = b.call("bmm.default", {queries, turned}, scores);
  ValueId weights = b.call("mul.Tensor", {products, scale}, scores);
  if (causal) {
    const Dims line = {h.queries}, column = {h.queries, Dim{1, 1}}, square = {h.queries, h.keys};
    const ValueId ramp = b.call("arange.start_step", {0, h.queries, 1, task::DType::kInt64}, line,
                                task::DType::kInt64);
    const ValueId down = b.call("unsqueeze.default", {ramp, 1}, column, task::DType::kInt64);
    ValueId seen = b.call("le.Tensor", {ramp, down}, square, task::DType::kBool);
    if (window > 0) {
      const ValueId first = b.call("sub.Tensor", {down, window}, column, task::DType::kInt64);
      const ValueId near = b.call("gt.Tensor", {ramp, first}, square, task::DType::kBool);
      seen = b.call("logical_and.default", {seen, near}, square, task::DType::kBool);
    }
    const ValueId hidden = b.call("full.default", {std::vector<IntExpr>{}, -INFINITY}, {});
    weights = b.call("where.self", {seen, weights, hidden}, scores);
  }
  const ValueId soft = b.call("_softmax.default", {weights, 2, false}, scores);
  const ValueId made = b.call("bmm.default", {soft, values}, {rows, h.queries, h.width});
  const Dims out = {h.batch, h.heads, h.queries, h.width};
  b.result(b.call("view.default", {made, out}, out), out).range(-2, 2);
}
void full_attention(Builder& b) {
  attention(b, false, 0);
}
void causal_attention(Builder& b) {
  attention(b, true, 0);
}
void window_attention(Builder& b) {
  attention(b, true, b.whole("window", b.pick<std::int64_t>({2, 4, 8, 16, 32, 64, 5})));
}

// (q k^T) v without softmax, [B, T, D], as k^T v first
void linear_attention(Builder& b) {
  const std::int64_t d = b.pick<std::int64_t>({16, 32, 64, 48});
  const std::int64_t length =
      b.size(2, std::clamp<std::int64_t>(b.limits.max_elements / (4 * d), 2, 4096));
  const Dim B = b.axis("batch_size", b.size(1, 8), false), T = b.axis("seq_len", length, false),
            D = b.axis("dim", d);
  const ValueId q = b.input("q", {B, T, D}).id;
  const ValueId k = b.input("k", {B, T, D}).id;
  const ValueId v = b.input("v", {B, T, D}).id;
  const ValueId turned = b.call("permute.default", {k, std::vector<IntExpr>{0, 2, 1}}, {B, D, T});
  const ValueId state = b.call("bmm.default", {turned, v}, {B, D, D});
  b.result(b.call("bmm.default", {q, state}, {B, T, D}), {B, T, D}).range(-1e3, 1e3);
}

// Of `groups` heads of queries for each one of keys
void grouped_attention(Builder& b) {
  const std::int64_t groups = b.pick<std::int64_t>({2, 2, 4, 8});
  const Heads h = draw(b, true);
  b.fix(h.heads);
  const Dim all = times(h.heads, {groups, groups});
  const Dims narrow = {h.batch, h.heads, h.keys, h.width};
  const ValueId q = b.input("q", {h.batch, all, h.queries, h.width}).id;
  const ValueId k = b.input("k", narrow).id, v = b.input("v", narrow).id;
  b.whole("groups", groups);
  b.size_of("head_dim", h.width);
  // The queries of a group one below the other.
  const Dim maps = times(h.batch, h.heads), rows = times(h.queries, {groups, groups});
  const Dims flat = {maps, h.keys, h.width}, scores = {maps, rows, h.keys};
  const ValueId queries =
      b.call("view.default", {q, Dims{maps, rows, h.width}}, {maps, rows, h.width});
  const ValueId keys = b.call("view.default", {k, flat}, flat);
  const ValueId values = b.call("view.default", {v, flat}, flat);
  const ValueId turned =
      b.call("permute.default", {keys, std::vector<IntExpr>{0, 2, 1}}, {maps, h.width, h.keys});
  const ValueId products = b.call("bmm.default", {queries, turned}, scores);
  const double scale = 1 / std::sqrt(static_cast<double>(h.width.n));
  const ValueId weights = b.call("mul.Tensor", {products, scale}, scores);
  const ValueId soft = b.call("_softmax.default", {weights, 2, false}, scores);
  const ValueId made = b.call("bmm.default", {soft, values}, {maps, rows, h.width});
  const Dims out = {h.batch, all, h.queries, h.width};
  b.result(b.call("view.default", {made, out}, out), out).range(-2, 2);
}

}  // namespace

std::vector<OpSpec> attention_operators() {
  constexpr std::string_view kFamily = "attention";
  return {
      {"attention",
       kFamily,
       3,
       4,
       Domain::kNone,
       nullptr,
       full_attention,
       "scaled dot-product attention (scale 1 / sqrt({head_dim}))",
       {{"", "F.scaled_dot_product_attention({x}, {y}, {z})"},
        {"", "torch.nn.functional.scaled_dot_product_attention({x}, {y}, {z})"},
        {"",
         "{t:scores} = torch.matmul({x}, {y}.transpose(-2, -1)) / math.sqrt({head_dim})\n{t:attn} "
         "= F.softmax({t:scores}, dim=-1)\ntorch.matmul({t:attn}, {z})"},
        {"",
         "{t:scale} = {head_dim} ** -0.5\n{t:attn} = ({x} @ {y}.transpose(-1, -2) * "
         "{t:scale}).softmax(dim=-1)\n{t:attn} @ {z}"},
        {"",
         "{t:scores} = torch.einsum(\"bhqd,bhkd->bhqk\", {x}, {y}) / {head_dim} ** "
         "0.5\ntorch.einsum(\"bhqk,bhkd->bhqd\", torch.softmax({t:scores}, dim=-1), {z})"}}},
      {"causal_attention",
       kFamily,
       2.5,
       4,
       Domain::kNone,
       nullptr,
       causal_attention,
       "causal scaled dot-product attention (scale 1 / sqrt({head_dim}))",
       {{"", "F.scaled_dot_product_attention({x}, {y}, {z}, is_causal=True)"},
        {"",
         "{t:mask} = torch.tril(torch.ones({length}, {length}, dtype=torch.bool, "
         "device={x}.device))\nF.scaled_dot_product_attention({x}, {y}, {z}, attn_mask={t:mask})"},
        {"",
         "{t:scores} = {x} @ {y}.transpose(-2, -1) / math.sqrt({head_dim})\n{t:mask} = "
         "torch.triu(torch.ones({length}, {length}), diagonal=1).bool()\n{t:scores} = "
         "{t:scores}.masked_fill({t:mask}, float(\"-inf\"))\ntorch.softmax({t:scores}, dim=-1) @ "
         "{z}"},
        {"",
         "{t:attn} = torch.matmul({x}, {y}.transpose(-2, -1)) * (1.0 / "
         "math.sqrt({x}.size(-1)))\n{t:keep} = torch.ones({length}, {length}).tril()\n{t:attn} = "
         "{t:attn}.masked_fill({t:keep} == 0, float(\"-inf\"))\n{t:attn} = F.softmax({t:attn}, "
         "dim=-1)\n{t:attn} @ {z}"},
        {"",
         "{t:pos} = torch.arange({length})\n{t:visible} = {t:pos}[None, :] <= {t:pos}[:, "
         "None]\n{t:scores} = torch.einsum(\"bhid,bhjd->bhij\", {x}, {y}) * {head_dim} ** "
         "-0.5\n{t:scores} = torch.where({t:visible}, {t:scores}, "
         "float(\"-inf\"))\ntorch.einsum(\"bhij,bhjd->bhid\", {t:scores}.softmax(-1), {z})"}}},
      {"sliding_window_attention",
       kFamily,
       1,
       4,
       Domain::kNone,
       nullptr,
       window_attention,
       "scaled dot-product attention in which each query sees the {window} keys up to its own "
       "(scale "
       "1 / sqrt({head_dim}))",
       {{"",
         "{t:pos} = torch.arange({length})\n{t:dist} = {t:pos}[:, None] - {t:pos}[None, "
         ":]\n{t:mask} = ({t:dist} >= 0) & ({t:dist} < "
         "{window})\nF.scaled_dot_product_attention({x}, {y}, {z}, attn_mask={t:mask})"},
        {"",
         "{t:keep} = torch.ones({length}, {length}, dtype=torch.bool).tril().triu(1 - "
         "{window})\nF.scaled_dot_product_attention({x}, {y}, {z}, attn_mask={t:keep})"},
        {"",
         "{t:scores} = torch.matmul({x}, {y}.transpose(-2, -1)) / math.sqrt({head_dim})\n{t:band} "
         "= "
         "torch.tril(torch.ones({length}, {length})) - torch.tril(torch.ones({length}, {length}), "
         "diagonal=-{window})\n{t:scores} = {t:scores}.masked_fill({t:band} == 0, "
         "float(\"-inf\"))\ntorch.matmul(torch.softmax({t:scores}, dim=-1), {z})"},
        {"",
         "{t:i} = torch.arange({length}).unsqueeze(1)\n{t:j} = "
         "torch.arange({length}).unsqueeze(0)\n{t:hidden} = ({t:j} > {t:i}) | ({t:j} <= {t:i} - "
         "{window})\n{t:attn} = ({x} @ {y}.mT) * {head_dim} ** -0.5\n{t:attn} = "
         "F.softmax({t:attn}.masked_fill({t:hidden}, -torch.inf), dim=-1)\n{t:attn} @ {z}"},
        {"",
         "{t:scores} = torch.einsum(\"bhid,bhjd->bhij\", {x}, {y}) / {head_dim} ** "
         "0.5\n{t:bias} = torch.zeros({length}, {length})\n{t:bias} = "
         "{t:bias}.masked_fill(torch.ones({length}, {length}, dtype=torch.bool).triu(1), "
         "float(\"-inf\"))\n{t:bias} = {t:bias}.masked_fill(torch.ones({length}, {length}, "
         "dtype=torch.bool).tril(-{window}), float(\"-inf\"))\n"
         "torch.einsum(\"bhij,bhjd->bhid\", ({t:scores} + {t:bias}).softmax(-1), {z})"}}},
      {"grouped_query_attention",
       kFamily,
       1.5,
       4,
       Domain::kNone,
       nullptr,
       grouped_attention,
       "scaled dot-product attention of {groups} heads of queries to each head of keys (scale 1 / "
       "sqrt({head_dim}))",
       {{"",
         "F.scaled_dot_product_attention({x}, {y}.repeat_interleave({groups}, dim=1), "
         "{z}.repeat_interleave({groups}, dim=1))"},
        {"", "F.scaled_dot_product_attention({x}, {y}, {z}, enable_gqa=True)"},
        {"",
         "{t:k} = torch.repeat_interleave({y}, {groups}, dim=1)\n{t:v} = "
         "torch.repeat_interleave({z}, "
         "{groups}, dim=1)\n{t:scores} = {x} @ {t:k}.transpose(-2, -1) / "
         "math.sqrt({head_dim})\nF.softmax({t:scores}, dim=-1) @ {t:v}"},
        {"",
         "{t:k} = {y}[:, :, None].expand(-1, -1, {groups}, -1, -1).flatten(1, 2)\n{t:v} = {z}[:, "
         ":, "
         "None].expand(-1, -1, {groups}, -1, -1).flatten(1, 2)\n{t:attn} = (torch.matmul({x}, "
         "{t:k}.mT) * {head_dim} ** -0.5).softmax(-1)\ntorch.matmul({t:attn}, {t:v})"},
        {"",
         "{t:q} = {x}.unflatten(1, (-1, {groups}))\n{t:scores} = "
         "torch.einsum(\"bgrid,bgjd->bgrij\", {t:q}, {y}) / {head_dim} ** 0.5\n{t:out} = "
         "torch.einsum(\"bgrij,bgjd->bgrid\", torch.softmax({t:scores}, dim=-1), "
         "{z})\n{t:out}.flatten(1, 2)"}}},
      {"linear_attention",
       kFamily,
       1,
       3,
       Domain::kNone,
       nullptr,
       linear_attention,
       "q (k^T v), attention without softmax,",
       {{"", "{x} @ ({y}.transpose(1, 2) @ {z})"},
        {"", "torch.bmm({x}, torch.bmm({y}.transpose(1, 2), {z}))"},
        {"", "torch.matmul({x}, torch.matmul({y}.mT, {z}))"},
        {"",
         "{t:kv} = torch.einsum(\"btd,bte->bde\", {y}, {z})\ntorch.einsum(\"btd,bde->bte\", {x}, "
         "{t:kv})"},
        {"", "torch.matmul(torch.matmul({x}, {y}.transpose(-2, -1)), {z})"}}},
  };
}

}  // namespace kw::writer::generate
