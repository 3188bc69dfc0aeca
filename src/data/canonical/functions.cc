// Functions of elements in normal form: tanh by sigmoid; maxima, clamps and absolute values by
// relu; comparisons with 0.
#include <cmath>
#include <map>
#include <set>

#include "data/canonical/terms.h"

namespace kw::data::canonical {
namespace {

std::optional<double> folded(const std::string& name, double x) {
  if (name == "sqrt") return std::sqrt(x);
  if (name == "rsqrt") return 1 / std::sqrt(x);
  if (name == "exp") return std::exp(x);
  if (name == "log") return std::log(x);
  return std::nullopt;
}

}  // namespace

// Factors of products apart; the parts of ln(e^a b).
TermId Terms::log(TermId x) {
  const Term term = (*this)[x];
  if (term.op == "exp") return term.operands[0];
  if (term.op == "reciprocal") return scale(log(term.operands[0]), -1);
  if (term.op == "scale" && term.by > 0) return shift(log(term.operands[0]), std::log(term.by));
  if (term.op == "shift" && term.by > 0) {
    // s + k e^y is s (1 + e^t).
    const Term inner = (*this)[term.operands[0]];
    const double factor = inner.op == "scale" ? inner.by : 1;
    const TermId power = inner.op == "scale" ? inner.operands[0] : term.operands[0];
    if (factor > 0 && is(power, "exp")) {
      const TermId t = shift((*this)[power].operands[0], std::log(factor / term.by));
      return shift(scale(log(function("sigmoid", scale(t, -1))), -1), std::log(term.by));
    }
  }
  if (term.op == "sigmoid") {
    // log(sigmoid(|x|)) is log(sigmoid(x)) less the part of x below 0, which is x - relu(x).
    const Term power = (*this)[term.operands[0]];
    for (TermId part : power.operands) {
      const double by = is(part, "scale") ? (*this)[part].by : 1;
      const TermId half = is(part, "scale") ? (*this)[part].operands[0] : part;
      if (!is(half, "relu")) continue;
      const TermId of = scale((*this)[half].operands[0], by / 2);
      if (abs(of) != term.operands[0]) continue;
      return add(log(function("sigmoid", of)), add(of, relu(of), term.type, -1), term.type, -1);
    }
  }
  if (term.op == "mul") {
    for (std::size_t i = 0; i < term.operands.size(); ++i) {
      const TermId factor = term.operands[i];
      if (!is(factor, "exp") && !is(factor, "reciprocal")) continue;
      std::optional<TermId> rest;
      for (std::size_t k = 0; k < term.operands.size(); ++k) {
        if (k != i) rest = rest ? mul(*rest, term.operands[k], term.type) : term.operands[k];
      }
      if (rest) return add(log(factor), function("log", *rest), term.type);
    }
  }
  return other("log", {x}, term.type);
}

TermId Terms::sqrt(TermId x) {
  const Term term = (*this)[x];
  if (term.op == "scale" && term.by > 0) return scale(sqrt(term.operands[0]), std::sqrt(term.by));
  if (term.op == "reciprocal") return reciprocal(sqrt(term.operands[0]));
  if (term.op == "mul") {
    if (term.operands.size() == 2 && term.operands[0] == term.operands[1])
      return abs(term.operands[0]);
    TermId out = full(1, term.type);
    for (TermId factor : term.operands) out = mul(out, function("sqrt", factor), term.type);
    return out;
  }
  return other("sqrt", {x}, term.type);
}

TermId Terms::function(const std::string& name, TermId x) {
  if (is(x, "expand")) {
    const Type type = (*this)[x].type;
    return expand(function(name, (*this)[x].operands[0]), type);
  }
  auto moved = lifted({x}, [&](const std::vector<TermId>& inner, const Numbers&) {
    return function(name, inner[0]);
  });
  if (moved) return *moved;
  const Type type = (*this)[x].type;
  if (is(x, "full")) {
    if (const auto value = folded(name, (*this)[x].by)) return full(*value, type);
  }
  if (name == "log") return log(x);
  if (name == "log1p") return log(shift(x, 1));
  if (name == "log2") return scale(log(x), 1 / std::log(2.0));
  if (name == "log10") return scale(log(x), 1 / std::log(10.0));
  if (name == "exp" && is(x, "log")) return (*this)[x].operands[0];
  if (name == "exp" && is(x, "shift"))
    return scale(function("exp", (*this)[x].operands[0]), std::exp((*this)[x].by));
  if (name == "expm1") return shift(function("exp", x), -1);
  if (name == "exp2") return function("exp", scale(x, std::log(2.0)));
  if (name == "tanh") return shift(scale(function("sigmoid", scale(x, 2)), 2), -1);
  if (name == "sqrt") return sqrt(x);
  if (name == "rsqrt") return reciprocal(sqrt(x));
  if (name == "abs") return abs(x);
  if (name == "relu") return relu(x);
  return other(name, {x}, type);
}

TermId Terms::power(TermId x, double exponent) {
  const Type type = (*this)[x].type;
  if (exponent == 0.5) return function("sqrt", x);
  if (exponent == -0.5) return function("rsqrt", x);
  if (exponent == -1) return reciprocal(x);
  if (exponent == 1) return x;
  if (exponent != std::floor(exponent) || exponent < 2 || exponent > 8)
    return other("pow " + text_of(exponent), {x}, type);
  TermId out = x;
  for (int i = 1; i < static_cast<int>(exponent); ++i) out = mul(out, x, type);
  return out;
}

// A sum is scaled so that its first part has the factor 1; relu(-x) is relu(x) - x.
TermId Terms::relu(TermId x) {
  static const std::set<std::string> kPositive = {"exp", "sigmoid", "relu", "sqrt", "rsqrt"};
  const Term given = (*this)[x];
  if (given.op == "full") return full(std::max(given.by, 0.0), given.type);
  if (kPositive.contains(given.op)) return x;
  auto moved =
      lifted({x}, [&](const std::vector<TermId>& inner, const Numbers&) { return relu(inner[0]); });
  if (moved) return *moved;
  // Scaled, another part may be the first, and have a factor too: such a sum stays as it is.
  const double by = leading(x);
  const TermId normal = by == 1 ? x : scale(x, 1 / by);
  if (by != 1 && leading(normal) == 1) {
    const TermId out = relu(normal);
    return scale(by > 0 ? out : add(out, normal, given.type, -1), std::abs(by));
  }
  // Cutting at 0 and then at d > 0 is the same as cutting at d.
  if (given.op == "shift" && given.by <= 0 && is(given.operands[0], "relu"))
    return relu(shift((*this)[given.operands[0]].operands[0], given.by));
  return other("relu", {x}, given.type);
}

TermId Terms::abs(TermId x) {
  return add(scale(relu(x), 2), x, Type((*this)[x].type), -1);
}

TermId Terms::maximum(TermId a, TermId b, const Type& type) {
  return add(b, relu(add(a, b, type, -1)), type);
}

TermId Terms::minimum(TermId a, TermId b, const Type& type) {
  return add(a, relu(add(a, b, type, -1)), type, -1);
}

TermId Terms::clamp(TermId x, std::optional<double> low, std::optional<double> high) {
  const Type type = (*this)[x].type;
  TermId out = low ? shift(relu(shift(x, -*low)), *low) : x;
  if (high && !low) return add(x, relu(shift(x, -*high)), type, -1);
  if (high) out = add(out, relu(shift(x, -*high)), type, -1);
  return out;
}

// ---- truths

TermId Terms::compare(const std::string& relation, TermId a, TermId b, const Type& type) {
  static const std::map<std::string, std::string> kTurned = {
      {"lt", "gt"}, {"le", "ge"}, {"gt", "lt"}, {"ge", "le"}, {"eq", "eq"}, {"ne", "ne"}};
  using tensor::DType;
  const bool real =
      tensor::is_floating((*this)[a].type.dtype) || tensor::is_floating((*this)[b].type.dtype);
  const Type of{real ? DType::kFloat32 : DType::kInt64, type.shape};
  const TermId difference = add(a, b, of, -1);
  const double by = leading(difference);
  const std::string& shown = by < 0 ? kTurned.at(relation) : relation;
  const TermId normal = by == 1 ? difference : scale(difference, 1 / by);
  const auto made = [&](const std::vector<TermId>& operands, const Numbers& shape) {
    return other(shown + "0", operands, {type.dtype, shape});
  };
  const auto moved = lifted({normal}, made);
  return moved ? *moved : made({normal}, type.shape);
}

TermId Terms::logical_not(TermId x) {
  static const std::map<std::string, std::string> kNot = {{"lt0", "ge0"}, {"le0", "gt0"},
                                                          {"gt0", "le0"}, {"ge0", "lt0"},
                                                          {"eq0", "ne0"}, {"ne0", "eq0"}};
  const Term term = (*this)[x];
  if (term.op == "not") return term.operands[0];
  if (term.op == "view") return view(logical_not(term.operands[0]), term.type.shape);
  auto found = kNot.find(term.op);
  if (found == kNot.end()) return other("not", {x}, term.type);
  return other(found->second, term.operands, term.type);
}

TermId Terms::where(TermId condition, TermId yes, TermId no, const Type& type) {
  condition = unexpanded(condition);
  yes = unexpanded(to(yes, type.dtype));
  no = unexpanded(to(no, type.dtype));
  const auto is_infinite = [&](TermId x) { return is(x, "full") && !std::isfinite((*this)[x].by); };
  if (!is_infinite(yes) && !is_infinite(no))
    return add(mul(yes, condition, type), mul(no, logical_not(condition), type), type);
  for (const char* turned : {"gt0", "ge0", "ne0", "not"}) {
    if (!is(condition, turned)) continue;
    condition = logical_not(condition);
    std::swap(yes, no);
    break;
  }
  const Type small{type.dtype, canonical::squeezed(type.shape)};
  std::vector<TermId> operands;
  for (TermId id : {condition, yes, no}) operands.push_back(squeezed(id, type.shape));
  return view(other("where", std::move(operands), small), type.shape);
}

}  // namespace kw::data::canonical
