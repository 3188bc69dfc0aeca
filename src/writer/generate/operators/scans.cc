// Running sums, products and extremes.
#include <algorithm>
#include <cmath>

#include "writer/generate/operators.h"

namespace kw::writer::generate {
namespace {

bool is_scannable(const Value& x, const Limits&) {
  return x.dtype == tensor::DType::kFloat32 && !x.shape.empty() && x.shape.size() <= 4 &&
         x.shape.back().n >= 4 && x.magnitude() < 100 && !x.centred;
}
bool is_scan_product(const Value& x, const Limits& limits) {
  return is_scannable(x, limits) && x.magnitude() < 4;
}

std::int64_t draw_dim(Builder& b) {
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
  scan(b, "cumsum.default", draw_dim(b));
}
void cumprod(Builder& b) {
  scan(b, "cumprod.default", draw_dim(b)).range(-100, 100);
}
void extreme(Builder& b, std::string_view op) {
  const std::int64_t dim = draw_dim(b);
  const Dims shape = b.x().shape;
  const int node = b.call_several(op, {b.x(), dim}, {type_of(shape), std::nullopt});
  b.result({node, 0}, shape).plateaus = true;
}
void log_cumsum_exp(Builder& b) {
  const std::int64_t dim = draw_dim(b);
  const Dims shape = b.x().shape;
  Value& out = b.result(b.call("logcumsumexp.default", {b.x(), dim}, shape), shape);
  out.range(out.low, out.high + 12);
}
void reverse_cumsum(Builder& b) {
  const std::int64_t dim = draw_dim(b);
  const Dims shape = b.x().shape;
  const std::vector<IntExpr> dims = {dim};
  const ValueId turned = b.call("flip.default", {b.x(), dims}, shape);
  const ValueId sums = b.call("cumsum.default", {turned, dim}, shape);
  Value& out = b.result(b.call("flip.default", {sums, dims}, shape), shape);
  out.range(out.low * 30, out.high * 1000);
}
void exclusive_cumsum(Builder& b) {
  const std::int64_t dim = draw_dim(b);
  const Dims shape = b.x().shape;
  const ValueId sums = b.call("cumsum.default", {b.x(), dim}, shape);
  Value& out = b.result(b.call("sub.Tensor", {sums, b.x()}, shape), shape);
  out.range(out.low * 30, out.high * 1000);
}
void masked_cumsum(Builder& b) {
  const std::int64_t dim = draw_dim(b);
  const Dims shape = b.x().shape;
  const ValueId mask = b.input("mask", shape, Filling::kMask).id;
  const ValueId kept = b.call("mul.Tensor", {b.x(), mask}, shape);
  Value& out = b.result(b.call("cumsum.default", {kept, dim}, shape), shape);
  out.range(out.low * 30, out.high * 1000);
}

OpSpec cumsum_operator() {
  return {.name = "cumsum",
          .weight = 3,
          .tier = 3,
          .domain = Domain::kMatrix,
          .fits = is_scannable,
          .build = cumsum,
          .words = "the running sum along dimension {dim}",
          .ways = {{"", "torch.cumsum({x}, dim={dim})"},
                   {"", "{x}.cumsum(dim={dim})"},
                   {"", "{x}.cumsum({dim})"},
                   {"", "torch.cumsum({x}, {dim})"},
                   {"", "torch.Tensor.cumsum({x}, {dim})"},
                   {"", "{x}.transpose({dim}, -1).cumsum(-1).transpose({dim}, -1)"},
                   {"", "{x}.movedim({dim}, 0).cumsum(0).movedim(0, {dim})"}}};
}

OpSpec cumprod_operator() {
  return {
      .name = "cumprod",
      .weight = 1.5,
      .tier = 3,
      .domain = Domain::kMatrix,
      .fits = is_scan_product,
      .build = cumprod,
      .words = "the running product along dimension {dim}",
      .ways = {{"", "torch.cumprod({x}, dim={dim})"},
               {"", "{x}.cumprod(dim={dim})"},
               {"", "{x}.cumprod({dim})"},
               {"", "torch.cumprod({x}, {dim})"},
               {"", "torch.flip(torch.flip({x}, dims=({dim},)), dims=({dim},)).cumprod(dim={dim})"},
               {"", "{x}.transpose({dim}, 0).cumprod(0).transpose({dim}, 0)"},
               {"", R"({t:moved} = torch.movedim({x}, {dim}, -1)
torch.movedim(torch.cumprod({t:moved}, dim=-1), -1, {dim}))"}}};
}

OpSpec cummax_operator() {
  return {.name = "cummax",
          .tier = 3,
          .domain = Domain::kMatrix,
          .fits = is_scannable,
          .build = [](Builder& b) { extreme(b, "cummax.default"); },
          .words = "the running maximum along dimension {dim}",
          .ways = {{"", "torch.cummax({x}, dim={dim})[0]"},
                   {"", "torch.cummax({x}, dim={dim}).values"},
                   {"", "{x}.cummax(dim={dim}).values"},
                   {"", "{x}.cummax({dim})[0]"},
                   {"", "-torch.cummin(-{x}, dim={dim})[0]"}}};
}

OpSpec cummin_operator() {
  return {.name = "cummin",
          .tier = 3,
          .domain = Domain::kMatrix,
          .fits = is_scannable,
          .build = [](Builder& b) { extreme(b, "cummin.default"); },
          .words = "the running minimum along dimension {dim}",
          .ways = {{"", "torch.cummin({x}, dim={dim})[0]"},
                   {"", "torch.cummin({x}, dim={dim}).values"},
                   {"", "{x}.cummin(dim={dim}).values"},
                   {"", "{x}.cummin({dim})[0]"},
                   {"", "-torch.cummax(-{x}, dim={dim})[0]"}}};
}

OpSpec logcumsumexp_operator() {
  return {.name = "logcumsumexp",
          .weight = 0.7,
          .tier = 4,
          .domain = Domain::kMatrix,
          .fits = is_scan_product,
          .build = log_cumsum_exp,
          .words = "the running log-sum-exp along dimension {dim}",
          .ways = {{"", "torch.logcumsumexp({x}, dim={dim})"},
                   {"", "{x}.logcumsumexp(dim={dim})"},
                   {"", "{x}.logcumsumexp({dim})"},
                   {"", "torch.log(torch.cumsum(torch.exp({x}), dim={dim}))"},
                   {"", "torch.exp({x}).cumsum({dim}).log()"},
                   {"", R"({t:top} = {x}.amax(dim={dim}, keepdim=True)
torch.cumsum(torch.exp({x} - {t:top}), dim={dim}).log() + {t:top})"}}};
}

OpSpec reverse_cumsum_operator() {
  return {
      .name = "reverse_cumsum",
      .weight = 1.2,
      .tier = 3,
      .domain = Domain::kMatrix,
      .fits = is_scannable,
      .build = reverse_cumsum,
      .words = "the running sum from the end along dimension {dim}",
      .ways = {
          {"", "torch.cumsum({x}.flip({dim}), dim={dim}).flip({dim})"},
          {"", "torch.flip(torch.cumsum(torch.flip({x}, dims=[{dim}]), dim={dim}), dims=[{dim}])"},
          {"", "{x}.flip([{dim}]).cumsum({dim}).flip([{dim}])"},
          {"", "{x} + {x}.sum(dim={dim}, keepdim=True) - torch.cumsum({x}, dim={dim})"},
          {"", R"({t:rev} = torch.flip({x}, ({dim},))
{t:acc} = torch.cumsum({t:rev}, dim={dim})
torch.flip({t:acc}, ({dim},)))"}}};
}

OpSpec exclusive_cumsum_operator() {
  return {
      .name = "exclusive_cumsum",
      .tier = 3,
      .domain = Domain::kMatrix,
      .fits = is_scannable,
      .build = exclusive_cumsum,
      .words = "the running sum of what comes before, along dimension {dim}",
      .ways = {
          {"", "torch.cumsum({x}, dim={dim}) - {x}"},
          {"", "{x}.cumsum({dim}) - {x}"},
          {"", R"({t:sums} = torch.cumsum({x}, dim={dim}).narrow({dim}, 0, {length} - 1)
torch.cat((torch.zeros_like({x}.narrow({dim}, 0, 1)), {t:sums}), dim={dim}))"},
          {"",
           R"({t:shifted} = torch.cat([torch.zeros_like({x}.select({dim}, 0).unsqueeze({dim})), {x}.narrow({dim}, 0, {length} - 1)], dim={dim})
torch.cumsum({t:shifted}, dim={dim}))"},
          {"", "F.pad({x}[..., :-1], (1, 0)).cumsum({dim})", "last"},
          {"", "torch.sub(torch.cumsum({x}, dim={dim}), {x})"}}};
}

OpSpec masked_cumsum_operator() {
  return {.name = "masked_cumsum",
          .tier = 3,
          .domain = Domain::kMatrix,
          .fits = is_scannable,
          .build = masked_cumsum,
          .words = "the running sum of the elements where a mask is true, along dimension {dim},",
          .ways = {{"", "torch.cumsum({x} * {y}, dim={dim})"},
                   {"", "torch.cumsum({x}.masked_fill(~{y}, 0.0), dim={dim})"},
                   {"", "torch.where({y}, {x}, torch.zeros_like({x})).cumsum({dim})"},
                   {"", "({x} * {y}.to({x}.dtype)).cumsum(dim={dim})"},
                   {"", "torch.cumsum(torch.mul({x}, {y}), {dim})"}}};
}

}  // namespace

std::vector<OpSpec> scan_operators() {
  return {cumsum_operator(),           cumprod_operator(),      cummax_operator(),
          cummin_operator(),           logcumsumexp_operator(), reverse_cumsum_operator(),
          exclusive_cumsum_operator(), masked_cumsum_operator()};
}

}  // namespace kw::writer::generate
