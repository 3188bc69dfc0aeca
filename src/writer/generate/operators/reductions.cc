// Sums, extremes, moments and norms along dimensions; where the extremes are.
#include <algorithm>
#include <cmath>

#include "writer/generate/operators.h"

namespace kw::writer::generate {
namespace {

bool is_reducible(const Value& x, const Limits&) {
  return x.dtype == tensor::DType::kFloat32 && !x.shape.empty() && elements(x.shape) >= 4 &&
         x.magnitude() < 1e5 &&
         std::any_of(x.shape.begin(), x.shape.end(), [](const Dim& d) { return d.n >= 2; });
}
bool is_uncentred(const Value& x, const Limits& limits) {
  return is_reducible(x, limits) && !x.centred;
}
bool is_uncentred_and_varied(const Value& x, const Limits& limits) {
  return is_uncentred(x, limits) && !x.plateaus;
}
bool is_tame(const Value& x, const Limits& limits) {
  return is_uncentred(x, limits) && x.magnitude() < 30;
}

struct Along {
  std::int64_t dim = 0;
  bool keep = false;
  Dims left;  // what is left
  Dim length;
};

// Draws a dimension of at least two elements, and whether it is kept.
Along draw_along(Builder& b) {
  const Dims& shape = b.x().shape;
  const auto rank = static_cast<std::int64_t>(shape.size());
  Along out;
  out.dim = b.chance(0.55) ? rank - 1 : b.between(0, rank - 1);
  while (shape[static_cast<std::size_t>(out.dim)].n < 2) out.dim = (out.dim + 1) % rank;
  out.keep = b.flag("keepdim", b.chance(0.4), false);
  const bool negative = out.dim == rank - 1 && b.chance(0.6);
  b.whole("dim", negative ? -1 : out.dim);
  b.flag("last", out.dim == rank - 1);
  b.flag("matrix", rank == 2);
  out.length = shape[static_cast<std::size_t>(out.dim)];
  b.size_of("length", out.length);
  out.left = shape;
  if (out.keep)
    out.left[static_cast<std::size_t>(out.dim)] = {1, 1};
  else
    out.left.erase(out.left.begin() + static_cast<std::ptrdiff_t>(out.dim));
  return out;
}
std::vector<IntExpr> list(std::int64_t dim) {
  return {dim};
}

void sum_dim(Builder& b) {
  const Along a = draw_along(b);
  const Value x = b.x();
  Value& out = b.result(b.call("sum.dim_IntList", {b.x(), list(a.dim), a.keep}, a.left), a.left);
  const auto n = static_cast<double>(a.length.n);
  out.range(x.low < 0 ? x.low * std::sqrt(n) : x.low * n,
            x.positive() ? x.high * n : x.high * std::sqrt(n));
}
void mean_dim(Builder& b) {
  const Along a = draw_along(b);
  b.result(b.call("mean.dim", {b.x(), list(a.dim), a.keep}, a.left), a.left);
}
void max_dim(Builder& b) {
  const Along a = draw_along(b);
  b.result(b.call("amax.default", {b.x(), list(a.dim), a.keep}, a.left), a.left);
}
void min_dim(Builder& b) {
  const Along a = draw_along(b);
  b.result(b.call("amin.default", {b.x(), list(a.dim), a.keep}, a.left), a.left);
}
void variance(Builder& b) {
  const Along a = draw_along(b);
  const bool unbiased = b.flag("unbiased", b.chance(0.5), true);
  const double high = b.x().magnitude();
  b.result(b.call("var.correction", {b.x(), list(a.dim), unbiased ? 1 : 0, a.keep}, a.left), a.left)
      .range(0, high * high);
}
void log_sum_exp(Builder& b) {
  const Along a = draw_along(b);
  Value& out = b.result(b.call("logsumexp.default", {b.x(), list(a.dim), a.keep}, a.left), a.left);
  out.range(out.low + 1, out.high + std::log(static_cast<double>(a.length.n)) + 1);
}
void norm_dim(Builder& b) {
  const Along a = draw_along(b);
  const double order = b.chance(0.75) ? 2.0 : 1.0;
  b.flag("second", order == 2);
  const double high = b.x().magnitude() * static_cast<double>(a.length.n);
  b.result(b.call("linalg_vector_norm.default", {b.x(), order, list(a.dim), a.keep}, a.left),
           a.left)
      .range(0, high);
}
void arg_max(Builder& b) {
  const Along a = draw_along(b);
  b.result(b.call("argmax.default", {b.x(), a.dim, a.keep}, a.left, tensor::DType::kInt64), a.left);
}
void arg_min(Builder& b) {
  const Along a = draw_along(b);
  b.result(b.call("argmin.default", {b.x(), a.dim, a.keep}, a.left, tensor::DType::kInt64), a.left);
}
void mean_all(Builder& b) {
  std::vector<IntExpr> all;
  for (std::size_t d = 0; d < b.x().shape.size(); ++d)
    all.emplace_back(static_cast<std::int64_t>(d));
  b.result(b.call("mean.dim", {b.x(), all, false}, {}), {});
}
void frobenius(Builder& b) {
  std::vector<IntExpr> all;
  for (std::size_t d = 0; d < b.x().shape.size(); ++d)
    all.emplace_back(static_cast<std::int64_t>(d));
  const Dims shape = b.x().shape;
  const ValueId norm = b.call("linalg_vector_norm.default", {b.x(), 2.0, all, false}, {});
  const double most = std::min(1.0, 4 / std::sqrt(static_cast<double>(elements(shape))));
  b.result(b.call("div.Tensor", {b.x(), norm}, shape), shape).range(-most, most);
}
void product_dim(Builder& b) {
  const Along a = draw_along(b);
  b.result(b.call("prod.dim_int", {b.x(), a.dim, a.keep}, a.left), a.left).range(-30, 30);
}
bool is_short(const Value& x, const Limits& limits) {
  return is_uncentred(x, limits) && x.magnitude() < 4 &&
         std::all_of(x.shape.begin(), x.shape.end(), [](const Dim& d) { return d.n <= 64; });
}

OpSpec sum_operator() {
  return {.name = "sum",
          .weight = 3,
          .tier = 2,
          .fits = is_uncentred,
          .build = sum_dim,
          .words = "the sum over dimension {dim}",
          .ways = {{"", "torch.sum({x}, dim={dim}[[, keepdim={keepdim}]])"},
                   {"", "{x}.sum(dim={dim}[[, keepdim={keepdim}]])"},
                   {"", "{x}.sum({dim}[[, {keepdim}]])"},
                   {"", "torch.sum({x}, ({dim},)[[, keepdim={keepdim}]])"},
                   {"", R"(torch.einsum("ij->i", {x}))", "matrix last !keepdim"},
                   {"", "torch.mean({x}, dim={dim}[[, keepdim={keepdim}]]) * {x}.shape[{dim}]"},
                   {"", "{x}.sum(dim={dim}).unsqueeze({dim})", "keepdim"},
                   {"", "torch.sum({x}, dim={dim}, keepdim=True).squeeze({dim})", "!keepdim"}}};
}

OpSpec mean_operator() {
  return {.name = "mean",
          .weight = 3,
          .tier = 2,
          .fits = is_uncentred,
          .build = mean_dim,
          .words = "the mean over dimension {dim}",
          .ways = {{"", "torch.mean({x}, dim={dim}[[, keepdim={keepdim}]])"},
                   {"", "{x}.mean(dim={dim}[[, keepdim={keepdim}]])"},
                   {"", "{x}.mean({dim}[[, {keepdim}]])"},
                   {"", "torch.sum({x}, dim={dim}[[, keepdim={keepdim}]]) / {x}.shape[{dim}]"},
                   {"", "{x}.sum({dim}[[, keepdim={keepdim}]]) / {x}.size({dim})"},
                   {"", "torch.unsqueeze({x}.mean(dim={dim}), {dim})", "keepdim"},
                   {"", "{x}.mean(dim={dim}, keepdim=True).squeeze({dim})", "!keepdim"}}};
}

OpSpec max_operator() {
  return {.name = "max",
          .weight = 2,
          .tier = 2,
          .fits = is_reducible,
          .build = max_dim,
          .words = "the maximum over dimension {dim}",
          .ways = {{"", "torch.max({x}, dim={dim}[[, keepdim={keepdim}]])[0]"},
                   {"", "torch.max({x}, dim={dim}[[, keepdim={keepdim}]]).values"},
                   {"", "{x}.max(dim={dim}[[, keepdim={keepdim}]])[0]"},
                   {"", "torch.amax({x}, dim={dim}[[, keepdim={keepdim}]])"},
                   {"", "{x}.amax({dim}[[, {keepdim}]])"},
                   {"", "-torch.amin(-{x}, dim={dim}[[, keepdim={keepdim}]])"}},
          .picks_extreme = true};
}

OpSpec min_operator() {
  return {.name = "min",
          .weight = 1.5,
          .tier = 2,
          .fits = is_reducible,
          .build = min_dim,
          .words = "the minimum over dimension {dim}",
          .ways = {{"", "torch.min({x}, dim={dim}[[, keepdim={keepdim}]])[0]"},
                   {"", "torch.min({x}, dim={dim}[[, keepdim={keepdim}]]).values"},
                   {"", "{x}.min(dim={dim}[[, keepdim={keepdim}]])[0]"},
                   {"", "torch.amin({x}, dim={dim}[[, keepdim={keepdim}]])"},
                   {"", "{x}.amin({dim}[[, {keepdim}]])"},
                   {"", "-torch.amax(-{x}, dim={dim}[[, keepdim={keepdim}]])"}},
          .picks_extreme = true};
}

OpSpec variance_operator() {
  return {
      .name = "variance",
      .tier = 2,
      .fits = is_uncentred_and_varied,
      .build = variance,
      .words = "the variance over dimension {dim} (unbiased: {unbiased})",
      .ways = {{"", "torch.var({x}, dim={dim}, unbiased={unbiased}[[, keepdim={keepdim}]])"},
               {"", "{x}.var(dim={dim}, unbiased={unbiased}[[, keepdim={keepdim}]])"},
               {"", "torch.std({x}, dim={dim}, unbiased={unbiased}[[, keepdim={keepdim}]]) ** 2"},
               {"",
                "((({x} - {x}.mean(dim={dim}, keepdim=True)) ** 2).mean(dim={dim}[[, "
                "keepdim={keepdim}]]))",
                "!unbiased"},
               {"",
                "torch.var_mean({x}, dim={dim}, unbiased={unbiased}[[, keepdim={keepdim}]])[0]"},
               {"", R"({t:gap} = {x} - {x}.mean(dim={dim}, keepdim=True)
({t:gap} * {t:gap}).sum(dim={dim}[[, keepdim={keepdim}]]) / ({x}.shape[{dim}] - 1))",
                "unbiased"}},
      .half = false};
}

OpSpec logsumexp_operator() {
  return {.name = "logsumexp",
          .weight = 1.5,
          .tier = 3,
          .fits = is_tame,
          .build = log_sum_exp,
          .words = "log-sum-exp over dimension {dim}",
          .ways = {{"", "torch.logsumexp({x}, dim={dim}[[, keepdim={keepdim}]])"},
                   {"", "{x}.logsumexp(dim={dim}[[, keepdim={keepdim}]])"},
                   {"", "{x}.logsumexp({dim}[[, {keepdim}]])"},
                   {"", "torch.log(torch.sum(torch.exp({x}), dim={dim}[[, keepdim={keepdim}]]))"},
                   {"", R"({t:m} = {x}.amax(dim={dim}, keepdim=True)
{t:s} = torch.log(torch.exp({x} - {t:m}).sum(dim={dim}, keepdim=True)) + {t:m}
{t:s})",
                    "keepdim"},
                   {"", R"({t:m} = torch.amax({x}, dim={dim}, keepdim=True)
{t:m}.squeeze({dim}) + torch.log(torch.sum(torch.exp({x} - {t:m}), dim={dim})))",
                    "!keepdim"},
                   {"", "torch.special.logsumexp({x}, {dim}[[, keepdim={keepdim}]])"}}};
}

