// Losses: one number of two tensors.
#include <algorithm>
#include <cmath>

#include "writer/generate/operators.h"

namespace kw::writer::generate {
namespace {

bool is_prediction(const Value& x, const Limits&) {
  return x.dtype == tensor::DType::kFloat32 && !x.shape.empty() && elements(x.shape) >= 4 &&
         x.magnitude() < 50 && !x.centred;
}
bool is_logits(const Value& x, const Limits& limits) {
  return is_prediction(x, limits) && x.shape.size() == 2 && x.shape[1].n >= 2;
}
bool is_prediction_matrix(const Value& x, const Limits& limits) {
  return is_prediction(x, limits) && x.shape.size() == 2 && x.shape[1].n >= 4;
}

std::vector<IntExpr> every(const Dims& shape) {
  std::vector<IntExpr> out;
  for (std::size_t d = 0; d < shape.size(); ++d) out.emplace_back(static_cast<std::int64_t>(d));
  return out;
}
// The mean, or the sum, of all elements
void finish(Builder& b, ValueId each, const Dims& shape) {
  const bool mean = b.flag("mean", b.chance(0.75), true);
  b.text("reduction", mean ? "\"mean\"" : "\"sum\"", mean);
  b.result(b.call(mean ? "mean.dim" : "sum.dim_IntList", {each, every(shape), false}, {}), {})
      .range(0, 1e6);
}

void squared_error(Builder& b) {
  const Dims shape = b.x().shape;
  b.input("targets", shape);
  const ValueId gap = b.call("sub.Tensor", {b.x(), b.in(1)}, shape);
  finish(b, b.call("mul.Tensor", {gap, gap}, shape), shape);
}
void absolute_error(Builder& b) {
  const Dims shape = b.x().shape;
  b.input("target", shape);
  const ValueId gap = b.call("sub.Tensor", {b.x(), b.in(1)}, shape);
  finish(b, b.call("abs.default", {gap}, shape), shape);
}
// 0.5 gap^2 / beta where |gap| < beta, else |gap| - 0.5 beta; times `scale`
void smooth(Builder& b, double beta, double scale) {
  const Dims shape = b.x().shape;
  b.input("targets", shape);
  const ValueId gap = b.call("sub.Tensor", {b.x(), b.in(1)}, shape);
  const ValueId size = b.call("abs.default", {gap}, shape);
  const ValueId near = b.call("lt.Scalar", {size, beta}, shape, tensor::DType::kBool);
  const ValueId square = b.call("mul.Tensor", {size, size}, shape);
  const ValueId inside = b.call("mul.Tensor", {square, 0.5 * scale / beta}, shape);
  const ValueId shifted = b.call("sub.Tensor", {size, 0.5 * beta}, shape);
  const ValueId outside = b.call("mul.Tensor", {shifted, scale}, shape);
  finish(b, b.call("where.self", {near, inside, outside}, shape), shape);
}
void smooth_l1(Builder& b) {
  smooth(b, b.real("beta", b.number({1.0, 1.0, 0.5, 2.0}), 1.0), 1);
}
void huber(Builder& b) {
  const double delta = b.real("delta", b.number({1.0, 0.5, 2.0}), 1.0);
  smooth(b, delta, delta);
}
// max(x, 0) - x y + log(1 + exp(-|x|))
void bce_with_logits(Builder& b) {
  b.flag("small", b.x().magnitude() < 20);  // no logarithm of 0
  const Dims shape = b.x().shape;
  b.input("targets", shape, Filling::kUniform);
  const ValueId top = b.call("relu.default", {b.x()}, shape);
  const ValueId both = b.call("mul.Tensor", {b.x(), b.in(1)}, shape);
  const ValueId first = b.call("sub.Tensor", {top, both}, shape);
  const ValueId size = b.call("abs.default", {b.x()}, shape);
  const ValueId negative = b.call("neg.default", {size}, shape);
  const ValueId small = b.call("exp.default", {negative}, shape);
  const ValueId soft = b.call("log1p.default", {small}, shape);
  finish(b, b.call("add.Tensor", {first, soft}, shape), shape);
}
void cross_entropy(Builder& b) {
  const Dims shape = b.x().shape;
  b.indices("targets", {shape[0]}, shape[1]);
  const bool mean = b.flag("mean", b.chance(0.8), true);
  b.text("reduction", mean ? "\"mean\"" : "\"sum\"", mean);
  const ValueId logs = b.call("_log_softmax.default", {b.x(), 1, false}, shape);
  const int node =
      b.call_several("nll_loss_forward.default", {logs, b.in(1), nullptr, mean ? 1 : 2, -100},
                     {type_of({}), std::nullopt});
  b.result({node, 0}, {}).range(0, 1e6);
}
// mean(max(0, margin - x y)), y -1 or 1
void hinge(Builder& b) {
  const Dims shape = b.x().shape;
  const double margin = b.real("margin", b.chance(0.7) ? 1.0 : b.number({0.5, 2.0}));
  b.input("targets", shape, Filling::kSigns);
  const ValueId both = b.call("mul.Tensor", {b.x(), b.in(1)}, shape);
  const ValueId negative = b.call("neg.default", {both}, shape);
  const ValueId shifted = b.call("add.Tensor", {negative, margin}, shape);
  finish(b, b.call("relu.default", {shifted}, shape), shape);
}
// Sum of y (log y - x) over all, divided by the batch; x: logarithms
void kl_divergence(Builder& b) {
  const Dims shape = b.x().shape;
  b.input("targets", shape, Filling::kProbabilities);
  const ValueId logs = b.call("_log_softmax.default", {b.x(), 1, false}, shape);
  const ValueId own = b.call("log.default", {b.in(1)}, shape);
  const ValueId gap = b.call("sub.Tensor", {own, logs}, shape);
  const ValueId each = b.call("mul.Tensor", {b.in(1), gap}, shape);
  const ValueId sum = b.call("sum.dim_IntList", {each, every(shape), false}, {});
  b.result(b.call("div.Tensor", {sum, shape[0]}, {}), {}).range(0, 1e4);
}
// mean(max(0, |a - p| - |a - n| + margin))
void triplet(Builder& b) {
  const Dims shape = b.x().shape;
  const double margin = b.real("margin", b.number({1.0, 0.5, 2.0}));
  b.input("positive", shape);
  b.input("negative", shape);
  const std::vector<IntExpr> last = {1};
  const auto distance = [&](const Value& to) {
    const ValueId gap = b.call("sub.Tensor", {b.x(), to}, shape);
    const ValueId moved = b.call("add.Tensor", {gap, 1e-6}, shape);
    return b.call("linalg_vector_norm.default", {moved, 2.0, last, false}, {shape[0]});
  };
  const ValueId near = distance(b.in(1)), far = distance(b.in(2));
  const ValueId gap = b.call("sub.Tensor", {near, far}, {shape[0]});
  const ValueId shifted = b.call("add.Tensor", {gap, margin}, {shape[0]});
  const ValueId top = b.call("relu.default", {shifted}, {shape[0]});
  b.result(b.call("mean.dim", {top, std::vector<IntExpr>{0}, false}, {}), {}).range(0, 1e4);
}
// x.y / max(|x| |y|, eps) along the last dimension
void cosine(Builder& b) {
  const Dims shape = b.x().shape;
  b.companion(shape);
  const std::vector<IntExpr> last = {1};
  const Dims rows = {shape[0]};
  const auto dot = [&](const Value& p, const Value& q) {
    const ValueId both = b.call("mul.Tensor", {p, q}, shape);
    return b.call("sum.dim_IntList", {both, last, false}, rows);
  };
  const ValueId xy = dot(b.x(), b.in(1)), xx = dot(b.x(), b.x()), yy = dot(b.in(1), b.in(1));
  const ValueId square = b.call("mul.Tensor", {xx, yy}, rows);
  const ValueId length = b.call("sqrt.default", {square}, rows);
  const ValueId below = b.call("clamp.default", {length, 1e-8, nullptr}, rows);
  b.result(b.call("div.Tensor", {xy, below}, rows), rows).range(-1, 1);
}

OpSpec mse_loss_operator() {
  return {.name = "mse_loss",
          .weight = 2,
          .tier = 2,
          .domain = Domain::kMatrix,
          .fits = is_prediction,
          .build = squared_error,
          .words = "the squared error (mean: {mean}, else the sum)",
          .ways = {{"nn.MSELoss([[reduction={reduction}]])", "self.{m}({x}, {y})"},
                   {"", "F.mse_loss({x}, {y}[[, reduction={reduction}]])"},
                   {"", "torch.mean(({x} - {y}) ** 2)", "mean"},
                   {"", "(({x} - {y}) ** 2).mean()", "mean"},
                   {"", "torch.sum(({x} - {y}).pow(2))", "!mean"},
                   {"", R"({t:diff} = {x} - {y}
({t:diff} * {t:diff}).sum())",
                    "!mean"},
                   {"", "torch.square({x} - {y}).mean()", "mean"},
                   {"", R"({t:diff} = ({x} - {y}).flatten()
torch.dot({t:diff}, {t:diff}))",
                    "!mean"}}};
}

