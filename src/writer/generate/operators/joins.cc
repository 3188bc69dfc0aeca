// What joins two tensors of one shape: gates, choices by a mask, stacks.
#include <algorithm>

#include "writer/generate/operators.h"

namespace kw::writer::generate {
namespace {

bool can_stack(const Value& x, const Limits& limits) {
  return has_elements(x, limits) && x.shape.size() <= 4 &&
         elements(x.shape) * 2 <= limits.max_elements;
}

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

void stack(Builder& b) {
  const Dims shape = b.x().shape;
  const ValueId y = b.companion(shape).id;
  const auto dim = b.whole("dim", b.between(0, std::min<std::int64_t>(2, std::ssize(shape) - 1)));
  b.text("place", dim == 0 ? "None" : dim == 1 ? ":, None" : ":, :, None");
  Dims one = shape;
  one.insert(one.begin() + static_cast<std::ptrdiff_t>(dim), Dim{1, 1});
  const ValueId first = b.call("unsqueeze.default", {b.x(), dim}, one);
  const ValueId second = b.call("unsqueeze.default", {y, dim}, one);
  Dims both = one;
  both[static_cast<std::size_t>(dim)] = {2, 2};
  Value& out = b.result(
      b.call("cat.default", {std::vector<std::optional<ValueId>>{first, second}, dim}, both), both);
  out.range(std::min(b.x().low, b.in(1).low), std::max(b.x().high, b.in(1).high));
  out.plateaus = out.plateaus || b.in(1).plateaus;
}

OpSpec gate_operator() {
  return {.name = "gate",
          .family = "elementwise",
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
torch.einsum("...,...->...", {t:gate}, {y}))"}}};
}

OpSpec choose_operator() {
  return {.name = "choose",
          .family = "elementwise",
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
{t:weight} * {x} + (1 - {t:weight}) * {y})"}}};
}

OpSpec stack_operator() {
  return {.name = "stack",
          .family = "layout",
          .weight = 0.7,
          .domain = Domain::kNever,
          .fits = can_stack,
          .build = stack,
          .words = "stacking along a new dimension {dim}",
          .ways = {{"", "torch.stack([{x}, {y}], dim={dim})"},
                   {"", "torch.stack(({x}, {y}), {dim})"},
                   {"", "torch.cat([{x}.unsqueeze({dim}), {y}.unsqueeze({dim})], dim={dim})"},
                   {"", "torch.cat(({x}[{place}], {y}[{place}]), {dim})"},
                   {"", "torch.cat([{x}, {y}], dim={dim}).unflatten({dim}, (2, -1))"},
                   {"", R"({t:pair} = [torch.unsqueeze({t:each}, {dim}) for {t:each} in ({x}, {y})]
torch.concat({t:pair}, dim={dim}))"}}};
}

}  // namespace

std::vector<OpSpec> join_operators() {
  return {gate_operator(), choose_operator(), stack_operator()};
}

}  // namespace kw::writer::generate