OpSpec vector_norm_operator() {
  return {
      .name = "vector_norm",
      .weight = 1.2,
      .tier = 2,
      .fits = is_uncentred,
      .build = norm_dim,
      .words = "the p-norm over dimension {dim} (p 2: {second}, else 1)",
      .ways = {
          {"", "torch.norm({x}, p=2, dim={dim}[[, keepdim={keepdim}]])", "second"},
          {"", "torch.linalg.vector_norm({x}, ord=2, dim={dim}[[, keepdim={keepdim}]])", "second"},
          {"", "{x}.norm(dim={dim}[[, keepdim={keepdim}]])", "second"},
          {"", "torch.sqrt(torch.sum({x} ** 2, dim={dim}[[, keepdim={keepdim}]]))", "second"},
          {"", "{x}.pow(2).sum({dim}[[, keepdim={keepdim}]]).sqrt()", "second"},
          {"", "torch.norm({x}, p=1, dim={dim}[[, keepdim={keepdim}]])", "!second"},
          {"", "torch.sum(torch.abs({x}), dim={dim}[[, keepdim={keepdim}]])", "!second"},
          {"", "{x}.abs().sum({dim}[[, keepdim={keepdim}]])", "!second"},
          {"", "{x}.norm(p=1, dim={dim}[[, keepdim={keepdim}]])", "!second"},
          {"", "torch.linalg.vector_norm({x}, ord=1, dim={dim}[[, keepdim={keepdim}]])",
           "!second"}}};
}