OpSpec l1_loss_operator() {
  return {.name = "l1_loss",
          .tier = 2,
          .domain = Domain::kMatrix,
          .fits = is_prediction,
          .build = absolute_error,
          .words = "the absolute error (mean: {mean}, else the sum)",
          .ways = {{"nn.L1Loss([[reduction={reduction}]])", "self.{m}({x}, {y})"},
                   {"", "F.l1_loss({x}, {y}[[, reduction={reduction}]])"},
                   {"", "torch.mean(torch.abs({x} - {y}))", "mean"},
                   {"", "({x} - {y}).abs().mean()", "mean"},
                   {"", "({x} - {y}).abs().sum()", "!mean"},
                   {"", "torch.abs({x} - {y}).sum()", "!mean"},
                   {"", "torch.norm({x} - {y}, p=1)", "!mean"},
                   {"", "torch.sum(({x} - {y}).abs()) / {x}.numel()", "mean"}}};
}

OpSpec smooth_l1_loss_operator() {
  return {
      .name = "smooth_l1_loss",
      .weight = 1.2,
      .tier = 2,
      .domain = Domain::kMatrix,
      .fits = is_prediction,
      .build = smooth_l1,
      .words = "the smooth L1 loss (beta {beta}, mean: {mean}, else the sum)",
      .ways = {
          {"nn.SmoothL1Loss([[reduction={reduction}, ]]beta={beta})", "self.{m}({x}, {y})"},
          {"", "F.smooth_l1_loss({x}, {y}[[, reduction={reduction}]][[, beta={beta}]])"},
          {"", "torch.nn.functional.smooth_l1_loss({x}, {y}, beta={beta}, reduction={reduction})"},
          {"", R"({t:d} = torch.abs({x} - {y})
torch.where({t:d} < {beta}, 0.5 * {t:d} ** 2 / {beta}, {t:d} - 0.5 * {beta}).mean())",
           "mean"},
          {"", R"({t:d} = ({x} - {y}).abs()
torch.where({t:d} < {beta}, 0.5 * {t:d} * {t:d} / {beta}, {t:d} - 0.5 * {beta}).sum())",
           "!mean"},
          {"", "F.huber_loss({x}, {y}, reduction={reduction}, delta={beta}) / {beta}"},
          {"", R"({t:d} = torch.abs({x} - {y})
{t:near} = torch.clamp({t:d}, max={beta})
({t:near} * ({t:d} - 0.5 * {t:near})).mean() / {beta})",
           "mean"},
          {"", R"({t:d} = torch.abs({x} - {y})
{t:near} = torch.clamp({t:d}, max={beta})
({t:near} * ({t:d} - 0.5 * {t:near})).sum() / {beta})",
           "!mean"}}};
}

