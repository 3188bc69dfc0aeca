// Scaled dot-product attention and what is near to it.
#include <algorithm>
#include <cmath>
#include <limits>

#include "writer/generate/operators.h"

namespace kw::writer::generate {
namespace {

struct Heads {
  Dim batch, heads, queries, keys, width;
};

Heads draw_heads(Builder& b, bool square) {
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

// Flat factors of attention: queries [maps, rows, width], keys and values [maps, keys, width].
struct Maps {
  Dim maps, rows, keys, width;
};

// softmax(q k^T / sqrt(width)) v; hide: what becomes of the scores [maps, rows, keys] before.
template <typename Hide>
ValueId attended(Builder& b, const Maps& m, ValueId q, ValueId k, ValueId v, const Hide& hide) {
  const Dims scores = {m.maps, m.rows, m.keys};
  const ValueId turned =
      b.call("permute.default", {k, std::vector<IntExpr>{0, 2, 1}}, {m.maps, m.width, m.keys});
  const ValueId products = b.call("bmm.default", {q, turned}, scores);
  const double scale = 1 / std::sqrt(static_cast<double>(m.width.n));
  const ValueId seen = hide(b.call("mul.Tensor", {products, scale}, scores), scores);
  const ValueId soft = b.call("_softmax.default", {seen, 2, false}, scores);
  return b.call("bmm.default", {soft, v}, {m.maps, m.rows, m.width});
}
constexpr auto kHideNothing = [](ValueId scores, const Dims&) { return scores; };

ValueId as(Builder& b, ValueId value, const Dims& shape) {
  return b.call("view.default", {value, shape}, shape);
}

// -inf for the keys behind a query; window: 0, or of how many keys, its own the last one, it sees.
ValueId hide_causally(Builder& b, ValueId weights, const Dims& scores, std::int64_t window) {
  const Dim &queries = scores[1], &keys = scores[2];
  const Dims line = {queries}, column = {queries, Dim{1, 1}}, square = {queries, keys};
  const ValueId ramp = b.call("arange.start_step", {0, queries, 1, tensor::DType::kInt64}, line,
                              tensor::DType::kInt64);
  const ValueId down = b.call("unsqueeze.default", {ramp, 1}, column, tensor::DType::kInt64);
  ValueId seen = b.call("le.Tensor", {ramp, down}, square, tensor::DType::kBool);
  if (window > 0) {
    const ValueId first = b.call("sub.Tensor", {down, window}, column, tensor::DType::kInt64);
    const ValueId near = b.call("gt.Tensor", {ramp, first}, square, tensor::DType::kBool);
    seen = b.call("logical_and.default", {seen, near}, square, tensor::DType::kBool);
  }
  const ValueId hidden = b.call(
      "full.default", {std::vector<IntExpr>{}, -std::numeric_limits<double>::infinity()}, {});
  return b.call("where.self", {seen, weights, hidden}, scores);
}

void attention(Builder& b, bool causal, std::int64_t window) {
  const Heads h = draw_heads(b, causal);
  const ValueId q = b.input("q", {h.batch, h.heads, h.queries, h.width}).id;
  const ValueId k = b.input("k", {h.batch, h.heads, h.keys, h.width}).id;
  const ValueId v = b.input("v", {h.batch, h.heads, h.keys, h.width}).id;
  b.size_of("head_dim", h.width);
  b.size_of("length", h.queries);
  const Dim maps = times(h.batch, h.heads);
  const Dims flat = {maps, h.keys, h.width};
  const ValueId made =
      attended(b, {maps, h.queries, h.keys, h.width}, as(b, q, {maps, h.queries, h.width}),
               as(b, k, flat), as(b, v, flat), [&](ValueId weights, const Dims& scores) {
                 return causal ? hide_causally(b, weights, scores, window) : weights;
               });
  const Dims out = {h.batch, h.heads, h.queries, h.width};
  b.result(as(b, made, out), out).range(-2, 2);
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
  const Dim batch_dim = b.axis("batch_size", b.size(1, 8), false),
            length_dim = b.axis("seq_len", length, false), width_dim = b.axis("dim", d);
  const ValueId q = b.input("q", {batch_dim, length_dim, width_dim}).id;
  const ValueId k = b.input("k", {batch_dim, length_dim, width_dim}).id;
  const ValueId v = b.input("v", {batch_dim, length_dim, width_dim}).id;
  const ValueId turned = b.call("permute.default", {k, std::vector<IntExpr>{0, 2, 1}},
                                {batch_dim, width_dim, length_dim});
  const ValueId state = b.call("bmm.default", {turned, v}, {batch_dim, width_dim, width_dim});
  b.result(b.call("bmm.default", {q, state}, {batch_dim, length_dim, width_dim}),
           {batch_dim, length_dim, width_dim})
      .range(-1e3, 1e3);
}

// Of `groups` heads of queries for each one of keys
void grouped_attention(Builder& b) {
  const std::int64_t groups = b.pick<std::int64_t>({2, 2, 4, 8});
  const Heads h = draw_heads(b, true);
  b.fix(h.heads);
  const Dim all = times(h.heads, {groups, groups});
  const Dims narrow = {h.batch, h.heads, h.keys, h.width};
  const ValueId q = b.input("q", {h.batch, all, h.queries, h.width}).id;
  const ValueId k = b.input("k", narrow).id, v = b.input("v", narrow).id;
  b.whole("groups", groups);
  b.size_of("head_dim", h.width);
  // The queries of a group one below the other.
  const Dim maps = times(h.batch, h.heads), rows = times(h.queries, {groups, groups});
  const Dims flat = {maps, h.keys, h.width};
  const ValueId made = attended(b, {maps, rows, h.keys, h.width}, as(b, q, {maps, rows, h.width}),
                                as(b, k, flat), as(b, v, flat), kHideNothing);
  const Dims out = {h.batch, all, h.queries, h.width};
  b.result(as(b, made, out), out).range(-2, 2);
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
  const Dim batch_dim =
      b.axis("batch_size", b.size(1, std::clamp<std::int64_t>(most, 1, 64)), false);
  const Dim length_dim = b.axis("seq_len", length, false);
  // Numbers: no input has them for a dimension.
  const Dim heads_dim = {h, h}, width_dim = {d, d}, embed_dim = {e, e};
  const Dim all = times(embed_dim, {3, 3}), rows = times(batch_dim, length_dim),
            maps = times(batch_dim, heads_dim);
  const ValueId x = b.input("x", {batch_dim, length_dim, embed_dim}).id;
  b.size_of("embed_dim", embed_dim);
  b.size_of("num_heads", heads_dim);
  b.size_of("head_dim", width_dim);
  const ValueId in_weight =
      b.weight("in_proj_weight", {all, embed_dim}, Start::kWeight, embed_dim).id;
  const ValueId in_bias = b.weight("in_proj_bias", {all}, Start::kZeros).id;
  const ValueId out_weight =
      b.weight("out_proj.weight", {embed_dim, embed_dim}, Start::kWeight, embed_dim).id;
  const ValueId out_bias = b.weight("out_proj.bias", {embed_dim}, Start::kZeros).id;
  const auto linear = [&](ValueId value, ValueId weight, ValueId bias, const Dim& n) {
    const ValueId turned =
        b.call("permute.default", {weight, std::vector<IntExpr>{1, 0}}, {embed_dim, n});
    return b.call("addmm.default", {bias, value, turned}, {rows, n});
  };
  const ValueId flat = as(b, x, {rows, embed_dim});
  const ValueId made = linear(flat, in_weight, in_bias, all);
  const auto part = [&](int which) {
    const IntExpr& width = embed_dim.size;
    const Dims split = {batch_dim, length_dim, heads_dim, width_dim},
               heads = {batch_dim, heads_dim, length_dim, width_dim},
               each = {maps, length_dim, width_dim};
    const ValueId mine =
        b.call("slice.Tensor", {made, 1, width * which, width * (which + 1), 1}, {rows, embed_dim});
    const ValueId apart = as(b, mine, split);
    const ValueId turned =
        b.call("permute.default", {apart, std::vector<IntExpr>{0, 2, 1, 3}}, heads);
    return as(b, turned, each);
  };
  const ValueId q = part(0), k = part(1), v = part(2);
  const ValueId mixed =
      attended(b, {maps, length_dim, length_dim, width_dim}, q, k, v, kHideNothing);
  const ValueId heads = as(b, mixed, {batch_dim, heads_dim, length_dim, width_dim});
  const ValueId back = b.call("permute.default", {heads, std::vector<IntExpr>{0, 2, 1, 3}},
                              {batch_dim, length_dim, heads_dim, width_dim});
  const ValueId joined = as(b, back, {rows, embed_dim});
  const ValueId out = linear(joined, out_weight, out_bias, embed_dim);
  b.result(as(b, out, {batch_dim, length_dim, embed_dim}), {batch_dim, length_dim, embed_dim})
      .range(-3, 3);
}

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

OpSpec attention_operator() {
  return {
      .name = "attention",
      .weight = 3,
      .tier = 4,
      .domain = Domain::kNone,
      .build = full_attention,
      .words = "scaled dot-product attention (scale 1 / sqrt({head_dim}))",
      .ways = {{"", "F.scaled_dot_product_attention({x}, {y}, {z})"},
               {"", "torch.nn.functional.scaled_dot_product_attention({x}, {y}, {z})"},
               {"", R"({t:scores} = torch.matmul({x}, {y}.transpose(-2, -1)) / math.sqrt({head_dim})
{t:attn} = F.softmax({t:scores}, dim=-1)
torch.matmul({t:attn}, {z}))"},
               {"", R"({t:scale} = {head_dim} ** -0.5
{t:attn} = ({x} @ {y}.transpose(-1, -2) * {t:scale}).softmax(dim=-1)
{t:attn} @ {z})"},
               {"", R"({t:scores} = torch.einsum("bhqd,bhkd->bhqk", {x}, {y}) / {head_dim} ** 0.5
torch.einsum("bhqk,bhkd->bhqd", torch.softmax({t:scores}, dim=-1), {z}))"},
               {"", R"({t:scores} = {x} @ {y}.mT / math.sqrt({head_dim})
{t:e} = torch.exp({t:scores} - {t:scores}.amax(dim=-1, keepdim=True))
({t:e} @ {z}) / {t:e}.sum(dim=-1, keepdim=True))"},
               {"", R"({t:k} = {y}.flatten(0, 1).transpose(1, 2)
{t:probs} = torch.bmm({x}.flatten(0, 1), {t:k}).mul({head_dim} ** -0.5).softmax(-1)
torch.bmm({t:probs}, {z}.flatten(0, 1)).unflatten(0, ({x}.size(0), -1)))"}}};
}

OpSpec causal_attention_operator() {
  return {
      .name = "causal_attention",
      .weight = 2.5,
      .tier = 4,
      .domain = Domain::kNone,
      .build = causal_attention,
      .words = "causal scaled dot-product attention (scale 1 / sqrt({head_dim}))",
      .ways = {
          {"", "F.scaled_dot_product_attention({x}, {y}, {z}, is_causal=True)"},
          {"",
           R"({t:mask} = torch.tril(torch.ones({length}, {length}, dtype=torch.bool, device={x}.device))
F.scaled_dot_product_attention({x}, {y}, {z}, attn_mask={t:mask}))"},
          {"", R"({t:scores} = {x} @ {y}.transpose(-2, -1) / math.sqrt({head_dim})
{t:mask} = torch.triu(torch.ones({length}, {length}), diagonal=1).bool()
{t:scores} = {t:scores}.masked_fill({t:mask}, float("-inf"))
torch.softmax({t:scores}, dim=-1) @ {z})"},
          {"",
           R"({t:attn} = torch.matmul({x}, {y}.transpose(-2, -1)) * (1.0 / math.sqrt({x}.size(-1)))
{t:keep} = torch.ones({length}, {length}).tril()
{t:attn} = {t:attn}.masked_fill({t:keep} == 0, float("-inf"))
{t:attn} = F.softmax({t:attn}, dim=-1)
{t:attn} @ {z})"},
          {"", R"({t:pos} = torch.arange({length})
{t:visible} = {t:pos}[None, :] <= {t:pos}[:, None]
{t:scores} = torch.einsum("bhid,bhjd->bhij", {x}, {y}) * {head_dim} ** -0.5
{t:scores} = torch.where({t:visible}, {t:scores}, float("-inf"))
torch.einsum("bhij,bhjd->bhid", {t:scores}.softmax(-1), {z}))"}}};
}

OpSpec sliding_window_attention_operator() {
  return {
      .name = "sliding_window_attention",
      .tier = 4,
      .domain = Domain::kNone,
      .build = window_attention,
      .words =
          "scaled dot-product attention in which each query sees the {window} keys up to its own "
          "(scale 1 / sqrt({head_dim}))",
      .ways = {
          {"", R"({t:pos} = torch.arange({length})
{t:dist} = {t:pos}[:, None] - {t:pos}[None, :]
{t:mask} = ({t:dist} >= 0) & ({t:dist} < {window})
F.scaled_dot_product_attention({x}, {y}, {z}, attn_mask={t:mask}))"},
          {"",
           R"({t:keep} = torch.ones({length}, {length}, dtype=torch.bool).tril().triu(1 - {window})
F.scaled_dot_product_attention({x}, {y}, {z}, attn_mask={t:keep}))"},
          {"", R"({t:scores} = torch.matmul({x}, {y}.transpose(-2, -1)) / math.sqrt({head_dim})
{t:band} = torch.tril(torch.ones({length}, {length})) - torch.tril(torch.ones({length}, {length}), diagonal=-{window})
{t:scores} = {t:scores}.masked_fill({t:band} == 0, float("-inf"))
torch.matmul(torch.softmax({t:scores}, dim=-1), {z}))"},
          {"", R"({t:i} = torch.arange({length}).unsqueeze(1)
{t:j} = torch.arange({length}).unsqueeze(0)
{t:hidden} = ({t:j} > {t:i}) | ({t:j} <= {t:i} - {window})
{t:attn} = ({x} @ {y}.mT) * {head_dim} ** -0.5
{t:attn} = F.softmax({t:attn}.masked_fill({t:hidden}, -torch.inf), dim=-1)
{t:attn} @ {z})"},
          {"", R"({t:scores} = torch.einsum("bhid,bhjd->bhij", {x}, {y}) / {head_dim} ** 0.5
{t:bias} = torch.zeros({length}, {length})
{t:bias} = {t:bias}.masked_fill(torch.ones({length}, {length}, dtype=torch.bool).triu(1), float("-inf"))
{t:bias} = {t:bias}.masked_fill(torch.ones({length}, {length}, dtype=torch.bool).tril(-{window}), float("-inf"))
torch.einsum("bhij,bhjd->bhid", ({t:scores} + {t:bias}).softmax(-1), {z}))"}}};
}

OpSpec grouped_query_attention_operator() {
  return {.name = "grouped_query_attention",
          .weight = 1.5,
          .tier = 4,
          .domain = Domain::kNone,
          .build = grouped_attention,
          .words =
              "scaled dot-product attention of {groups} heads of queries to each head of keys "
              "(scale 1 / sqrt({head_dim}))",
          .ways = {{"",
                    "F.scaled_dot_product_attention({x}, {y}.repeat_interleave({groups}, dim=1), "
                    "{z}.repeat_interleave({groups}, dim=1))"},
                   {"", "F.scaled_dot_product_attention({x}, {y}, {z}, enable_gqa=True)"},
                   {"", R"({t:k} = torch.repeat_interleave({y}, {groups}, dim=1)
{t:v} = torch.repeat_interleave({z}, {groups}, dim=1)
{t:scores} = {x} @ {t:k}.transpose(-2, -1) / math.sqrt({head_dim})
F.softmax({t:scores}, dim=-1) @ {t:v})"},
                   {"", R"({t:k} = {y}[:, :, None].expand(-1, -1, {groups}, -1, -1).flatten(1, 2)
{t:v} = {z}[:, :, None].expand(-1, -1, {groups}, -1, -1).flatten(1, 2)
{t:attn} = (torch.matmul({x}, {t:k}.mT) * {head_dim} ** -0.5).softmax(-1)
torch.matmul({t:attn}, {t:v}))"},
                   {"", R"({t:q} = {x}.unflatten(1, (-1, {groups}))
{t:scores} = torch.einsum("bgrid,bgjd->bgrij", {t:q}, {y}) / {head_dim} ** 0.5
{t:out} = torch.einsum("bgrij,bgjd->bgrid", torch.softmax({t:scores}, dim=-1), {z})
{t:out}.flatten(1, 2))"}}};
}

OpSpec multihead_attention_operator() {
  return {
      .name = "multihead_attention",
      .tier = 4,
      .domain = Domain::kNone,
      .build = multihead_attention,
      .words = "multi-head self-attention with {num_heads} heads of {head_dim} and its projections",
      .ways = {
          {"nn.MultiheadAttention({embed_dim}, {num_heads}, batch_first=True)",
           "self.{m}({x}, {x}, {x}, need_weights=False)[0]"},
          {"nn.MultiheadAttention(embed_dim={embed_dim}, num_heads={num_heads}, batch_first=True)",
           R"({t:attended}, _ = self.{m}({x}, {x}, {x})
{t:attended})"},
          {"nn.MultiheadAttention({embed_dim}, {num_heads})", R"({t:seq} = {x}.transpose(0, 1)
self.{m}({t:seq}, {t:seq}, {t:seq}, need_weights=False)[0].transpose(0, 1))"},
          {"", R"({t:b}, {t:n}, {t:width} = {x}.shape
{t:qkv} = F.linear({x}, {in_proj_weight}, {in_proj_bias}).reshape({t:b}, {t:n}, 3, {num_heads}, {head_dim}).permute(2, 0, 3, 1, 4)
{t:q}, {t:k}, {t:v} = {t:qkv}[0], {t:qkv}[1], {t:qkv}[2]
{t:attn} = ({t:q} @ {t:k}.transpose(-2, -1) * {head_dim} ** -0.5).softmax(dim=-1)
{t:mixed} = ({t:attn} @ {t:v}).transpose(1, 2).reshape({t:b}, {t:n}, {t:width})
F.linear({t:mixed}, {out_proj.weight}, {out_proj.bias}))"},
          {"",
           R"({t:q}, {t:k}, {t:v} = F.linear({x}, {in_proj_weight}, {in_proj_bias}).chunk(3, dim=-1)
{t:q} = {t:q}.unflatten(-1, ({num_heads}, {head_dim})).transpose(1, 2)
{t:k} = {t:k}.unflatten(-1, ({num_heads}, {head_dim})).transpose(1, 2)
{t:v} = {t:v}.unflatten(-1, ({num_heads}, {head_dim})).transpose(1, 2)
{t:mixed} = F.scaled_dot_product_attention({t:q}, {t:k}, {t:v}).transpose(1, 2).flatten(2)
F.linear({t:mixed}, {out_proj.weight}, {out_proj.bias}))"},
          {"", R"({t:wq}, {t:wk}, {t:wv} = {in_proj_weight}.chunk(3)
{t:bq}, {t:bk}, {t:bv} = {in_proj_bias}.chunk(3)
{t:q} = ({x} @ {t:wq}.t() + {t:bq}).unflatten(-1, ({num_heads}, -1))
{t:k} = ({x} @ {t:wk}.t() + {t:bk}).unflatten(-1, ({num_heads}, -1))
{t:v} = ({x} @ {t:wv}.t() + {t:bv}).unflatten(-1, ({num_heads}, -1))
{t:scores} = torch.einsum("bihd,bjhd->bhij", {t:q}, {t:k}) / math.sqrt({head_dim})
{t:mixed} = torch.einsum("bhij,bjhd->bihd", torch.softmax({t:scores}, dim=-1), {t:v}).flatten(2)
{t:mixed} @ {out_proj.weight}.t() + {out_proj.bias})"}}};
}

OpSpec linear_attention_operator() {
  return {.name = "linear_attention",
          .tier = 3,
          .domain = Domain::kNone,
          .build = linear_attention,
          .words = "q (k^T v), attention without softmax,",
          .ways = {{"", "{x} @ ({y}.transpose(1, 2) @ {z})"},
                   {"", "torch.bmm({x}, torch.bmm({y}.transpose(1, 2), {z}))"},
                   {"", "torch.matmul({x}, torch.matmul({y}.mT, {z}))"},
                   {"", R"({t:kv} = torch.einsum("btd,bte->bde", {y}, {z})
torch.einsum("btd,bde->bte", {x}, {t:kv}))"},
                   {"", "torch.matmul(torch.matmul({x}, {y}.transpose(-2, -1)), {z})"}}};
}

OpSpec rotary_embedding_operator() {
  return {
      .name = "rotary_embedding",
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

}  // namespace

std::vector<OpSpec> attention_operators() {
  return {attention_operator(),
          causal_attention_operator(),
          sliding_window_attention_operator(),
          grouped_query_attention_operator(),
          multihead_attention_operator(),
          linear_attention_operator(),
          rotary_embedding_operator()};
}

}  // namespace kw::writer::generate
