// Smooth activation functions and gates.
#include <algorithm>

#include "writer/generate/operators.h"

namespace kw::writer::generate {
namespace {

bool is_even(const Value& x, const Limits& limits) {
  return is_float(x, limits) && x.shape.size() >= 2 && x.shape.back().n % 2 == 0;
}

// Gates: what is below 0 comes near to it.
void gated(Builder& b, std::string_view op) {
  Value& out = b.pointwise(op);
  out.range(std::max(out.low, -0.4), out.high);
}
void bounded(Builder& b, std::string_view op, bool positive) {
  Value& out = b.pointwise(op);
  out.range(positive ? 0 : -1, 1);
  out.centred = false;
}

void gelu(Builder& b) {
  Value& out = b.pointwise("gelu.default", {"none"});
  out.range(std::max(out.low, -0.2), out.high);
}
void gelu_tanh(Builder& b) {
  Value& out = b.pointwise("gelu.default", {"tanh"});
  out.range(std::max(out.low, -0.2), out.high);
}
void softplus(Builder& b) {
  const double beta = b.real("beta", b.chance(0.7) ? 1.0 : b.number({0.5, 2.0}), 1.0);
  Value& out = b.pointwise("softplus.default", {beta, 20.0});
  out.range(0, std::max(out.high, 0.0) + 1);
}
void softsign(Builder& b) {
  const Dims shape = b.x().shape;
  const ValueId size = b.call("abs.default", {b.x()}, shape);
  const ValueId below = b.call("add.Tensor", {size, 1}, shape);
  Value& out = b.result(b.call("div.Tensor", {b.x(), below}, shape), shape);
  out.range(b.x().positive() ? 0 : -1, b.x().high > 0 ? 1 : 0);
}
// Where exp() of it is far from infinity.
void say_small(Builder& b) {
  b.flag("small", b.x().magnitude() < 20);
}
void tanh(Builder& b) {
  say_small(b);
  bounded(b, "tanh.default", b.x().positive());
}
void log_sigmoid(Builder& b) {
  say_small(b);
  const Dims shape = b.x().shape;
  const ValueId negative = b.call("neg.default", {b.x()}, shape);
  const ValueId soft = b.call("softplus.default", {negative, 1.0, 20.0}, shape);
  Value& out = b.result(b.call("neg.default", {soft}, shape), shape);
  out.range(std::min(out.low, 0.0) - 1, 0);
}
void quick_gelu(Builder& b) {
  const double slope = b.real("slope", b.number({1.702, 1.702, 1.5, 2.0}));
  const Dims shape = b.x().shape;
  const ValueId scaled = b.call("mul.Tensor", {b.x(), slope}, shape);
  const ValueId gate = b.call("sigmoid.default", {scaled}, shape);
  b.result(b.call("mul.Tensor", {b.x(), gate}, shape), shape);
}
void tanh_shrink(Builder& b) {
  const Dims shape = b.x().shape;
  const ValueId tanh = b.call("tanh.default", {b.x()}, shape);
  b.result(b.call("sub.Tensor", {b.x(), tanh}, shape), shape);
}
void glu(Builder& b) {
  Dims shape = b.x().shape;
  b.fix(shape.back());
  const auto last = static_cast<int>(shape.size()) - 1;
  const Dim whole = shape.back(), half = floor_div(whole, 2);
  b.size_of("half", half);
  shape.back() = half;
  const ValueId first = b.call("slice.Tensor", {b.x(), last, 0, half, 1}, shape);
  const ValueId second = b.call("slice.Tensor", {b.x(), last, half, whole, 1}, shape);
  const bool swish = b.chance(0.4);
  b.flag("swish", swish);
  const ValueId gate = b.call(swish ? "silu.default" : "sigmoid.default", {second}, shape);
  Value& out = b.result(b.call("mul.Tensor", {first, gate}, shape), shape);
  if (swish) out.range(-out.magnitude() * out.magnitude(), out.magnitude() * out.magnitude());
}

OpSpec gelu_operator() {
  return {.name = "gelu",
          .weight = 4,
          .fits = is_float,
          .build = gelu,
          .words = "GELU",
          .ways = {{"nn.GELU()", ""},
                   {"", "F.gelu({x})"},
                   {"", "torch.nn.functional.gelu({x})"},
                   {"", "0.5 * {x} * (1 + torch.erf({x} / math.sqrt(2)))"},
                   {"", "{x} * 0.5 * (1.0 + torch.erf({x} * 0.7071067811865476))"},
                   {"", R"({t:cdf} = 0.5 * (1.0 + torch.erf({x} / math.sqrt(2.0)))
{x} * {t:cdf})"}}};
}

OpSpec gelu_tanh_operator() {
  return {.name = "gelu_tanh",
          .weight = 2,
          .fits = is_float,
          .build = gelu_tanh,
          .words = "GELU by its tanh approximation",
          .ways = {{R"(nn.GELU(approximate="tanh"))", ""},
                   {"", R"(F.gelu({x}, approximate="tanh"))"},
                   {"", "{x} / (1 + torch.exp(-1.5957691216057308 * ({x} + 0.044715 * {x} ** 3)))"},
                   {"",
                    "0.5 * {x} * (1.0 + torch.tanh(math.sqrt(2.0 / math.pi) * ({x} + 0.044715 * "
                    "torch.pow({x}, 3.0))))"},
                   {"", R"({t:inner} = math.sqrt(2 / math.pi) * ({x} + 0.044715 * {x} ** 3)
0.5 * {x} * (1 + torch.tanh({t:inner})))"},
                   {"",
                    "{x} * torch.sigmoid(2 * math.sqrt(2 / math.pi) * ({x} + 0.044715 * {x} * {x} "
                    "* {x}))"}}};
}

OpSpec sigmoid_operator() {
  return {.name = "sigmoid",
          .weight = 3,
          .fits = is_mixed,
          .build = [](Builder& b) { bounded(b, "sigmoid.default", true); },
          .words = "sigmoid",
          .ways = {{"nn.Sigmoid()", ""},
                   {"", "torch.sigmoid({x})"},
                   {"", "{x}.sigmoid()"},
                   {"", "F.sigmoid({x})"},
                   {"", "1 / (1 + torch.exp(-{x}))"},
                   {"", "torch.special.expit({x})"},
                   {"", "0.5 * (torch.tanh(0.5 * {x}) + 1.0)"}}};
}

OpSpec tanh_operator() {
  return {.name = "tanh",
          .weight = 3,
          .fits = is_mixed,
          .build = tanh,
          .words = "tanh",
          .ways = {{"nn.Tanh()", ""},
                   {"", "torch.tanh({x})"},
                   {"", "{x}.tanh()"},
                   {"", "F.tanh({x})"},
                   {"", "2 * torch.sigmoid(2 * {x}) - 1"},
                   {"", "(1 - torch.exp(-2 * {x})) / (1 + torch.exp(-2 * {x}))", "small"}}};
}

OpSpec silu_operator() {
  return {.name = "silu",
          .weight = 4,
          .fits = is_float,
          .build = [](Builder& b) { gated(b, "silu.default"); },
          .words = "SiLU (Swish)",
          .ways = {{"nn.SiLU()", ""},
                   {"", "F.silu({x})"},
                   {"", "torch.nn.functional.silu({x})"},
                   {"", "{x} * torch.sigmoid({x})"},
                   {"", "torch.sigmoid({x}) * {x}"},
                   {"", "{x} * {x}.sigmoid()"},
                   {"", "{x}.mul(torch.sigmoid({x}))"},
                   {"", "{x} / (1 + torch.exp(-{x}))"}}};
}

OpSpec mish_operator() {
  return {.name = "mish",
          .weight = 1.5,
          .fits = is_float,
          .build = [](Builder& b) { gated(b, "mish.default"); },
          .words = "Mish",
          .ways = {{"nn.Mish()", ""},
                   {"", "F.mish({x})"},
                   {"", "{x} * torch.tanh(F.softplus({x}))"},
                   {"", "torch.tanh(F.softplus({x})) * {x}"},
                   {"", "{x} * F.softplus({x}).tanh()"},
                   {"", "torch.multiply({x}, torch.tanh(torch.nn.functional.softplus({x})))"}}};
}

OpSpec softplus_operator() {
  return {
      .name = "softplus",
      .fits = is_float,
      .build = softplus,
      .words = "softplus with beta {beta}",
      .ways = {
          {"nn.Softplus([[beta={beta}]])", ""},
          {"", "F.softplus({x}[[, beta={beta}]])"},
          {"", "torch.nn.functional.softplus({x}[[, {beta}]])"},
          {"", "torch.logaddexp({beta} * {x}, torch.zeros_like({x})) / {beta}"},
          {"",
           "torch.log1p(torch.exp(-torch.abs({beta} * {x}))) / {beta} + torch.clamp({x}, min=0)"},
          {"", "-F.logsigmoid(-{beta} * {x}) / {beta}"}}};
}

OpSpec softsign_operator() {
  return {.name = "softsign",
          .fits = is_float,
          .build = softsign,
          .words = "softsign",
          .ways = {{"nn.Softsign()", ""},
                   {"", "F.softsign({x})"},
                   {"", "{x} / (1 + torch.abs({x}))"},
                   {"", "{x} / (1.0 + {x}.abs())"},
                   {"", "torch.div({x}, {x}.abs().add(1))"}}};
}

OpSpec hardsigmoid_operator() {
  return {.name = "hardsigmoid",
          .fits = is_mixed,
          .build = [](Builder& b) { bounded(b, "hardsigmoid.default", true); },
          .words = "hard sigmoid",
          .ways = {{"nn.Hardsigmoid()", ""},
                   {"", "F.hardsigmoid({x})"},
                   {"", "F.relu6({x} + 3) / 6"},
                   {"", "torch.clamp({x} + 3, 0, 6) / 6"},
                   {"", "torch.clamp({x} / 6 + 0.5, min=0, max=1)"}}};
}

OpSpec hardswish_operator() {
  return {.name = "hardswish",
          .weight = 1.5,
          .fits = [](const Value& x, const Limits& l) { return is_float(x, l) && x.high > 0.2; },
          .build = [](Builder& b) { gated(b, "hardswish.default"); },
          .words = "hard swish",
          .ways = {{"nn.Hardswish()", ""},
                   {"", "F.hardswish({x})"},
                   {"", "{x} * F.relu6({x} + 3) / 6"},
                   {"", "{x} * torch.clamp({x} + 3, min=0, max=6) / 6"},
                   {"", "{x} * F.hardsigmoid({x})"}}};
}

OpSpec log_sigmoid_operator() {
  return {.name = "log_sigmoid",
          .weight = 0.7,
          .fits = is_float,
          .build = log_sigmoid,
          .words = "log-sigmoid",
          .ways = {{"nn.LogSigmoid()", ""},
                   {"", "F.logsigmoid({x})"},
                   {"", "-F.softplus(-{x})"},
                   {"", "torch.log(torch.sigmoid({x}))", "small"},
                   {"", "torch.neg(F.softplus(torch.neg({x})))"},
                   {"", "torch.clamp({x}, max=0) - torch.log1p(torch.exp(-torch.abs({x})))"},
                   {"", "-torch.logaddexp(torch.zeros_like({x}), -{x})"}}};
}

OpSpec quick_gelu_operator() {
  return {.name = "quick_gelu",
          .fits = is_float,
          .build = quick_gelu,
          .words = "x * sigmoid({slope} x)",
          .ways = {{"", "{x} * torch.sigmoid({slope} * {x})"},
                   {"", "{x} * ({slope} * {x}).sigmoid()"},
                   {"", "torch.sigmoid({x} * {slope}) * {x}"},
                   {"", "F.silu({slope} * {x}) / {slope}"},
                   {"", R"({t:gate} = torch.sigmoid({slope} * {x})
{x} * {t:gate})"},
                   {"QuickGELU({slope})", "", "", R"(class QuickGELU(nn.Module):
    def __init__(self, slope):
        super().__init__()
        self.slope = slope

    def forward(self, x):
        return x * torch.sigmoid(self.slope * x)
)"}}};
}

OpSpec tanh_shrink_operator() {
  return {.name = "tanh_shrink",
          .weight = 0.5,
          .fits = is_float,
          .build = tanh_shrink,
          .words = "tanhshrink",
          .ways = {{"nn.Tanhshrink()", ""},
                   {"", "F.tanhshrink({x})"},
                   {"", "{x} - torch.tanh({x})"},
                   {"", "{x} - {x}.tanh()"},
                   {"", "torch.sub({x}, torch.tanh({x}))"}}};
}

OpSpec glu_operator() {
  return {
      .name = "glu",
      .tier = 2,
      .fits = is_even,
      .build = glu,
      .words = "a gated linear unit over the two halves of the last dimension",
      .ways = {
          {"nn.GLU(dim=-1)", "", "!swish"},
          {"", "F.glu({x}, dim=-1)", "!swish"},
          {"", R"({t:a}, {t:b} = {x}.chunk(2, dim=-1)
{t:a} * torch.sigmoid({t:b}))",
           "!swish"},
          {"", R"({t:a}, {t:gate} = torch.chunk({x}, 2, dim=-1)
{t:a} * F.silu({t:gate}))",
           "swish"},
          {"", "{x}[..., :{half}] * F.silu({x}[..., {half}:])", "swish"},
          {"", "{x}[..., :{half}] * torch.sigmoid({x}[..., {half}:])", "!swish"},
          {"", R"({t:value}, {t:gate} = torch.split({x}, {half}, dim=-1)
{t:value} * {t:gate} * torch.sigmoid({t:gate}))",
           "swish"},
          {"", R"({t:value}, {t:gate} = torch.split({x}, {half}, dim=-1)
{t:value} * {t:gate}.sigmoid())",
           "!swish"},
          {"",
           "torch.nn.functional.silu({x}.narrow(-1, {half}, {half})) * {x}.narrow(-1, 0, {half})",
           "swish"},
          {"SwiGLU()", "", "swish", R"(class SwiGLU(nn.Module):
    def forward(self, x):
        value, gate = x.chunk(2, dim=-1)
        return value * nn.functional.silu(gate)
)"},
          {"GLU()", "", "!swish", R"(class GLU(nn.Module):
    def forward(self, x):
        half = x.shape[-1] // 2
        return x[..., :half] * torch.sigmoid(x[..., half:])
)"}}};
}

}  // namespace

std::vector<OpSpec> activation_operators() {
  return in_half_too({gelu_operator(), gelu_tanh_operator(), sigmoid_operator(), tanh_operator(),
                      silu_operator(), mish_operator(), softplus_operator(), softsign_operator(),
                      hardsigmoid_operator(), hardswish_operator(), log_sigmoid_operator(),
                      quick_gelu_operator(), tanh_shrink_operator(), glu_operator()});
}

}  // namespace kw::writer::generate