OpSpec huber_loss_operator() {
  return {
      .name = "huber_loss",
      .weight = 1.2,
      .tier = 2,
      .domain = Domain::kMatrix,
      .fits = is_prediction,
      .build = huber,
      .words = "the Huber loss (delta {delta}, mean: {mean}, else the sum)",
      .ways = {
          {"nn.HuberLoss([[reduction={reduction}, ]]delta={delta})", "self.{m}({x}, {y})"},
          {"", "F.huber_loss({x}, {y}[[, reduction={reduction}]][[, delta={delta}]])"},
          {"", "torch.nn.functional.huber_loss({x}, {y}, reduction={reduction}, delta={delta})"},
          {"", R"({t:d} = torch.abs({x} - {y})
torch.where({t:d} < {delta}, 0.5 * {t:d} ** 2, {delta} * ({t:d} - 0.5 * {delta})).mean())",
           "mean"},
          {"", R"({t:d} = torch.abs({x} - {y})
torch.where({t:d} < {delta}, 0.5 * {t:d} ** 2, {delta} * ({t:d} - 0.5 * {delta})).sum())",
           "!mean"},
          {"", "{delta} * F.smooth_l1_loss({x}, {y}, reduction={reduction}, beta={delta})"},
          {"", R"({t:gap} = ({x} - {y}).abs()
{t:quad} = {t:gap}.clamp(max={delta})
torch.mean(0.5 * {t:quad} ** 2 + {delta} * ({t:gap} - {t:quad})))",
           "mean"},
          {"", R"({t:gap} = ({x} - {y}).abs()
{t:quad} = {t:gap}.clamp(max={delta})
torch.sum(0.5 * {t:quad} ** 2 + {delta} * ({t:gap} - {t:quad})))",
           "!mean"}}};
}

