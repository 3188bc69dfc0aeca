#include "writer/generate/constants.h"

#include <algorithm>

#include <fmt/format.h>

namespace kw::writer::generate {
namespace {

Json json_of(const ParamValue& value) {
  if (const auto* whole = std::get_if<std::int64_t>(&value)) return *whole;
  if (const auto* real = std::get_if<double>(&value)) return *real;
  if (const auto* flag = std::get_if<bool>(&value)) return *flag;
  if (const auto* dim = std::get_if<Dim>(&value)) return dim->n;
  if (const auto* list = std::get_if<std::vector<std::int64_t>>(&value)) return *list;
  return nullptr;
}

const char* annotation_of(const ParamValue& value) {
  if (std::holds_alternative<double>(value)) return "float";
  if (std::holds_alternative<bool>(value)) return "bool";
  if (std::holds_alternative<std::vector<std::int64_t>>(value)) return "tuple";
  return "int";
}

std::string lower_case(std::string text) {
  for (char& c : text)
    if (c >= 'A' && c <= 'Z') c = static_cast<char>(c + ('a' - 'A'));
  return text;
}

}  // namespace

Constants::Constants(const Plan& plan, PythonNames& global_names, PythonNames& attribute_names,
                     Rng& rng)
    : plan_(plan), global_names_(global_names), attribute_names_(attribute_names), rng_(rng) {
  const double mode = rng.uniform();
  if (mode < 0.36) {  // all are given from outside
    literal_ = 0.05;
    global_ = 0.05;
  } else if (mode < 0.48) {
    literal_ = 0.1;
    global_ = 0.9;
  } else if (mode < 0.83) {
    literal_ = 0.95;
    global_ = 0.05;
  } else {
    literal_ = 0.35;
    global_ = 0.3;
  }
  annotated_ = rng.uniform() < 0.35;
  expression_ = rng.uniform() < 0.3 ? 0.9 : 0.15;
  sizes_in_place_ = rng.uniform() < 0.5;
}

Constants::Constant& Constants::constant(const std::string& key, const std::string& wanted,
                                         const ParamValue& value, std::string_view owner) {
  auto found = constants_.find(key);
  if (found != constants_.end()) return found->second;
  Constant made;
  made.name = made.wanted = wanted;
  made.owner = owner;
  made.value = value;
  const double draw = rng_.uniform();
  made.style = draw < literal_             ? Style::kLiteral
               : draw < literal_ + global_ ? Style::kGlobal
                                           : Style::kArgument;
  const bool flag = std::holds_alternative<bool>(value);
  if (flag && rng_.uniform() < 0.8) made.style = Style::kLiteral;
  if (made.style != Style::kLiteral) made.name = global_names_.fresh(wanted);
  return constants_.emplace(key, std::move(made)).first->second;
}

void Constants::make_global(Constant& one) {
  if (one.is_global) return;
  one.is_global = true;
  std::string line = fmt::format("{} = {}", one.name, written(one.value));
  if (rng_.uniform() < 0.04) line += "  # default";
  globals.push_back(std::move(line));
}

std::string Constants::written(const ParamValue& value) {
  const Dim* dim = std::get_if<Dim>(&value);
  const auto* whole = std::get_if<std::int64_t>(&value);
  const bool expression = rng_.uniform() < expression_;
  Rng mine = rng_.fork();  // a text of another size draws as much
  if (!expression || (dim == nullptr && whole == nullptr)) return python_text(value);
  return python_expression(dim != nullptr ? dim->n : *whole, mine);
}

std::string Constants::text(Constant& one, Place place) {
  if (one.style == Style::kLiteral) {
    if (place == Place::kInit) return written(one.value);
    if (place == Place::kForward || sizes_in_place_ || !std::holds_alternative<Dim>(one.value))
      return python_text(one.value);
    one.style = Style::kGlobal;  // only get_inputs() knows it by its name
    one.name = global_names_.fresh(one.name);
    make_global(one);
    return one.name;
  }
  if (one.style == Style::kGlobal || place == Place::kInputs) {
    make_global(one);
    return one.name;
  }
  if (!one.is_argument) {
    one.is_argument = true;
    Argument made;
    made.name = one.name;
    made.wanted = one.wanted;
    made.owner = one.owner;
    made.annotation = annotation_of(one.value);
    made.literal = python_text(one.value);
    made.value = json_of(one.value);
    const bool size = std::holds_alternative<Dim>(one.value);
    made.defaulted = !size && rng_.uniform() < 0.2;
    if (!made.defaulted || rng_.uniform() < 0.3) {
      if (rng_.uniform() < 0.75) {
        make_global(one);
        made.given = one.name;
      } else {
        made.given = written(one.value);
      }
      made.defaulted = made.defaulted && rng_.uniform() < 0.5;
    }
    made_.push_back(std::move(made));
  }
  if (place == Place::kInit) return one.name;
  if (!one.is_attribute) {
    one.is_attribute = true;
    one.attribute = attribute_names_.fresh(lower_case(one.name));
    attributes.push_back(fmt::format("self.{} = {}", one.attribute, one.name));
  }
  return "self." + one.attribute;
}

std::string Constants::of_param(const Step& step, const Param& param, Place place) {
  if (const Dim* dim = std::get_if<Dim>(&param.value)) return of_dim(*dim, place);
  const auto index = static_cast<std::size_t>(&step - plan_.steps.data());
  return text(
      constant(fmt::format("{}.{}", index, param.name), param.name, param.value, step.spec->name),
      place);
}

std::string Constants::of_dim(const Dim& dim, Place place) {
  const auto symbols = dim.size.symbols();
  const Axis* axis = symbols.size() == 1 && dim.size == IntExpr::symbol(*symbols.begin())
                         ? plan_.axis(*symbols.begin())
                         : nullptr;
  if (axis == nullptr) return std::to_string(dim.n);
  return text(constant("axis " + axis->name, axis->wanted, dim), place);
}

void Constants::add_unused() {
  constexpr std::string_view kUnused[] = {"num_layers", "dropout_p", "learning_rate", "seed",
                                          "momentum",   "warmup",    "max_len",       "n_heads"};
  const std::string name =
      global_names_.fresh(std::string(kUnused[rng_.below(std::size(kUnused))]));
  globals.insert(globals.begin() + static_cast<std::ptrdiff_t>(rng_.below(globals.size() + 1)),
                 fmt::format("{} = {}", name, rng_.uniform() < 0.5 ? "4" : "0.1"));
}

void Constants::finish() {
  std::stable_partition(made_.begin(), made_.end(),
                        [](const Argument& one) { return !one.defaulted; });
  bool given_all = true;
  for (const Argument& one : made_) {
    std::string text = one.name;
    if (annotated_) text += ": " + one.annotation;
    if (one.defaulted) text += (annotated_ ? " = " : "=") + one.literal;
    parameters.push_back(std::move(text));
    init_parameters.push_back(one.name + (one.defaulted ? "=" : ""));
    words.push_back({one.name, one.wanted, one.annotation, one.owner,
                     one.defaulted ? one.literal : std::string()});
    given_all = given_all && !one.given.empty();
    if (given_all) arguments.push_back(one.given);
    if (!one.value.is_null()) values.emplace_back(one.name, one.value);
  }
}

}  // namespace kw::writer::generate
