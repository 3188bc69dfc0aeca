// Arithmetic, one element at a time.
#include <algorithm>

#include "writer/generate/operators.h"

namespace kw::writer::generate {
namespace {

bool is_tensor(const Value& x, const Limits&) {
  return x.dtype == task::DType::kFloat32 && x.magnitude() < 1e4;
}

void scale(Builder& b) {
  const double factor = b.real("scaling_factor", b.number({0.5, 2.0, 0.1, 1.5, 0.125, 3.0}));
  Value& out = b.pointwise("mul.Tensor", {factor});
  out.range(out.low * factor, out.high * factor);
}
void add_constant(Builder& b) {
  const double value = b.real("add_value", b.number({1.0, 0.5, 2.0, 0.1}));
  Value& out = b.pointwise("add.Tensor", {value});
  out.range(out.low + value, out.high + value);
}
void subtract_constant(Builder& b) {
  const double value = b.real("subtract_value", b.number({0.5, 1.0, 2.0, 0.2}));
  Value& out = b.pointwise("sub.Tensor", {value});
  out.range(out.low - value, out.high - value);
}
void divide(Builder& b) {
  const double value = b.real("divisor", b.number({2.0, 4.0, 10.0, 0.5, 8.0}));
  Value& out = b.pointwise("div.Tensor", {value});
  out.range(out.low / value, out.high / value);
}
void residual(Builder& b) {
  const Dims shape = b.x().shape;
  const Value& y = b.companion(shape);
  Value& out = b.result(b.call("add.Tensor", {b.x(), y}, shape), shape);
  out.range(b.x().low + b.in(1).low, b.x().high + b.in(1).high);
}
void multiply(Builder& b) {
  const Dims shape = b.x().shape;
  const Value& y = b.companion(shape);
  Value& out = b.result(b.call("mul.Tensor", {b.x(), y}, shape), shape);
  const double high = b.x().magnitude() * b.in(1).magnitude();
  out.range(b.x().positive() && b.in(1).positive() ? 0 : -high, high);
}

}  // namespace

std::vector<OpSpec> elementwise_operators() {
  constexpr std::string_view kFamily = "elementwise";
  return {
      {"scale",
       kFamily,
       3,
       1,
       Domain::kAny,
       is_tensor,
       scale,
       "scaling by {scaling_factor}",
       {{"", "{x} * {scaling_factor}"},
        {"", "torch.mul({x}, {scaling_factor})"},
        {"", "{x}.mul({scaling_factor})"},
        {"", "{scaling_factor} * {x}"},
        {"", "torch.multiply({x}, {scaling_factor})"}}},
      {"add_constant",
       kFamily,
       2,
       1,
       Domain::kAny,
       is_tensor,
       add_constant,
       "adding {add_value}",
       {{"", "{x} + {add_value}"},
        {"", "torch.add({x}, {add_value})"},
        {"", "{x}.add({add_value})"},
        {"", "{add_value} + {x}"},
        {"", "torch.sub({x}, -{add_value})"}}},
      {"subtract_constant",
       kFamily,
       2,
       1,
       Domain::kAny,
       is_tensor,
       subtract_constant,
       "subtracting {subtract_value}",
       {{"", "{x} - {subtract_value}"},
        {"", "torch.sub({x}, {subtract_value})"},
        {"", "{x}.sub({subtract_value})"},
        {"", "torch.subtract({x}, {subtract_value})"},
        {"", "-{subtract_value} + {x}"}}},
      {"divide",
       kFamily,
       2,
       1,
       Domain::kAny,
       is_tensor,
       divide,
       "dividing by {divisor}",
       {{"", "{x} / {divisor}"},
        {"", "torch.div({x}, {divisor})"},
        {"", "{x}.div({divisor})"},
        {"", "torch.true_divide({x}, {divisor})"},
        {"", "{x} * (1.0 / {divisor})"}}},
      {"residual",
       kFamily,
       4,
       1,
       Domain::kAny,
       is_tensor,
       residual,
       "adding another tensor of its shape",
       {{"", "{x} + {y}"},
        {"", "torch.add({x}, {y})"},
        {"", "{x}.add({y})"},
        {"", "{y} + {x}"},
        {"", "torch.sum(torch.stack([{x}, {y}]), dim=0)"}}},
      {"multiply",
       kFamily,
       2,
       1,
       Domain::kAny,
       is_tensor,
       multiply,
       "multiplying by another tensor of its shape",
       {{"", "{x} * {y}"},
        {"", "torch.mul({x}, {y})"},
        {"", "{x}.mul({y})"},
        {"", "{y} * {x}"},
        {"", "torch.multiply({x}, {y})"}}},
  };
}

}  // namespace kw::writer::generate