OpSpec bce_with_logits_loss_operator() {
  return {
      .name = "bce_with_logits_loss",
      .weight = 1.2,
      .tier = 3,
      .domain = Domain::kMatrix,
      .fits = is_prediction,
      .build = bce_with_logits,
      .words = "the binary cross entropy of logits (mean: {mean}, else the sum)",
      .ways = {
          {"nn.BCEWithLogitsLoss([[reduction={reduction}]])", "self.{m}({x}, {y})"},
          {"", "F.binary_cross_entropy_with_logits({x}, {y}[[, reduction={reduction}]])"},
          {"", "F.binary_cross_entropy(torch.sigmoid({x}), {y}[[, reduction={reduction}]])",
           "small"},
          {"",
           "(torch.clamp({x}, min=0) - {x} * {y} + torch.log1p(torch.exp(-torch.abs({x})))).mean()",
           "mean"},
          {"", "(F.softplus({x}) - {x} * {y}).sum()", "!mean"},
          {"", "torch.mean(F.softplus({x}) - {x} * {y})", "mean"},
          {"", "(torch.logaddexp(torch.zeros_like({x}), {x}) - {x} * {y}).mean()", "mean"},
          {"", "-torch.sum({y} * F.logsigmoid({x}) + (1 - {y}) * F.logsigmoid(-{x}))", "!mean"},
          {"", R"({t:soft} = torch.log1p(torch.exp(-{x}.abs()))
torch.sum(F.relu({x}) - {x} * {y} + {t:soft}))",
           "!mean"}}};
}

OpSpec cross_entropy_operator() {
  return {.name = "cross_entropy",
          .weight = 2.5,
          .tier = 3,
          .domain = Domain::kMatrix,
          .fits = is_logits,
          .build = cross_entropy,
          .words = "the cross entropy of logits with class indices (mean: {mean}, else the sum)",
          .ways = {
              {"nn.CrossEntropyLoss([[reduction={reduction}]])", "self.{m}({x}, {y})"},
              {"", "F.cross_entropy({x}, {y}[[, reduction={reduction}]])"},
              {"", "torch.nn.functional.cross_entropy({x}, {y}[[, reduction={reduction}]])"},
              {"", "F.nll_loss(F.log_softmax({x}, dim=1), {y}[[, reduction={reduction}]])"},
              {"", R"({t:logp} = torch.log_softmax({x}, dim=-1)
-{t:logp}.gather(1, {y}.unsqueeze(1)).mean())",
               "mean"},
              {"", "(torch.logsumexp({x}, dim=1) - {x}.gather(1, {y}[:, None]).squeeze(1)).sum()",
               "!mean"},
              {"nn.NLLLoss([[reduction={reduction}]])", "self.{m}(F.log_softmax({x}, dim=1), {y})"},
              {"", R"({t:logp} = {x}.log_softmax(dim=1)
{t:nll} = -{t:logp}[torch.arange({x}.shape[0]), {y}]
{t:nll}.sum())",
               "!mean"}}};
}

OpSpec hinge_loss_operator() {
  return {
      .name = "hinge_loss",
      .tier = 2,
      .domain = Domain::kMatrix,
      .fits = is_prediction,
      .build = hinge,
      .words = "the hinge loss with margin {margin} (mean: {mean}, else the sum)",
      .ways = {{"", "torch.mean(torch.clamp({margin} - {x} * {y}, min=0))", "mean"},
               {"", "F.relu({margin} - {x} * {y}).mean()", "mean"},
               {"", "torch.clamp({margin} - {y} * {x}, min=0).mean()", "mean"},
               {"", "F.relu({margin} - {x} * {y}).sum()", "!mean"},
               {"", "torch.sum(torch.clamp({margin} - {x} * {y}, min=0))", "!mean"},
               {"", R"({t:slack} = {margin} - {x} * {y}
({t:slack} * ({t:slack} > 0)).sum())",
                "!mean"},
               {"nn.ReLU()", "self.{m}({margin} - {x} * {y}).mean()", "mean"},
               {"nn.ReLU()", "self.{m}({margin} - {x} * {y}).sum()", "!mean"},
               {"", "torch.maximum({margin} - {x} * {y}, torch.zeros_like({x})).mean()", "mean"},
               {"", "({margin} - {y} * {x}).clamp_min(0).sum()", "!mean"}}};
}

