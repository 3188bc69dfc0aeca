// Numbers on a grid, and as whole numbers of a step. All make their own input: what another
// operator rounds may fall to the other side of a step.
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
  const ValueId large = b.call("gt.Scalar", {size, threshold}, shape, tensor::DType::kBool);
  const ValueId sign = b.call("sign.default", {b.x()}, shape);
  Value& out = b.result(b.call("mul.Tensor", {sign, large}, shape), shape);
  out.range(-1, 1);
  out.plateaus = true;
}

// int8: round(x / scale) + zero_point, within its range
void quantize(Builder& b) {
  const Dims shape = draw_matrix(b);
  b.input("x", shape);
  const double scale = b.real("scale", b.pick({0.125, 0.0625, 0.03125, 0.015625}));
  const std::int64_t zero = b.whole("zero_point", b.chance(0.3) ? 0 : b.between(-40, 40));
  const ValueId steps = b.call("div.Tensor", {b.x(), scale}, shape);
  const ValueId rounded = b.call("round.default", {steps}, shape);
  const ValueId shifted = b.call("add.Tensor", {rounded, zero}, shape);
  const ValueId kept = b.call("clamp.default", {shifted, -128, 127}, shape);
  b.result(b.call("_to_copy.default", {kept, tensor::DType::kInt8}, shape, tensor::DType::kInt8),
           shape);
}

// (q - zero_point) * scale of the row
void dequantize(Builder& b) {
  const Dims shape = draw_matrix(b);
  const Dims rows = {shape[0]}, column = {shape[0], {1, 1}};
  const ValueId q = b.whole_numbers("q", shape, tensor::DType::kInt8, -128, 127).id;
  const ValueId scale = b.input("scale", rows, Filling::kUniform).id;
  const std::int64_t zero = b.whole("zero_point", b.chance(0.3) ? 0 : b.between(-20, 20));
  const ValueId number = b.call("_to_copy.default", {q, tensor::DType::kFloat32}, shape);
  const ValueId centred = b.call("sub.Tensor", {number, zero}, shape);
  const ValueId tall = b.call("unsqueeze.default", {scale, 1}, column);
  b.result(b.call("mul.Tensor", {centred, tall}, shape), shape).range(-148, 148);
}

OpSpec fake_quantize_operator() {
  return {.name = "fake_quantize",
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
      .domain = Domain::kNone,
      .build = ternarize,
      .words = "the sign of what is larger than {threshold} in size, else 0,",
      .ways = {{"", "torch.sign({x}) * ({x}.abs() > {threshold})"},
               {"", "torch.where({x}.abs() > {threshold}, torch.sign({x}), torch.zeros_like({x}))"},
               {"", "({x} > {threshold}).float() - ({x} < -{threshold}).float()"},
               {"", "{x}.sign().masked_fill({x}.abs() <= {threshold}, 0.0)"},
               {"", "torch.sign(F.hardshrink({x}, {threshold}))"}}};
}

OpSpec quantize_operator() {
  return {
      .name = "quantize",
      .domain = Domain::kNone,
      .build = quantize,
      .words = "int8 quantisation with scale {scale} and zero point {zero_point}",
      .ways = {
          {"", "torch.clamp(torch.round({x} / {scale}) + {zero_point}, -128, 127).to(torch.int8)"},
          {"", "({x} / {scale}).round().add({zero_point}).clamp(-128, 127).to(dtype=torch.int8)"},
          {"", R"({t:q} = torch.round(torch.mul({x}, 1.0 / {scale})).add({zero_point})
{t:q}.clamp(min=-128, max=127).char())"},
          {"", R"({t:steps} = torch.div({x}, {scale}).round() + {zero_point}
F.hardtanh({t:steps}, -128, 127).to(torch.int8))"},
          {"", R"({t:q} = {zero_point} + torch.round({x} / {scale}).to(torch.int32)
{t:q}.clamp(-128, 127).to(torch.int8))"}}};
}

OpSpec dequantize_operator() {
  return {.name = "dequantize",
          .domain = Domain::kNone,
          .build = dequantize,
          .words = "int8 values less the zero point {zero_point} times the scale of their row",
          .ways = {{"", "({x}.to({y}.dtype) - {zero_point}) * {y}[:, None]"},
                   {"", "({x}.float() - {zero_point}) * {y}.unsqueeze(1)"},
                   {"", "torch.mul({x}.to(torch.int32) - {zero_point}, {y}.unsqueeze(-1))"},
                   {"", R"({t:whole} = {x}.to(torch.float32).sub({zero_point})
{t:whole} * {y}.view(-1, 1))"},
                   {"", R"({t:scale} = {y}.reshape(-1, 1).expand({x}.shape)
{t:scale} * ({x}.float() - {zero_point}))"}}};
}

}  // namespace

std::vector<OpSpec> quantization_operators() {
  return {fake_quantize_operator(), ternarize_operator(), quantize_operator(),
          dequantize_operator()};
}

}  // namespace kw::writer::generate
