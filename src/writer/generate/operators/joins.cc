// What joins two tensors of one shape element by element: gates, choices by a mask.
#include <algorithm>

#include "writer/generate/operators.h"

namespace kw::writer::generate {
namespace {

// sigmoid(x) * y
void gate(Builder& b) {
  const Dims shape = b.x().shape;
  const Value& y = b.companion(shape);
  const ValueId open = b.call("sigmoid.default", {b.x()}, shape);
  Value& out = b.result(b.call("mul.Tensor", {open, y}, shape), shape);
  out.range(std::min(0.0, b.in(1).low), std::max(0.0, b.in(1).high));
  out.plateaus = out.plateaus || b.in(1).plateaus;
}

// x where a mask is true, else y
void choose(Builder& b) {
  const Dims shape = b.x().shape;
  const ValueId y = b.companion(shape).id;
  const ValueId mask = b.input("mask", shape, Filling::kMask).id;
  Value& out = b.result(b.call("where.self", {mask, b.x(), y}, shape), shape);
  out.range(std::min(b.x().low, b.in(1).low), std::max(b.x().high, b.in(1).high));
  out.plateaus = out.plateaus || b.in(1).plateaus;
  out.centred = false;
}

OpSpec gate_operator() {
  return {.name = "gate",
          .domain = Domain::kNever,
          .fits = has_elements,
          .build = gate,
          .words = "a gate, the sigmoid of the first times the second,",
          .ways = {{"", "torch.sigmoid({x}) * {y}"},
                   {"", "{y} * {x}.sigmoid()"},
                   {"", "torch.mul(F.sigmoid({x}), {y})"},
                   {"", "{y} / (1 + torch.exp(-{x}))"},
                   {"nn.Sigmoid()", "self.{m}({x}) * {y}"},
                   {"", R"({t:gate} = torch.sigmoid({x})
torch.einsum("...,...->...", {t:gate}, {y}))"}},
          .join = {.weight = 2}};
}

OpSpec choose_operator() {
  return {.name = "choose",
          .weight = 0.7,
          .domain = Domain::kNever,
          .fits = has_elements,
          .build = choose,
          .words = "the first where a mask is true, else the second,",
          .ways = {{"", "torch.where({z}, {x}, {y})"},
                   {"", "{x}.where({z}, {y})"},
                   {"", "torch.where(~{z}, {y}, {x})"},
                   {"", "{x} * {z} + {y} * ~{z}"},
                   {"", "{x}.masked_fill(~{z}, 0.0) + {y}.masked_fill({z}, 0.0)"},
                   {"", R"({t:weight} = {z}.to({x}.dtype)
{t:weight} * {x} + (1 - {t:weight}) * {y})"}},
          .join = {.weight = 1}};
}

}  // namespace

std::vector<OpSpec> join_operators() {
  return in_half_too({gate_operator(), choose_operator()});
}

}  // namespace kw::writer::generate
