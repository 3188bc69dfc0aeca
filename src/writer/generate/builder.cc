#include <algorithm>
#include <cmath>

#include <fmt/format.h>

#include "base/check.h"
#include "writer/generate/operators.h"
#include "writer/generate/schemas.h"

namespace kw::writer::generate {

using tensor::DType;

Arg::Arg(const Dims& v) {
  std::vector<IntExpr> out;
  for (const Dim& dim : v) out.push_back(dim.size);
  value = std::move(out);
}

Arg::Arg(const std::vector<std::int64_t>& v) {
  value = std::vector<IntExpr>(v.begin(), v.end());
}

const Param* Step::param(std::string_view name) const {
  for (const Param& one : params) {
    if (one.name == name) return &one;
  }
  return nullptr;
}

bool Step::is(std::string_view flag) const {
  const Param* found = param(flag);
  const bool* value = found == nullptr ? nullptr : std::get_if<bool>(&found->value);
  return value != nullptr && *value;
}

Axis* Plan::axis(std::string_view name) {
  for (Axis& one : axes) {
    if (one.name == name) return &one;
  }
  return nullptr;
}
const Axis* Plan::axis(std::string_view name) const {
  return const_cast<Plan*>(this)->axis(name);  // NOLINT: the same search
}

std::int64_t elements(const Dims& shape) {
  std::int64_t out = 1;
  for (const Dim& dim : shape) out *= dim.n;
  return out;
}

TensorType type_of(const Dims& shape, DType dtype) {
  TensorType out{dtype, {}};
  for (const Dim& dim : shape) out.shape.push_back(dim.size);
  return out;
}

Dim times(const Dim& a, const Dim& b) {
  return {a.size * b.size, a.n * b.n};
}

Dim product(const Dims& shape, std::size_t first, std::size_t last) {
  Dim out{1, 1};
  for (std::size_t i = first; i < last; ++i) out = times(out, shape[i]);
  return out;
}

Dim floor_div(const Dim& a, std::int64_t b) {
  return {IntExpr::call(IntFunction::kFloorDiv, a.size, b), a.n / b};
}

// Log-uniform between the bounds, then rounded as people round: powers of two, multiples of 8 and
// of 10, or not at all.
std::int64_t human_size(Rng& rng, std::int64_t low, std::int64_t high) {
  if (high <= low) return low;
  const double log_low = std::log2(static_cast<double>(low)),
               log_high = std::log2(static_cast<double>(high) + 0.999);
  const double value = std::exp2(log_low + rng.uniform() * (log_high - log_low));
  const double kind = rng.uniform();
  auto out = static_cast<std::int64_t>(value);
  const auto multiple = [&](std::int64_t of) { out = std::max(of, (out + of / 2) / of * of); };
  if (kind < 0.45) {
    out = std::int64_t{1} << static_cast<unsigned>(std::lround(std::log2(value)));
  } else if (kind < 0.6) {
    multiple(out >= 64 ? 32 : out >= 16 ? 8 : 1);
  } else if (kind < 0.78) {
    multiple(out >= 500 ? 100 : out >= 50 ? 10 : 1);
  } else if (out > 4) {
    out |= 1;
  }
  return std::clamp(out, low, high);
}

std::int64_t Builder::between(std::int64_t low, std::int64_t high) {
  KW_CHECK(low <= high);
  return low + static_cast<std::int64_t>(rng.below(static_cast<std::uint64_t>(high - low + 1)));
}

std::int64_t Builder::size(std::int64_t low, std::int64_t high) {
  return human_size(rng, low, high);
}

double Builder::number(std::initializer_list<double> usual) {
  const double base = pick(usual);
  if (chance(0.7)) return base;
  const double near = base * (0.5 + rng.uniform());
  return std::stod(fmt::format("{:.2g}", near));
}

Value& Builder::slot(Slot slot, std::string hint, Dims shape, DType dtype) {
  slot.value = static_cast<int>(plan_.values.size());
  Value& out = plan_.values.emplace_back();
  out.id = ValueId::input(plan_.slots.size());
  out.dtype = dtype;
  out.shape = std::move(shape);
  out.hint = std::move(hint);
  plan_.slots.push_back(std::move(slot));
  return out;
}

Value& Builder::input(std::string hint, Dims shape, Filling filling) {
  Slot made;
  made.suffix = hint;
  made.filling = filling;
  const bool mask = filling == Filling::kMask || filling == Filling::kCausalMask;
  Value& out = slot(made, std::move(hint), std::move(shape), mask ? DType::kBool : DType::kFloat32);
  const bool positive = filling == Filling::kUniform || filling == Filling::kProbabilities;
  if (filling != Filling::kNormal) out.range(positive ? 0 : -1, 1);
  step_.operands.push_back(static_cast<int>(plan_.values.size()) - 1);
  return out;
}

Value& Builder::indices(std::string hint, Dims shape, const Dim& below) {
  Slot made;
  made.suffix = hint;
  made.filling = Filling::kIndices;
  made.below = below.n;
  made.below_dim = below;
  Value& out = slot(made, std::move(hint), std::move(shape), DType::kInt64);
  step_.operands.push_back(static_cast<int>(plan_.values.size()) - 1);
  fix(below);
  return out;
}

Value& Builder::whole_numbers(std::string hint, Dims shape, DType dtype, std::int64_t low,
                              std::int64_t high) {
  Slot made;
  made.suffix = hint;
  made.filling = Filling::kWhole;
  made.low = low;
  made.high = high;
  Value& out = slot(made, std::move(hint), std::move(shape), dtype);
  out.range(static_cast<double>(low), static_cast<double>(high));
  step_.operands.push_back(static_cast<int>(plan_.values.size()) - 1);
  return out;
}

const Value& Builder::other(const Dims& shape) {
  return step_.operands.size() > 1 ? in(1) : input("other", shape);
}

const Value& Builder::companion(const Dims& shape) {
  if (step_.operands.size() > 1) return in(1);
  std::vector<int> fitting;
  const int taken = step_.operands.empty() ? -1 : step_.operands[0];
  for (int i = 0; i < static_cast<int>(plan_.values.size()); ++i) {
    const Value& value = plan_.values[static_cast<std::size_t>(i)];
    const bool parameter =
        value.id.is_input() && plan_.slots[value.id.input_index()].role == InputRole::kStatic;
    if (i == taken || (hidden_begin <= i && i < hidden_end) || parameter ||
        value.dtype != DType::kFloat32)
      continue;
    if (type_of(value.shape) == type_of(shape)) fitting.push_back(i);
  }
  if (!fitting.empty() && chance(0.7)) {
    step_.operands.push_back(fitting[rng.below(fitting.size())]);
    return in(step_.operands.size() - 1);
  }
  return input(pick({"y", "other", "residual", "skip", "z"}), shape);
}

Value& Builder::weight(std::string suffix, Dims shape, Start start, const Dim& fan) {
  for (const Dim& dim : shape) fix(dim);
  Slot made;
  made.role = InputRole::kStatic;
  made.suffix = suffix;
  made.step = static_cast<int>(plan_.steps.size()) - 1;
  made.start = start;
  made.fan = fan;
  Value& out = slot(made, std::move(suffix), std::move(shape), DType::kFloat32);
  const double high = start == Start::kWeight ? 3 / std::sqrt(static_cast<double>(fan.n)) : 1.5;
  out.range(start == Start::kOnes || start == Start::kVariance ? 0 : -high, high);
  step_.slots.push_back(static_cast<int>(plan_.slots.size()) - 1);
  return out;
}

Value& Builder::buffer(std::string suffix, Dims shape, Start start) {
  Value& out = weight(std::move(suffix), std::move(shape), start);
  plan_.slots.back().buffer = true;
  return out;
}

Dim Builder::axis(const std::string& wanted, std::int64_t n, bool fixed) {
  Axis made{wanted, wanted, n, fixed};
  for (int i = 2; plan_.axis(made.name) != nullptr; ++i) made.name = fmt::format("{}{}", wanted, i);
  plan_.axes.push_back(made);
  return {IntExpr::symbol(made.name), n};
}

void Builder::fix(const Dim& dim) {
  for (const std::string& symbol : dim.size.symbols()) plan_.axis(symbol)->fixed = true;
}

std::int64_t Builder::whole(std::string name, std::int64_t value, std::int64_t usual) {
  step_.params.push_back({std::move(name), value, value == usual});
  return value;
}

double Builder::real(std::string name, double value, double usual) {
  step_.params.push_back({std::move(name), value, value == usual});
  return value;
}

bool Builder::flag(std::string name, bool value, bool usual) {
  step_.params.push_back({std::move(name), value, value == usual});
  return value;
}

std::vector<std::int64_t> Builder::tuple(std::string name, const std::vector<std::int64_t>& value,
                                         std::int64_t usual) {
  const bool equal =
      std::adjacent_find(value.begin(), value.end(), std::not_equal_to<>()) == value.end();
  const bool is_default = equal && value[0] == usual;
  if (equal && (value.size() == 1 || is_default || chance(0.85)))
    step_.params.push_back({std::move(name), value[0], is_default});
  else
    step_.params.push_back({std::move(name), value, is_default});
  return value;
}

void Builder::text(std::string name, std::string value, bool is_default) {
  step_.params.push_back({std::move(name), std::move(value), is_default});
}

void Builder::size_of(std::string name, const Dim& dim) {
  step_.params.push_back({std::move(name), dim, false});
}

int Builder::call_several(std::string_view op, std::vector<Arg> arguments,
                          std::vector<std::optional<TensorType>> outputs) {
  std::vector<Attribute> given;
  for (Arg& one : arguments) given.push_back(std::move(one.value));
  Node node;
  node.op = op;
  node.arguments = with_defaults(op, std::move(given));
  for (auto& one : outputs)
    node.outputs.push_back(one ? std::move(*one) : TensorType{DType::kFloat32, {0}});
  plan_.nodes.push_back(std::move(node));
  return static_cast<int>(plan_.nodes.size()) - 1;
}

ValueId Builder::call(std::string_view op, std::vector<Arg> arguments, const Dims& shape,
                      DType dtype) {
  return {call_several(op, std::move(arguments), {type_of(shape, dtype)}), 0};
}

Value& Builder::result(ValueId id, Dims shape) {
  Value& out = plan_.values.emplace_back();
  out.id = id;
  out.shape = std::move(shape);
  out.dtype = plan_.nodes[static_cast<std::size_t>(id.node)]
                  .outputs[static_cast<std::size_t>(id.output)]
                  .dtype;
  if (!step_.operands.empty()) {
    out.range(x().low, x().high);
    out.plateaus = x().plateaus;
    // A mean stays constant when something is added.
    out.centred = x().centred && step_.spec->family == "elementwise";
  }
  step_.results.push_back(static_cast<int>(plan_.values.size()) - 1);
  return out;
}

Value& Builder::pointwise(std::string_view op, std::vector<Arg> more) {
  const Dims shape = x().shape;
  const bool centred = x().centred;
  std::vector<Arg> arguments = {x()};
  for (Arg& one : more) arguments.push_back(std::move(one));
  Value& out = result(call(op, std::move(arguments), shape), shape);
  out.centred = centred;
  return out;
}

bool is_number(const Value& x, const Limits& /*limits*/) {
  return x.dtype == tensor::DType::kFloat32 && x.magnitude() < 1e4;
}
bool has_elements(const Value& x, const Limits& limits) {
  return is_number(x, limits) && !x.shape.empty() && elements(x.shape) >= 4;
}

bool is_float(const Value& x, const Limits&) {
  return x.dtype == tensor::DType::kFloat32 && !x.shape.empty();
}
bool is_mixed(const Value& x, const Limits& limits) {
  return is_float(x, limits) && x.high > 0.2 && x.low < -0.2 && x.magnitude() < 50;
}

std::vector<OpSpec> in_half_too(std::vector<OpSpec> operators) {
  for (OpSpec& one : operators) one.half = one.half.value_or(true);
  return operators;
}

// Families of operators, some in several parts, in the order in which they are drawn from.
struct FamilyPart {
  std::string_view family;
  std::vector<OpSpec> (*operators)();
};
constexpr FamilyPart kFamilies[] = {{"activation", activation_operators},
                                    {"activation", rectifier_operators},
                                    {"elementwise", function_operators},
                                    {"elementwise", arithmetic_operators},
                                    {"elementwise", expression_operators},
                                    {"elementwise", join_operators},
                                    {"matmul", matmul_operators},
                                    {"matmul", product_operators},
                                    {"convolution", convolution_operators},
                                    {"norm", norm_operators},
                                    {"norm", channel_norm_operators},
                                    {"reduction", reduction_operators},
                                    {"pooling", pooling_operators},
                                    {"scan", scan_operators},
                                    {"loss", loss_operators},
                                    {"attention", attention_operators},
                                    {"matmul", gate_operators},
                                    {"recurrent", recurrent_operators},
                                    {"layout", layout_operators},
                                    {"gather", gather_operators},
                                    {"sort", sorting_operators},
                                    {"sampling", sampling_operators},
                                    {"quantization", quantization_operators},
                                    {"bits", bit_operators}};

const std::vector<OpSpec>& all_operators() {
  static const std::vector<OpSpec> all = [] {
    std::vector<OpSpec> out;
    for (const auto& [family, operators] : kFamilies) {
      for (OpSpec& one : operators()) {
        one.family = family;
        out.push_back(std::move(one));
      }
    }
    return out;
  }();
  return all;
}

}  // namespace kw::writer::generate