OpSpec argmax_operator() {
  return {.name = "argmax",
          .weight = 0.8,
          .tier = 2,
          .fits = is_uncentred_and_varied,
          .build = arg_max,
          .words = "the index of the maximum over dimension {dim}",
          .ways = {{"", "torch.argmax({x}, dim={dim}[[, keepdim={keepdim}]])"},
                   {"", "{x}.argmax(dim={dim}[[, keepdim={keepdim}]])"},
                   {"", "torch.max({x}, dim={dim}[[, keepdim={keepdim}]])[1]"},
                   {"", "torch.max({x}, {dim}[[, {keepdim}]]).indices"},
                   {"", "torch.argmin(-{x}, dim={dim}[[, keepdim={keepdim}]])"}},
          .picks_extreme = true};
}

OpSpec argmin_operator() {
  return {.name = "argmin",
          .weight = 0.5,
          .tier = 2,
          .fits = is_uncentred_and_varied,
          .build = arg_min,
          .words = "the index of the minimum over dimension {dim}",
          .ways = {{"", "torch.argmin({x}, dim={dim}[[, keepdim={keepdim}]])"},
                   {"", "{x}.argmin(dim={dim}[[, keepdim={keepdim}]])"},
                   {"", "torch.min({x}, dim={dim}[[, keepdim={keepdim}]])[1]"},
                   {"", "{x}.min({dim}[[, {keepdim}]]).indices"},
                   {"", "torch.argmax(-{x}, dim={dim}[[, keepdim={keepdim}]])"}},
          .picks_extreme = true};
}

