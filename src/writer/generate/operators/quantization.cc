// Numbers on a grid. Both make their own input: what another operator rounds may fall to the other
// side of a step.
#include <algorithm>

#include "writer/generate/operators.h"

namespace kw::writer::generate {
namespace {

Dims draw_matrix(Builder& b) {
  const std::int64_t columns =
      b.size(4, std::clamp<std::int64_t>(b.limits.max_elements / 2, 4, 8192));
  const std::int64_t rows = std::clamp<std::int64_t>(b.limits.max_elements / columns, 1, 4096);
  return {b.axis("batch_size", b.size(1, rows), false), b.axis("features", columns, false)};
}

// clamp(round(x / scale)) * scale
void fake_quantize(Builder& b) {
  const Dims shape = draw_matrix(b);
  b.input("x", shape);
  const double scale = b.real("scale", b.pick({0.125, 0.0625, 0.03125, 0.25}));
  const std::int64_t high = b.pick<std::int64_t>({127, 7, 127, 15});
  b.whole("qmin", -high - 1);
  b.whole("qmax", high);
  const ValueId steps = b.call("div.Tensor", {b.x(), scale}, shape);
  const ValueId rounded = b.call("round.default", {steps}, shape);
  const ValueId kept = b.call("clamp.default", {rounded, -high - 1, high}, shape);
  const auto most = static_cast<double>(high) * scale;
  b.result(b.call("mul.Tensor", {kept, scale}, shape), shape)
      .range(-std::min(3.0, most), std::min(3.0, most));
}

// -1, 0 and 1 by a threshold
void ternarize(Builder& b) {
  const Dims shape = draw_matrix(b);
  b.input("weight", shape);
  const double threshold = b.real("threshold", b.number({0.5, 0.7, 1.0}));
  const ValueId size = b.call("abs.default", {b.x()}, shape);
  const ValueId large = b.call("gt.Scalar", {size, threshold}, shape, task::DType::kBool);
  const ValueId sign = b.call("sign.default", {b.x()}, shape);
  Value& out = b.result(b.call("mul.Tensor", {sign, large}, shape), shape);
  out.range(-1, 1);
  out.plateaus = true;
}

constexpr std::string_view kFamily = "quantization";

OpSpec fake_quantize_operator() {
  return {.name = "fake_quantize",
          .family = kFamily,
          .weight = 1.5,
          .domain = Domain::kNone,
          .build = fake_quantize,
          .words = "rounding to multiples of {scale}, from {qmin} to {qmax} of them,",
          .ways = {{"", "torch.clamp(torch.round({x} / {scale}), {qmin}, {qmax}) * {scale}"},
                   {"", "({x} / {scale}).round().clamp({qmin}, {qmax}) * {scale}"},
                   {"", R"({t:q} = torch.round(torch.div({x}, {scale}))
{t:q}.clamp(min={qmin}, max={qmax}).mul({scale}))"},
                   {"", "F.hardtanh(({x} / {scale}).round(), {qmin}, {qmax}) * {scale}"},
                   {"", R"({t:q} = {x}.div({scale}).round()
{t:q} = torch.minimum(torch.maximum({t:q}, torch.full_like({t:q}, {qmin})), torch.full_like({t:q}, {qmax}))
{t:q} * {scale})"}}};
}

OpSpec ternarize_operator() {
  return {
      .name = "ternarize",
      .family = kFamily,
      .domain = Domain::kNone,
      .build = ternarize,
      .words = "the sign of what is larger than {threshold} in size, else 0,",
      .ways = {{"", "torch.sign({x}) * ({x}.abs() > {threshold})"},
               {"", "torch.where({x}.abs() > {threshold}, torch.sign({x}), torch.zeros_like({x}))"},
               {"", "({x} > {threshold}).float() - ({x} < -{threshold}).float()"},
               {"", "{x}.sign().masked_fill({x}.abs() <= {threshold}, 0.0)"},
               {"", "torch.sign(F.hardshrink({x}, {threshold}))"}}};
}

}  // namespace

std::vector<OpSpec> quantization_operators() {
  return {fake_quantize_operator(), ternarize_operator()};
}

}  // namespace kw::writer::generate
