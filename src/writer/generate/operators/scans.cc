// Running sums, products and extremes.
#include <algorithm>
#include <cmath>

#include "writer/generate/operators.h"

namespace kw::writer::generate {
namespace {

bool is_scannable(const Value& x, const Limits&) {
  return x.dtype == task::DType::kFloat32 && !x.shape.empty() && x.shape.size() <= 4 &&
         x.shape.back().n >= 4 && x.magnitude() < 100 && !x.centred;
}
bool is_scan_product(const Value& x, const Limits& limits) {
  return is_scannable(x, limits) && x.magnitude() < 4;
}

std::int64_t draw(Builder& b) {
  const auto rank = static_cast<std::int64_t>(b.x().shape.size());
  std::int64_t dim = b.chance(0.7) ? rank - 1 : b.between(0, rank - 1);
  if (b.x().shape[static_cast<std::size_t>(dim)].n < 2) dim = rank - 1;
  b.whole("dim", dim == rank - 1 && b.chance(0.5) ? -1 : dim);
  b.flag("last", dim == rank - 1);
  b.size_of("length", b.x().shape[static_cast<std::size_t>(dim)]);
  return dim;
}

Value& scan(Builder& b, std::string_view op, std::int64_t dim) {
  const Dims shape = b.x().shape;
  Value& out = b.result(b.call(op, {b.x(), dim}, shape), shape);
  const auto n = static_cast<double>(shape[static_cast<std::size_t>(dim)].n);
  out.range(out.low * std::sqrt(n), out.high * (out.low >= 0 ? n : std::sqrt(n)));
  return out;
}

void cumsum(Builder& b) {
  scan(b, "cumsum.default", draw(b));
}
void cumprod(Builder& b) {
  scan(b, "cumprod.default", draw(b)).range(-100, 100);
}
void extreme(Builder& b, std::string_view op) {
  const std::int64_t dim = draw(b);
  const Dims shape = b.x().shape;
  const int node = b.call_several(op, {b.x(), dim}, {type_of(shape), std::nullopt});
  b.result({node, 0}, shape).plateaus = true;
}
void log_cumsum_exp(Builder& b) {
  const std::int64_t dim = draw(b);
  const Dims shape = b.x().shape;
  Value& out = b.result(b.call("logcumsumexp.default", {b.x(), dim}, shape), shape);
  out.range(out.low, out.high + 12);
}
void reverse_cumsum(Builder& b) {
  const std::int64_t dim = draw(b);
  const Dims shape = b.x().shape;
  const std::vector<IntExpr> dims = {dim};
  const ValueId turned = b.call("flip.default", {b.x(), dims}, shape);
  const ValueId sums = b.call("cumsum.default", {turned, dim}, shape);
  Value& out = b.result(b.call("flip.default", {sums, dims}, shape), shape);
  out.range(out.low * 30, out.high * 1000);
}
void exclusive_cumsum(Builder& b) {
  const std::int64_t dim = draw(b);
  const Dims shape = b.x().shape;
  const ValueId sums = b.call("cumsum.default", {b.x(), dim}, shape);
  Value& out = b.result(b.call("sub.Tensor", {sums, b.x()}, shape), shape);
  out.range(out.low * 30, out.high * 1000);
}
void masked_cumsum(Builder& b) {
  const std::int64_t dim = draw(b);
  const Dims shape = b.x().shape;
  const ValueId mask = b.input("mask", shape, Filling::kMask).id;
  const ValueId kept = b.call("mul.Tensor", {b.x(), mask}, shape);
  Value& out = b.result(b.call("cumsum.default", {kept, dim}, shape), shape);
  out.range(out.low * 30, out.high * 1000);
}

}  // namespace

std::vector<OpSpec> scan_operators() {
  constexpr std::string_view kFamily = "scan";
  return {
      {"cumsum",
       kFamily,
       3,
       3,
       Domain::kMatrix,
       is_scannable,
       cumsum,
       "the running sum along dimension {dim}",
       {{"", "torch.cumsum({x}, dim={dim})"},
        {"", "{x}.cumsum(dim={dim})"},
        {"", "{x}.cumsum({dim})"},
        {"", "torch.cumsum({x}, {dim})"},
        {"", "torch.Tensor.cumsum({x}, {dim})"},
        {"", "{x}.transpose({dim}, -1).cumsum(-1).transpose({dim}, -1)"}}},
      {"cumprod",
       kFamily,
       1.5,
       3,
       Domain::kMatrix,
       is_scan_product,
       cumprod,
       "the running product along dimension {dim}",
       {{"", "torch.cumprod({x}, dim={dim})"},
        {"", "{x}.cumprod(dim={dim})"},
        {"", "{x}.cumprod({dim})"},
        {"", "torch.cumprod({x}, {dim})"},
        {"", "torch.flip(torch.flip({x}, dims=({dim},)), dims=({dim},)).cumprod(dim={dim})"}}},
      {"cummax",
       kFamily,
       1,
       3,
       Domain::kMatrix,
       is_scannable,
       [](Builder& b) { extreme(b, "cummax.default"); },
       "the running maximum along dimension {dim}",
       {{"", "torch.cummax({x}, dim={dim})[0]"},
        {"", "torch.cummax({x}, dim={dim}).values"},
        {"", "{x}.cummax(dim={dim}).values"},
        {"", "{x}.cummax({dim})[0]"},
        {"", "-torch.cummin(-{x}, dim={dim})[0]"}}},
      {"cummin",
       kFamily,
       1,
       3,
       Domain::kMatrix,
       is_scannable,
       [](Builder& b) { extreme(b, "cummin.default"); },
       "the running minimum along dimension {dim}",
       {{"", "torch.cummin({x}, dim={dim})[0]"},
        {"", "torch.cummin({x}, dim={dim}).values"},
        {"", "{x}.cummin(dim={dim}).values"},
        {"", "{x}.cummin({dim})[0]"},
        {"", "-torch.cummax(-{x}, dim={dim})[0]"}}},
      {"logcumsumexp",
       kFamily,
       0.7,
       4,
       Domain::kMatrix,
       is_scan_product,
       log_cumsum_exp,
       "the running log-sum-exp along dimension {dim}",
       {{"", "torch.logcumsumexp({x}, dim={dim})"},
        {"", "{x}.logcumsumexp(dim={dim})"},
        {"", "{x}.logcumsumexp({dim})"},
        {"", "torch.log(torch.cumsum(torch.exp({x}), dim={dim}))"},
        {"", "torch.exp({x}).cumsum({dim}).log()"}}},
      {"reverse_cumsum",
       kFamily,
       1.2,
       3,
       Domain::kMatrix,
       is_scannable,
       reverse_cumsum,
       "the running sum from the end along dimension {dim}",
       {{"", "torch.cumsum({x}.flip({dim}), dim={dim}).flip({dim})"},
        {"", "torch.flip(torch.cumsum(torch.flip({x}, dims=[{dim}]), dim={dim}), dims=[{dim}])"},
        {"", "{x}.flip([{dim}]).cumsum({dim}).flip([{dim}])"},
        {"", "{x} + {x}.sum(dim={dim}, keepdim=True) - torch.cumsum({x}, dim={dim})"},
        {"",
         "{t:rev} = torch.flip({x}, ({dim},))\n{t:acc} = torch.cumsum({t:rev}, "
         "dim={dim})\ntorch.flip({t:acc}, ({dim},))"}}},
      {"exclusive_cumsum",
       kFamily,
       1,
       3,
       Domain::kMatrix,
       is_scannable,
       exclusive_cumsum,
       "the running sum of what comes before, along dimension {dim}",
       {{"", "torch.cumsum({x}, dim={dim}) - {x}"},
        {"", "{x}.cumsum({dim}) - {x}"},
        {"",
         "{t:sums} = torch.cumsum({x}, dim={dim}).narrow({dim}, 0, {length} - 1)\n"
         "torch.cat((torch.zeros_like({x}.narrow({dim}, 0, 1)), {t:sums}), dim={dim})"},
        {"",
         "{t:shifted} = torch.cat([torch.zeros_like({x}.select({dim}, 0).unsqueeze({dim})), "
         "{x}.narrow({dim}, 0, {length} - 1)], dim={dim})\ntorch.cumsum({t:shifted}, dim={dim})"},
        {"", "F.pad({x}[..., :-1], (1, 0)).cumsum({dim})", "last"}}},
      {"masked_cumsum",
       kFamily,
       1,
       3,
       Domain::kMatrix,
       is_scannable,
       masked_cumsum,
       "the running sum of the elements where a mask is true, along dimension {dim},",
       {{"", "torch.cumsum({x} * {y}, dim={dim})"},
        {"", "torch.cumsum({x}.masked_fill(~{y}, 0.0), dim={dim})"},
        {"", "torch.where({y}, {x}, torch.zeros_like({x})).cumsum({dim})"},
        {"", "({x} * {y}.to({x}.dtype)).cumsum(dim={dim})"},
        {"", "torch.cumsum(torch.mul({x}, {y}), {dim})"}}},
  };
}

}  // namespace kw::writer::generate