OpSpec mean_all_operator() {
  return {.name = "mean_all",
          .tier = 2,
          .fits = is_uncentred,
          .build = mean_all,
          .words = "the mean of all elements",
          .ways = {{"", "torch.mean({x})"},
                   {"", "{x}.mean()"},
                   {"", "torch.sum({x}) / {x}.numel()"},
                   {"", "{x}.flatten().mean(dim=0)"},
                   {"", "{x}.sum() / {x}.numel()"}}};
}

OpSpec frobenius_normalize_operator() {
  return {.name = "frobenius_normalize",
          .weight = 0.5,
          .tier = 3,
          .fits = is_uncentred,
          .build = frobenius,
          .words = "division by the Frobenius norm of all elements",
          .ways = {{"", "{x} / torch.norm({x})"},
                   {"", R"({x} / torch.norm({x}, p="fro"))"},
                   {"", R"({t:norm} = torch.sqrt(torch.sum({x} * {x}))
{x} / {t:norm})"},
                   {"", "{x} / {x}.norm()"},
                   {"", "torch.div({x}, torch.linalg.vector_norm({x}))"},
                   {"", "{x} / {x}.pow(2).sum().sqrt()"}},
          .half = false};
}

OpSpec prod_operator() {
  return {.name = "prod",
          .weight = 0.5,
          .tier = 2,
          .fits = is_short,
          .build = product_dim,
          .words = "the product over dimension {dim}",
          .ways = {{"", "torch.prod({x}, dim={dim}[[, keepdim={keepdim}]])"},
                   {"", "{x}.prod(dim={dim}[[, keepdim={keepdim}]])"},
                   {"", "{x}.prod({dim}[[, {keepdim}]])"},
                   {"", "torch.cumprod({x}, dim={dim}).select({dim}, -1)", "!keepdim"},
                   {"", "torch.prod({x}, {dim}[[, keepdim={keepdim}]])"},
                   {"", "torch.cumprod({x}, dim={dim}).narrow({dim}, {x}.shape[{dim}] - 1, 1)",
                    "keepdim"},
                   {"", "{x}.prod(dim={dim}).unsqueeze({dim})", "keepdim"},
                   {"", "torch.prod({x}, dim={dim}, keepdim=True).squeeze({dim})", "!keepdim"},
                   {"", R"({t:size} = {x}.abs().log().sum(dim={dim}[[, keepdim={keepdim}]]).exp()
{t:size} * {x}.sign().prod(dim={dim}[[, keepdim={keepdim}]]))"}},
          .half = false};
}

}  // namespace

std::vector<OpSpec> reduction_operators() {
  return in_half_too({sum_operator(), mean_operator(), max_operator(), min_operator(),
                      variance_operator(), logsumexp_operator(), vector_norm_operator(),
                      argmax_operator(), argmin_operator(), mean_all_operator(),
                      frobenius_normalize_operator(), prod_operator()});
}

}  // namespace kw::writer::generate
