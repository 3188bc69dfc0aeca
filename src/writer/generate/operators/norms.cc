// Normalisation and softmax.
#include <algorithm>
#include <cmath>

#include "writer/generate/operators.h"

namespace kw::writer::generate {
namespace {

bool is_wide(const Value& x, const Limits&) {
  return x.dtype == tensor::DType::kFloat32 && x.shape.size() >= 2 && x.shape.back().n >= 4 &&
         !x.centred;
}
bool is_varied(const Value& x, const Limits& limits) {
  return is_wide(x, limits) && !x.plateaus;
}

// Of the last dimension, with weight and bias
void layer_norm(Builder& b) {
  const Dims shape = b.x().shape;
  const Dim& last = shape.back();
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
  const Dim& last = shape.back();
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

OpSpec layer_norm_operator() {
  return {
      .name = "layer_norm",
      .weight = 3,
      .tier = 2,
      .fits = is_varied,
      .build = layer_norm,
      .words = "layer normalisation over the last {normalized_shape} elements",
      .ways = {
          {"nn.LayerNorm({normalized_shape}[[, eps={eps}]][[, elementwise_affine={affine}]])", ""},
          {"nn.LayerNorm(({normalized_shape},)[[, eps={eps}]][[, elementwise_affine={affine}]])",
           ""},
          {"", "F.layer_norm({x}, ({normalized_shape},), {weight}, {bias}[[, eps={eps}]])",
           "affine"},
          {"", "F.layer_norm({x}, {x}.shape[-1:], {weight}, {bias}, {eps})", "affine"},
          {"", "F.layer_norm({x}, ({normalized_shape},)[[, eps={eps}]])", "!affine"},
          {"", "torch.layer_norm({x}, ({normalized_shape},), None, None, {eps})", "!affine"},
          {"", R"({t:var}, {t:mean} = torch.var_mean({x}, dim=-1, unbiased=False, keepdim=True)
({x} - {t:mean}) * ({t:var} + {eps}).rsqrt())",
           "!affine"},
          {"", R"({t:mean} = {x}.mean(dim=-1, keepdim=True)
{t:var} = {x}.var(dim=-1, unbiased=False, keepdim=True)
({x} - {t:mean}) / torch.sqrt({t:var} + {eps}) * {weight} + {bias})",
           "affine"},
          {"", R"({t:centered} = {x} - torch.mean({x}, dim=-1, keepdim=True)
{t:variance} = {t:centered}.pow(2).mean(-1, keepdim=True)
{t:centered} * torch.rsqrt({t:variance} + {eps}))",
           "!affine"}}};
}

OpSpec rms_norm_operator() {
  return {
      .name = "rms_norm",
      .weight = 2,
      .tier = 2,
      .fits = is_wide,
      .build = rms_norm,
      .words = "RMS normalisation over the last dimension",
      .ways = {
          {"nn.RMSNorm({dim}, eps={eps})", "", "affine"},
          {"nn.RMSNorm({dim}, eps={eps}, elementwise_affine=False)", "", "!affine"},
          {"", "F.rms_norm({x}, ({dim},), {weight}, {eps})", "affine"},
          {"", "{x} * torch.rsqrt({x}.pow(2).mean(-1, keepdim=True) + {eps}) * {weight}", "affine"},
          {"", "{x} * torch.rsqrt({x}.pow(2).mean(-1, keepdim=True) + {eps})", "!affine"},
          {"", "F.rms_norm({x}, ({dim},), None, {eps})", "!affine"},
          {"", "{x} / ({x}.square().sum(dim=-1, keepdim=True) / {dim} + {eps}).sqrt()", "!affine"},
          {"", R"({t:rms} = torch.sqrt(torch.mean({x} ** 2, dim=-1, keepdim=True) + {eps})
{x} / {t:rms})",
           "!affine"},
          {"", R"({t:rms} = torch.sqrt(torch.mean({x} ** 2, dim=-1, keepdim=True) + {eps})
{weight} * ({x} / {t:rms}))",
           "affine"},
          {"RMSNorm({dim}, {eps})", "", "affine", R"(class RMSNorm(nn.Module):
    def __init__(self, dim, eps=1e-6):
        super().__init__()
        self.eps = eps
        self.weight = nn.Parameter(torch.ones(dim))

    def forward(self, x):
        norm = x.pow(2).mean(dim=-1, keepdim=True)
        return x * torch.rsqrt(norm + self.eps) * self.weight
)"}}};
}

OpSpec softmax_operator() {
  return {.name = "softmax",
          .weight = 4,
          .tier = 2,
          .fits = is_wide,
          .build = softmax,
          .words = "softmax over dimension {dim}",
          .ways = {{"nn.Softmax(dim={dim})", ""},
                   {"", "F.softmax({x}, dim={dim})"},
                   {"", "torch.softmax({x}, dim={dim})"},
                   {"", "{x}.softmax(dim={dim})"},
                   {"", "{x}.softmax({dim})"},
                   {"", R"({t:e} = torch.exp({x} - {x}.amax(dim={dim}, keepdim=True))
{t:e} / {t:e}.sum(dim={dim}, keepdim=True))"},
                   {"", R"({t:shifted} = {x} - torch.max({x}, dim={dim}, keepdim=True).values
{t:exps} = torch.exp({t:shifted})
{t:exps} / torch.sum({t:exps}, dim={dim}, keepdim=True))"}}};
}

}  // namespace

std::vector<OpSpec> norm_operators() {
  return in_half_too({layer_norm_operator(), rms_norm_operator(), softmax_operator()});
}

}  // namespace kw::writer::generate
