#include "data/canonical/formulas.h"

#include <cmath>
#include <numbers>

namespace kw::data::canonical {
namespace {

Numbers with_ones(Numbers shape, const Numbers& axes) {
  for (std::int64_t axis : axes) shape[static_cast<std::size_t>(axis)] = 1;
  return shape;
}

Type type_of(const Terms& terms, TermId x) {
  return terms[x].type;
}

}  // namespace

TermId silu(Terms& terms, TermId x) {
  return terms.mul(x, terms.function("sigmoid", x), type_of(terms, x));
}

// With by_tanh: x * (1 + tanh(u)) / 2 is x * sigmoid(2 u).
TermId gelu(Terms& terms, TermId x, bool by_tanh) {
  const Type type = type_of(terms, x);
  if (!by_tanh) {
    const TermId erf = terms.function("erf", terms.scale(x, std::sqrt(0.5)));
    return terms.scale(terms.mul(x, terms.shift(erf, 1), type), 0.5);
  }
  const TermId inner = terms.add(x, terms.power(x, 3), type, 0.044715);
  const double factor = 2 * std::sqrt(2 / std::numbers::pi);
  return terms.mul(x, terms.function("sigmoid", terms.scale(inner, factor)), type);
}

TermId softplus(Terms& terms, TermId x, double beta) {
  const TermId gate = terms.function("sigmoid", terms.scale(x, -beta));
  return terms.scale(terms.function("log", gate), -1 / beta);
}

TermId mish(Terms& terms, TermId x) {
  return terms.mul(x, terms.function("tanh", softplus(terms, x, 1)), type_of(terms, x));
}

TermId hardsigmoid(Terms& terms, TermId x) {
  return terms.scale(terms.clamp(terms.shift(x, 3), 0, 6), 1.0 / 6);
}

TermId leaky_relu(Terms& terms, TermId x, double slope) {
  return terms.add(terms.scale(x, slope), terms.relu(x), type_of(terms, x), 1 - slope);
}

TermId elu(Terms& terms, TermId x, double alpha, double scale, double input_scale) {
  const Type type = type_of(terms, x);
  const TermId below = terms.function("expm1", terms.scale(x, input_scale));
  const TermId negative =
      terms.compare("le", x, terms.full(0, type), {tensor::DType::kBool, type.shape});
  return terms.scale(terms.where(negative, terms.scale(below, alpha), x, type), scale);
}

TermId softmax(Terms& terms, TermId x, std::int64_t axis) {
  const Type type = type_of(terms, x);
  const TermId power = terms.function("exp", x);
  return terms.divide(power, terms.reduce("sum", power, {axis}, with_ones(type.shape, {axis})),
                      type);
}

TermId log_softmax(Terms& terms, TermId x, std::int64_t axis) {
  const Type type = type_of(terms, x);
  const TermId sum =
      terms.reduce("sum", terms.function("exp", x), {axis}, with_ones(type.shape, {axis}));
  return terms.add(x, terms.function("log", sum), type, -1);
}

TermId vector_norm(Terms& terms, TermId x, int order, const Numbers& axes, const Numbers& shape) {
  const TermId each = order == 1 ? terms.abs(x) : terms.mul(x, x, type_of(terms, x));
  const TermId sum = terms.reduce("sum", each, axes, shape);
  return order == 1 ? sum : terms.function("sqrt", sum);
}

TermId variance(Terms& terms, TermId x, const Numbers& axes, double correction,
                const Numbers& shape) {
  const Type type = type_of(terms, x);
  double count = 1;
  for (std::int64_t axis : axes)
    count *= static_cast<double>(type.shape[static_cast<std::size_t>(axis)]);
  const TermId mean = terms.mean(x, axes, with_ones(type.shape, axes));
  const TermId difference = terms.add(x, mean, type, -1);
  const TermId sum = terms.reduce("sum", terms.mul(difference, difference, type), axes, shape);
  return terms.scale(sum, 1 / (count - correction));
}

TermId normalised(Terms& terms, TermId x, const Numbers& axes, double eps) {
  const Type type = type_of(terms, x);
  const Numbers shape = with_ones(type.shape, axes);
  const TermId difference = terms.add(x, terms.mean(x, axes, shape), type, -1);
  const TermId spread = terms.shift(variance(terms, x, axes, 0, shape), eps);
  return terms.mul(difference, terms.function("rsqrt", spread), type);
}

}  // namespace kw::data::canonical
