// Rectifiers: activation functions in straight pieces, and the exponential ones below 0.
#include <algorithm>

#include "writer/generate/operators.h"

namespace kw::writer::generate {
namespace {

// Some above 0 and some below.
bool has_both(const Value& x, const Limits& limits) {
  return is_float(x, limits) && x.high > 0.2 && x.low < 0;
}
bool is_small(const Value& x, const Limits& limits) {
  return is_float(x, limits) && x.magnitude() < 20 && x.high > 0.3;
}
bool has_float_channels(const Value& x, const Limits& limits) {
  return is_float(x, limits) && x.shape.size() >= 2 && x.shape[1].n > 1;
}

void relu(Builder& b) {
  Value& out = b.pointwise("relu.default");
  out.range(0, out.high);
  out.centred = false;
}
void leaky_relu(Builder& b) {
  const double slope = b.real("negative_slope", b.number({0.01, 0.01, 0.1, 0.2}), 0.01);
  b.pointwise("leaky_relu.default", {slope});
}
void elu(Builder& b) {
  const double alpha = b.real("alpha", b.number({1.0, 1.0, 0.5, 1.5}), 1.0);
  b.pointwise("elu.default", {alpha, 1, 1});
}
void selu(Builder& b) {
  b.pointwise("elu.default", {1.6732632423543772, 1.0507009873554805, 1});
}
void celu(Builder& b) {
  const double alpha = b.real("alpha", b.number({1.0, 0.5, 2.0}), 1.0);
  b.pointwise("elu.default", {alpha, 1.0, 1 / alpha});
}
void hardtanh(Builder& b) {
  const bool usual = b.chance(0.5);
  const double low = b.real("min_val", usual ? -1.0 : b.number({-2.0, -0.5, -3.0}), -1.0);
  const double high = b.real("max_val", usual ? 1.0 : b.number({2.0, 0.5, 4.0}), 1.0);
  Value& out = b.pointwise("hardtanh.default", {low, high});
  out.range(std::max(out.low, low), std::min(out.high, high));
}
void relu6(Builder& b) {
  Value& out = b.pointwise("hardtanh.default", {0.0, 6.0});
  out.range(0, std::min(out.high, 6.0));
}
void squared_relu(Builder& b) {
  const Dims shape = b.x().shape;
  const ValueId relu = b.call("relu.default", {b.x()}, shape);
  Value& out = b.result(b.call("mul.Tensor", {relu, relu}, shape), shape);
  out.range(0, out.high * out.high);
}
void threshold(Builder& b) {
  double at = b.number({0.1, 0.5, 0.0});
  if (at > b.x().high / 4) at = 0;
  b.real("threshold", at);
  const double value = b.real("value", b.number({0.0, 0.0, -1.0, 2.0}));
  const Dims shape = b.x().shape;
  const ValueId above = b.call("gt.Scalar", {b.x(), at}, shape, tensor::DType::kBool);
  const ValueId other = b.call("full.default", {std::vector<IntExpr>{}, value}, {});
  Value& out = b.result(b.call("where.self", {above, b.x(), other}, shape), shape);
  out.range(value, std::max(out.high, value));
}
void hard_shrink(Builder& b) {
  double at = b.number({0.5, 0.5, 0.3, 1.0});
  if (at > b.x().magnitude() / 4) at = 0.05;
  b.real("lambd", at, 0.5);
  const Dims shape = b.x().shape;
  const ValueId size = b.call("abs.default", {b.x()}, shape);
  const ValueId above = b.call("gt.Scalar", {size, at}, shape, tensor::DType::kBool);
  const ValueId zero = b.call("full.default", {std::vector<IntExpr>{}, 0.0}, {});
  b.result(b.call("where.self", {above, b.x(), zero}, shape), shape);
}
void prelu(Builder& b) {
  const Dims shape = b.x().shape;
  const bool single = b.chance(0.4);
  b.flag("single", single);
  const Dim channels = single ? Dim{1, 1} : shape[1];
  b.size_of("channels", channels);
  const Value& weight = b.weight("weight", {channels}, Start::kWeight, {1, 1});
  Dims wide(shape.size(), Dim{1, 1});
  wide[1] = channels;
  const ValueId factors = b.call("view.default", {weight, wide}, wide);
  const ValueId above = b.call("gt.Scalar", {b.x(), 0}, shape, tensor::DType::kBool);
  const ValueId scaled = b.call("mul.Tensor", {b.x(), factors}, shape);
  b.text("spread", shape.size() == 2   ? "1, -1"
                   : shape.size() == 3 ? "1, -1, 1"
                   : shape.size() == 4 ? "1, -1, 1, 1"
                                       : "1, -1, 1, 1, 1");
  b.result(b.call("where.self", {above, b.x(), scaled}, shape), shape);
}

OpSpec relu_operator() {
  return {.name = "relu",
          .weight = 5,
          .fits = has_both,
          .build = relu,
          .words = "ReLU",
          .ways = {{"nn.ReLU()", ""},
                   {"", "F.relu({x})"},
                   {"", "torch.relu({x})"},
                   {"", "{x}.relu()"},
                   {"", "torch.clamp({x}, min=0)"},
                   {"", "{x}.clamp(min=0.0)"},
                   {"", "torch.maximum({x}, torch.zeros_like({x}))"},
                   {"", "{x} * ({x} > 0)"},
                   {"", "torch.where({x} > 0, {x}, torch.zeros_like({x}))"}},
          .keeps_positive = true,
          .makes_equal = true};
}

OpSpec leaky_relu_operator() {
  return {.name = "leaky_relu",
          .weight = 2,
          .fits = is_float,
          .build = leaky_relu,
          .words = "LeakyReLU with slope {negative_slope}",
          .ways = {{"nn.LeakyReLU([[{negative_slope}]])", ""},
                   {"nn.LeakyReLU(negative_slope={negative_slope})", ""},
                   {"", "F.leaky_relu({x}[[, negative_slope={negative_slope}]])"},
                   {"", "torch.where({x} > 0, {x}, {negative_slope} * {x})"},
                   {"", "torch.where({x} >= 0, {x}, {x} * {negative_slope})"},
                   {"", "torch.clamp({x}, min=0) + {negative_slope} * torch.clamp({x}, max=0)"},
                   {"", "F.relu({x}) - {negative_slope} * F.relu(-{x})"}},
          .keeps_positive = true};
}

OpSpec elu_operator() {
  return {.name = "elu",
          .fits = is_float,
          .build = elu,
          .words = "ELU with alpha {alpha}",
          .ways = {{"nn.ELU([[alpha={alpha}]])", ""},
                   {"", "F.elu({x}[[, alpha={alpha}]])"},
                   {"", "torch.where({x} > 0, {x}, {alpha} * (torch.exp({x}) - 1))"},
                   {"", "torch.where({x} > 0, {x}, {alpha} * torch.expm1({x}))"},
                   {"", "F.relu({x}) + {alpha} * torch.expm1(torch.clamp({x}, max=0))"},
                   {"", "torch.nn.functional.elu({x}, {alpha})"}},
          .keeps_positive = true};
}

OpSpec selu_operator() {
  return {
      .name = "selu",
      .fits = is_float,
      .build = selu,
      .words = "SELU",
      .ways = {
          {"nn.SELU()", ""},
          {"", "F.selu({x})"},
          {"", "torch.selu({x})"},
          {"", "torch.nn.functional.selu({x})"},
          {"",
           "1.0507009873554805 * torch.where({x} > 0, {x}, 1.6732632423543772 * torch.expm1({x}))"},
          {"", R"({t:alpha} = 1.6732632423543772
{t:scale} = 1.0507009873554805
{t:scale} * (torch.clamp({x}, min=0) + {t:alpha} * torch.expm1(torch.clamp({x}, max=0))))"}}};
}

OpSpec celu_operator() {
  return {
      .name = "celu",
      .weight = 0.5,
      .fits = is_float,
      .build = celu,
      .words = "CELU with alpha {alpha}",
      .ways =
          {{"nn.CELU([[alpha={alpha}]])", ""},
           {"", "F.celu({x}[[, alpha={alpha}]])"},
           {"", "torch.celu({x}, {alpha})"},
           {"",
            "torch.clamp({x}, min=0) + torch.clamp({alpha} * torch.expm1({x} / {alpha}), max=0)"},
           {"", "torch.where({x} > 0, {x}, {alpha} * torch.expm1({x} / {alpha}))"}},
      .keeps_positive = true};
}

OpSpec hardtanh_operator() {
  return {.name = "hardtanh",
          .weight = 1.5,
          .fits = is_mixed,
          .build = hardtanh,
          .words = "clipping to {min_val} .. {max_val}",
          .ways = {{"nn.Hardtanh([[min_val={min_val}, max_val={max_val}]])", ""},
                   {"", "F.hardtanh({x}[[, min_val={min_val}, max_val={max_val}]])"},
                   {"", "torch.clamp({x}, min={min_val}, max={max_val})"},
                   {"", "torch.clamp({x}, {min_val}, {max_val})"},
                   {"", "{x}.clamp({min_val}, {max_val})"},
                   {"", "torch.clip({x}, {min_val}, {max_val})"}},
          .makes_equal = true};
}

OpSpec relu6_operator() {
  return {.name = "relu6",
          .fits = is_mixed,
          .build = relu6,
          .words = "ReLU6",
          .ways = {{"nn.ReLU6()", ""},
                   {"", "F.relu6({x})"},
                   {"", "torch.clamp({x}, 0, 6)"},
                   {"", "{x}.clamp(min=0, max=6)"},
                   {"", "F.hardtanh({x}, 0.0, 6.0)"},
                   {"", "torch.relu({x}).clamp(max=6.0)"}},
          .makes_equal = true};
}

OpSpec squared_relu_operator() {
  return {.name = "squared_relu",
          .weight = 0.7,
          .fits = is_small,
          .build = squared_relu,
          .words = "squared ReLU",
          .ways = {{"", "F.relu({x}) ** 2"},
                   {"", "torch.relu({x}).pow(2)"},
                   {"", "torch.square(F.relu({x}))"},
                   {"", R"({t:positive} = torch.clamp({x}, min=0)
{t:positive} * {t:positive})"},
                   {"nn.ReLU()", "self.{m}({x}) ** 2"}},
          .makes_equal = true};
}

OpSpec threshold_operator() {
  return {.name = "threshold",
          .weight = 0.4,
          .fits = is_mixed,
          .build = threshold,
          .words = "replacing what is not above {threshold} by {value}",
          .ways = {{"nn.Threshold({threshold}, {value})", ""},
                   {"", "F.threshold({x}, {threshold}, {value})"},
                   {"", "torch.where({x} > {threshold}, {x}, {value})"},
                   {"", "{x}.masked_fill({x} <= {threshold}, {value})"},
                   {"", "torch.where({x} <= {threshold}, torch.full_like({x}, {value}), {x})"}},
          .makes_equal = true,
          .half = false};
}

OpSpec hard_shrink_operator() {
  return {.name = "hard_shrink",
          .weight = 0.4,
          .fits = is_mixed,
          .build = hard_shrink,
          .words = "hard shrinkage by {lambd}",
          .ways = {{"nn.Hardshrink([[lambd={lambd}]])", ""},
                   {"", "F.hardshrink({x}[[, lambd={lambd}]])"},
                   {"", "torch.where(torch.abs({x}) > {lambd}, {x}, torch.zeros_like({x}))"},
                   {"", "{x} * ({x}.abs() > {lambd})"},
                   {"", "{x}.masked_fill({x}.abs() <= {lambd}, 0.0)"}},
          .makes_equal = true};
}

OpSpec prelu_operator() {
  return {.name = "prelu",
          .weight = 0.8,
          .fits = has_float_channels,
          .build = prelu,
          .words = "PReLU",
          .ways = {{"nn.PReLU(num_parameters={channels})", "", "!single"},
                   {"nn.PReLU({channels})", "", "!single"},
                   {"nn.PReLU()", "", "single"},
                   {"", "F.prelu({x}, {weight})"},
                   {"", "torch.prelu({x}, {weight})"},
                   {"", "torch.where({x} > 0, {x}, {weight}.view({spread}) * {x})"},
                   {"", "F.relu({x}) - {weight}.reshape({spread}) * F.relu(-{x})"}},
          .keeps_positive = true};
}

}  // namespace

std::vector<OpSpec> rectifier_operators() {
  return in_half_too({relu_operator(), leaky_relu_operator(), elu_operator(), selu_operator(),
                      celu_operator(), hardtanh_operator(), relu6_operator(),
                      squared_relu_operator(), threshold_operator(), hard_shrink_operator(),
                      prelu_operator()});
}

}  // namespace kw::writer::generate
