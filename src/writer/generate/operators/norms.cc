// Normalisation and softmax.
#include <algorithm>
#include <cmath>

#include "writer/generate/operators.h"

namespace kw::writer::generate {
namespace {

bool is_wide(const Value& x, const Limits&) {
  return x.dtype == task::DType::kFloat32 && x.shape.size() >= 2 && x.shape.back().n >= 4 &&
         !x.centred;
}
bool is_varied(const Value& x, const Limits& limits) {
  return is_wide(x, limits) && !x.plateaus;
}

// Of the last dimension, with weight and bias
void layer_norm(Builder& b) {
  const Dims shape = b.x().shape;
  const Dim last = shape.back();
  const double eps = b.real("eps", b.chance(0.7) ? 1e-5 : b.pick({1e-6, 1e-3, 1e-8}), 1e-5);
  const bool affine = b.flag("affine", b.chance(0.85), true);
  b.size_of("normalized_shape", last);
  b.fix(last);
  Arg weight = nullptr, bias = nullptr;
  if (affine) {
    weight = b.weight("weight", {last}, Start::kOnes);
    bias = b.weight("bias", {last}, Start::kZeros);
  }
  Dims left = shape;
  left.back() = {1, 1};
  const int node =
      b.call_several("native_layer_norm.default", {b.x(), Dims{last}, weight, bias, eps},
                     {type_of(shape), std::nullopt, std::nullopt});
  Value& out = b.result({node, 0}, shape);
  out.range(-4, 4);
  out.centred = true;
}

// x / sqrt(mean(x^2) + eps) * weight, of the last dimension
void rms_norm(Builder& b) {
  const Dims shape = b.x().shape;
  const Dim last = shape.back();
  const double eps = b.real("eps", b.pick({1e-6, 1e-5, 1e-5, 1e-8}));
  const bool affine = b.flag("affine", b.chance(0.7));
  b.size_of("dim", last);
  b.fix(last);
  Dims one = shape;
  one.back() = {1, 1};
  const auto axis = std::vector<IntExpr>{static_cast<std::int64_t>(shape.size()) - 1};
  const ValueId square = b.call("mul.Tensor", {b.x(), b.x()}, shape);
  const ValueId mean = b.call("mean.dim", {square, axis, true}, one);
  const ValueId shifted = b.call("add.Tensor", {mean, eps}, one);
  const ValueId scale = b.call("rsqrt.default", {shifted}, one);
  ValueId out = b.call("mul.Tensor", {b.x(), scale}, shape);
  if (affine) {
    const ValueId weight = b.weight("weight", {last}, Start::kOnes).id;
    out = b.call("mul.Tensor", {out, weight}, shape);
  }
  Value& made = b.result(out, shape);
  made.range(b.x().positive() ? 0 : -4, 4);
}

void softmax(Builder& b) {
  const Dims shape = b.x().shape;
  const auto rank = static_cast<std::int64_t>(shape.size());
  std::int64_t dim = b.chance(0.75) ? rank - 1 : b.between(rank > 2 ? 1 : 0, rank - 1);
  if (shape[static_cast<std::size_t>(dim)].n < 2) dim = rank - 1;
  b.whole("dim", dim == rank - 1 && b.chance(0.6) ? -1 : dim);
  Value& out = b.result(b.call("_softmax.default", {b.x(), dim, false}, shape), shape);
  const auto n = static_cast<double>(shape[static_cast<std::size_t>(dim)].n);
  out.range(0, std::min(1.0, 4 * std::exp(std::min(b.x().magnitude(), 8.0)) / n));
  out.centred = true;
}

}  // namespace

std::vector<OpSpec> norm_operators() {
  constexpr std::string_view kFamily = "norm";
  return {
      {"layer_norm",
       kFamily,
       3,
       2,
       Domain::kAny,
       is_varied,
       layer_norm,
       "layer normalisation over the last {normalized_shape} elements",
       {{"nn.LayerNorm({normalized_shape}[[, eps={eps}]][[, elementwise_affine={affine}]])", ""},
        {"nn.LayerNorm(({normalized_shape},)[[, eps={eps}]][[, elementwise_affine={affine}]])", ""},
        {"", "F.layer_norm({x}, ({normalized_shape},), {weight}, {bias}[[, eps={eps}]])", "affine"},
        {"", "F.layer_norm({x}, {x}.shape[-1:], {weight}, {bias}, {eps})", "affine"},
        {"", "F.layer_norm({x}, ({normalized_shape},)[[, eps={eps}]])", "!affine"},
        {"",
         "{t:mean} = {x}.mean(dim=-1, keepdim=True)\n{t:var} = {x}.var(dim=-1, unbiased=False, "
         "keepdim=True)\n({x} - {t:mean}) / torch.sqrt({t:var} + {eps}) * {weight} + {bias}",
         "affine"},
        {"",
         "{t:centered} = {x} - torch.mean({x}, dim=-1, keepdim=True)\n{t:variance} = "
         "{t:centered}.pow(2).mean(-1, keepdim=True)\n{t:centered} * torch.rsqrt({t:variance} + "
         "{eps})",
         "!affine"}}},
      {"rms_norm",
       kFamily,
       2,
       2,
       Domain::kAny,
       is_wide,
       rms_norm,
       "RMS normalisation over the last dimension",
       {{"nn.RMSNorm({dim}, eps={eps})", "", "affine"},
        {"nn.RMSNorm({dim}, eps={eps}, elementwise_affine=False)", "", "!affine"},
        {"", "F.rms_norm({x}, ({dim},), {weight}, {eps})", "affine"},
        {"", "{x} * torch.rsqrt({x}.pow(2).mean(-1, keepdim=True) + {eps}) * {weight}", "affine"},
        {"", "{x} * torch.rsqrt({x}.pow(2).mean(-1, keepdim=True) + {eps})", "!affine"},
        {"",
         "{t:rms} = torch.sqrt(torch.mean({x} ** 2, dim=-1, keepdim=True) + {eps})\n{x} / {t:rms}",
         "!affine"},
        {"",
         "{t:rms} = torch.sqrt(torch.mean({x} ** 2, dim=-1, keepdim=True) + {eps})\n{weight} * "
         "({x} / {t:rms})",
         "affine"},
        {"RMSNorm({dim}, {eps})", "", "affine",
         "class RMSNorm(nn.Module):\n    def __init__(self, dim, eps=1e-6):\n        "
         "super().__init__()\n        self.eps = eps\n        self.weight = "
         "nn.Parameter(torch.ones(dim))\n\n    def forward(self, x):\n        norm = "
         "x.pow(2).mean(dim=-1, keepdim=True)\n        return x * torch.rsqrt(norm + self.eps) * "
         "self.weight\n"}}},
      {"softmax",
       kFamily,
       4,
       2,
       Domain::kAny,
       is_wide,
       softmax,
       "softmax over dimension {dim}",
       {{"nn.Softmax(dim={dim})", ""},
        {"", "F.softmax({x}, dim={dim})"},
        {"", "torch.softmax({x}, dim={dim})"},
        {"", "{x}.softmax(dim={dim})"},
        {"", "{x}.softmax({dim})"},
        {"",
         "{t:e} = torch.exp({x} - {x}.amax(dim={dim}, keepdim=True))\n{t:e} / {t:e}.sum(dim={dim}, "
         "keepdim=True)"},
        {"",
         "{t:shifted} = {x} - torch.max({x}, dim={dim}, keepdim=True).values\n{t:exps} = "
         "torch.exp({t:shifted})\n{t:exps} / torch.sum({t:exps}, dim={dim}, keepdim=True)"}}},
  };
}

}  // namespace kw::writer::generate