OpSpec kl_div_operator() {
  return {
      .name = "kl_div",
      .tier = 3,
      .domain = Domain::kMatrix,
      .fits = is_logits,
      .build = kl_divergence,
      .words =
          "the Kullback-Leibler divergence of probabilities from the softmax of logits, per row,",
      .ways = {
          {"", R"(F.kl_div(F.log_softmax({x}, dim=1), {y}, reduction="batchmean"))"},
          {R"(nn.KLDivLoss(reduction="batchmean"))", "self.{m}(F.log_softmax({x}, dim=-1), {y})"},
          {"", "({y} * ({y}.log() - F.log_softmax({x}, dim=1))).sum() / {x}.shape[0]"},
          {"", R"({t:logp} = torch.log_softmax({x}, dim=-1)
torch.sum({y} * (torch.log({y}) - {t:logp})) / {x}.size(0))"},
          {"", R"(F.kl_div(torch.log_softmax({x}, dim=1), {y}, reduction="sum") / {x}.shape[0])"}}};
}

OpSpec triplet_margin_loss_operator() {
  return {.name = "triplet_margin_loss",
          .weight = 0.8,
          .tier = 3,
          .domain = Domain::kMatrix,
          .fits = is_prediction_matrix,
          .build = triplet,
          .words = "the triplet margin loss with margin {margin}",
          .ways = {{"nn.TripletMarginLoss(margin={margin})", "self.{m}({x}, {y}, {z})"},
                   {"", "F.triplet_margin_loss({x}, {y}, {z}, margin={margin})"},
                   {"", "torch.nn.functional.triplet_margin_loss({x}, {y}, {z}, {margin})"},
                   {"", R"({t:pos} = F.pairwise_distance({x}, {y})
{t:neg} = F.pairwise_distance({x}, {z})
F.relu({t:pos} - {t:neg} + {margin}).mean())"},
                   {"", R"({t:pos} = torch.norm({x} - {y} + 1e-6, dim=1)
{t:neg} = torch.norm({x} - {z} + 1e-6, dim=1)
torch.clamp({t:pos} - {t:neg} + {margin}, min=0).mean())"},
                   {"", R"({t:near} = ({x} - {y} + 1e-6).square().sum(-1).sqrt()
{t:far} = ({x} - {z} + 1e-6).square().sum(-1).sqrt()
torch.relu({margin} + {t:near} - {t:far}).mean())"}}};
}

OpSpec cosine_similarity_operator() {
  return {.name = "cosine_similarity",
          .weight = 0.8,
          .tier = 3,
          .domain = Domain::kMatrix,
          .fits = is_prediction_matrix,
          .build = cosine,
          .words = "the cosine similarity along the last dimension",
          .ways = {{"", "F.cosine_similarity({x}, {y}, dim=1)"},
                   {"nn.CosineSimilarity(dim=1)", "self.{m}({x}, {y})"},
                   {"", "torch.cosine_similarity({x}, {y}, dim=-1)"},
                   {"", "(F.normalize({x}, dim=1) * F.normalize({y}, dim=1)).sum(dim=1)"},
                   {"", R"({t:dot} = ({x} * {y}).sum(dim=-1)
{t:dot} / ({x}.norm(dim=-1) * {y}.norm(dim=-1)))"}}};
}

}  // namespace

std::vector<OpSpec> loss_operators() {
  return {mse_loss_operator(),
          l1_loss_operator(),
          smooth_l1_loss_operator(),
          huber_loss_operator(),
          bce_with_logits_loss_operator(),
          cross_entropy_operator(),
          hinge_loss_operator(),
          kl_div_operator(),
          triplet_margin_loss_operator(),
          cosine_similarity_operator()};
}

}  // namespace kw::writer::generate
