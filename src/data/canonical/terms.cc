// Terms, each once, and the normal form of sums and products.
#include "data/canonical/terms.h"

#include <algorithm>
#include <cmath>
#include <utility>

#include <fmt/ranges.h>

#include "base/hash.h"

namespace kw::data::canonical {
namespace {

// The limit for parts of a sum or product that is taken apart. Beyond it one sum is an operand of
// the other, because unrolled graphs have thousands of parts.
constexpr std::size_t kMaxParts = 48;

// x * (1 / x) is 1.
double rounded_one(double factor) {
  return std::abs(factor - 1) < 1e-12 ? 1 : factor;
}

}  // namespace

std::string text_of(double number) {
  return fmt::format("{:.9g}", number == 0 ? 0.0 : number);
}

std::string text_of(const Type& type) {
  return fmt::format("{}[{}]", tensor::to_string(type.dtype), fmt::join(type.shape, " "));
}

TermId Terms::put(Term term) {
  if (term.op != "view" && term.op != "full") {
    const Numbers shape = std::exchange(term.type.shape, canonical::squeezed(term.type.shape));
    if (shape != term.type.shape) return view(put(std::move(term)), shape);
  }
  const std::string shown = fmt::format("{} {} [{}] {}", term.op, text_of(term.by),
                                        fmt::join(term.numbers, " "), text_of(term.type));
  std::string key = fmt::format("{} {} {}", shown, fmt::join(term.operands, " "),
                                term.input ? static_cast<int>(*term.input) : -1);
  auto [at, added] = ids_.emplace(std::move(key), static_cast<TermId>(all_.size()));
  if (!added) return at->second;
  term.form = shown;
  for (TermId operand : term.operands) term.form += " " + (*this)[operand].form;
  term.form = sha256_hex(term.form);
  all_.push_back(std::move(term));
  return at->second;
}

TermId Terms::input(std::size_t index, int role, const Type& type) {
  return put({.op = fmt::format("input {}", role), .type = type, .input = index});
}

TermId Terms::other(std::string op, std::vector<TermId> operands, const Type& type,
                    Numbers numbers) {
  return put({.op = std::move(op),
              .numbers = std::move(numbers),
              .operands = std::move(operands),
              .type = type});
}

TermId Terms::full(double value, const Type& type) {
  return put({.op = "full", .by = value, .type = type});
}

TermId Terms::unexpanded(TermId id) const {
  while (is(id, "expand")) id = (*this)[id].operands[0];
  return id;
}

TermId Terms::squeezed(TermId x, const Numbers& result) {
  const Numbers& shape = (*this)[x].type.shape;
  Numbers kept;
  for (std::size_t i = 0; i < shape.size(); ++i) {
    if (result[result.size() - shape.size() + i] != 1) kept.push_back(shape[i]);
  }
  const auto first = std::find_if(kept.begin(), kept.end(), [](std::int64_t n) { return n != 1; });
  return view(x, Numbers(first, kept.end()));
}

std::vector<TermId> Terms::viewed_operands(TermId view_id) {
  const Term outer = (*this)[view_id], inner = (*this)[outer.operands[0]];
  std::vector<TermId> out;
  for (TermId id : inner.operands) {
    if ((*this)[id].type.shape != inner.type.shape) return {};
    out.push_back(view(id, outer.type.shape));
  }
  return out;
}

TermId Terms::broadcast(TermId x, const Type& type) {
  return (*this)[x].type.shape == type.shape ? x : expand(x, type);
}

// ---- sums

struct Terms::Parts {
  std::map<TermId, double> factors = {};  // factor of each part; no part is a sum
  double constant = 0;

  void take(Terms& terms, TermId x, double factor) {
    std::vector<std::pair<TermId, double>> open = {{x, factor}};
    while (!open.empty()) {
      const auto [id, by] = open.back();
      open.pop_back();
      const Term term = terms[id];
      const std::string inside = term.op == "view" ? terms[term.operands[0]].op : "";
      if (inside == "scale" || inside == "shift" || inside == "add") {
        const std::vector<TermId> views = terms.viewed_operands(id);
        const double own = terms[term.operands[0]].by;
        if (views.empty() || factors.size() + open.size() + views.size() >= kMaxParts) {
          factors[id] += by;
          continue;
        }
        if (inside == "shift") constant += by * own;
        for (TermId view : views) open.emplace_back(view, inside == "scale" ? by * own : by);
      } else if (term.op == "full") {
        constant += by * term.by;
      } else if (term.op == "shift") {
        constant += by * term.by;
        open.emplace_back(term.operands[0], by);
      } else if (term.op == "scale") {
        open.emplace_back(term.operands[0], by * term.by);
      } else if (term.op == "expand") {
        open.emplace_back(term.operands[0], by);
      } else if (term.op == "add" &&
                 factors.size() + open.size() + term.operands.size() < kMaxParts) {
        for (TermId operand : term.operands) open.emplace_back(operand, by);
      } else {
        factors[id] += by;
      }
    }
  }
};

// True where one of the operands has the result's shape.
bool Terms::is_whole(const std::vector<TermId>& operands, const Numbers& shape) const {
  return std::any_of(operands.begin(), operands.end(),
                     [&](TermId id) { return (*this)[id].type.shape == shape; });
}

TermId Terms::sum_of(const Parts& parts, const Type& type) {
  const Type small{type.dtype, canonical::squeezed(type.shape)};
  Parts all{.constant = parts.constant};
  for (const auto& [id, factor] : parts.factors) all.take(*this, squeezed(id, type.shape), factor);
  std::erase_if(all.factors, [](const auto& part) { return part.second == 0; });
  for (auto& [id, factor] : all.factors) factor = rounded_one(factor);
  if (all.factors.empty()) return full(all.constant, type);
  std::vector<TermId> leaves;
  for (const auto& [id, factor] : all.factors) leaves.push_back(id);
  const auto inside = [&](const std::vector<TermId>& sources, const Numbers& shape) {
    Parts inner{.constant = all.constant};
    for (std::size_t i = 0; i < leaves.size(); ++i)
      inner.take(*this, sources[i], all.factors.at(leaves[i]));
    return sum_of(inner, {type.dtype, shape});
  };
  if (is_whole(leaves, small.shape)) {
    if (auto out = lifted(leaves, inside)) return view(*out, type.shape);
  }
  std::sort(leaves.begin(), leaves.end(),
            [this](TermId a, TermId b) { return (*this)[a].form < (*this)[b].form; });
  return view(shifted(all, leaves, small), type.shape);
}

// The parts added up in this order, then the constant.
TermId Terms::shifted(const Parts& parts, const std::vector<TermId>& order, const Type& type) {
  const bool alone = order.size() == 1;
  // 1 - truth is the other truth.
  if (alone && parts.constant == 1 && parts.factors.at(order[0]) == -1 && is(order[0], "to") &&
      (*this)[(*this)[order[0]].operands[0]].type.dtype == tensor::DType::kBool)
    return broadcast(to(logical_not((*this)[order[0]].operands[0]), type.dtype), type);
  std::vector<TermId> operands;
  for (TermId id : order) {
    const double by = parts.factors.at(id);
    if (by == 1)
      operands.push_back(id);
    else if (alone && !is(id, "view") && !is(id, "permute"))
      operands.push_back(
          put({.op = "scale", .by = by, .operands = {id}, .type = (*this)[id].type}));
    else
      operands.push_back(scale(id, by));
  }
  const TermId sum = alone ? broadcast(operands[0], type) : other("add", operands, type);
  if (text_of(parts.constant) == "0") return sum;
  return put({.op = "shift", .by = parts.constant, .operands = {sum}, .type = type});
}

TermId Terms::add(TermId a, TermId b, const Type& type, double factor_of_b) {
  Parts parts;
  parts.take(*this, to(a, type.dtype), 1);
  parts.take(*this, to(b, type.dtype), factor_of_b);
  return sum_of(parts, type);
}

TermId Terms::scale(TermId x, double by) {
  Parts parts;
  parts.take(*this, x, by);
  return sum_of(parts, Type((*this)[x].type));
}

TermId Terms::shift(TermId x, double by) {
  Parts parts{.constant = by};
  parts.take(*this, x, 1);
  return sum_of(parts, Type((*this)[x].type));
}

double Terms::leading(TermId x) const {
  const Term* term = &(*this)[x];
  while (term->op == "shift" || term->op == "expand" || term->op == "add" || term->op == "view" ||
         term->op == "permute")
    term = &(*this)[term->operands[0]];
  return term->op == "scale" ? term->by : 1;
}

// ---- products

struct Terms::Factors {
  std::vector<TermId> all = {};
  double constant = 1;
};

void Terms::take_factor(TermId x, Factors& factors) {
  std::vector<TermId> open = {x};
  while (!open.empty()) {
    const TermId id = unexpanded(open.back());
    open.pop_back();
    const Term term = (*this)[id];
    const std::string inside = term.op == "view" ? (*this)[term.operands[0]].op : "";
    if (inside == "scale" || inside == "mul") {
      const std::vector<TermId> views = viewed_operands(id);
      if (views.empty() || factors.all.size() + open.size() + views.size() >= kMaxParts) {
        factors.all.push_back(id);
        continue;
      }
      if (inside == "scale") factors.constant *= (*this)[term.operands[0]].by;
      open.insert(open.end(), views.begin(), views.end());
    } else if (term.op == "full") {
      factors.constant *= term.by;
    } else if (term.op == "scale") {
      factors.constant *= term.by;
      open.push_back(term.operands[0]);
    } else if (term.op == "mul" &&
               factors.all.size() + open.size() + term.operands.size() < kMaxParts) {
      open.insert(open.end(), term.operands.begin(), term.operands.end());
    } else if (term.op == "add" || term.op == "shift") {
      const double by = leading(id);
      factors.constant *= by;
      factors.all.push_back(by == 1 ? id : scale(id, 1 / by));
    } else {
      factors.all.push_back(id);
    }
  }
}

// e^a * e^b is e^(a+b), and e^a / (1 + e^a) the sigmoid of a.
void Terms::join_powers(Factors& factors) {
  std::optional<TermId> power;
  std::vector<TermId> rest;
  for (TermId id : factors.all) {
    const Term term = (*this)[id];
    const bool viewed = term.op == "view" && is(term.operands[0], "exp");
    if (term.op != "exp" && !viewed) {
      rest.push_back(id);
      continue;
    }
    const TermId by =
        viewed ? view((*this)[term.operands[0]].operands[0], term.type.shape) : term.operands[0];
    if (!power) {
      power = by;
      continue;
    }
    const Type& a = (*this)[*power].type;
    const Type& b = (*this)[by].type;
    power = add(*power, by, Type(a.shape.size() >= b.shape.size() && a.shape >= b.shape ? a : b));
  }
  if (!power) return;
  const TermId negative = scale(*power, -1);
  for (TermId& id : rest) {
    if (!is(id, "sigmoid") || (*this)[id].operands[0] != negative) continue;
    id = function("sigmoid", *power);
    power.reset();
    break;
  }
  factors.all = std::move(rest);
  if (power) take_factor(function("exp", *power), factors);
}

// The square of a root.
void Terms::join_roots(Factors& factors) {
  std::sort(factors.all.begin(), factors.all.end());
  for (std::size_t i = 0; i + 1 < factors.all.size(); ++i) {
    const Term term = (*this)[factors.all[i]];
    if (factors.all[i] != factors.all[i + 1] || (term.op != "sqrt" && term.op != "rsqrt")) continue;
    const auto at = factors.all.begin() + static_cast<std::ptrdiff_t>(i);
    factors.all.erase(at, at + 2);
    take_factor(term.op == "sqrt" ? term.operands[0] : reciprocal(term.operands[0]), factors);
    return join_roots(factors);
  }
}

// x where it is positive is relu(x), and where it is negative x - relu(x).
void Terms::join_halves(Factors& factors) {
  for (std::size_t i = 0; i < factors.all.size(); ++i) {
    const TermId id = factors.all[i];
    if (!is(id, "to")) continue;
    const Term truth = (*this)[(*this)[id].operands[0]];
    const bool above = truth.op == "gt0" || truth.op == "ge0";
    if (!above && truth.op != "lt0" && truth.op != "le0") continue;
    const TermId x = truth.operands[0];
    auto found = std::find(factors.all.begin(), factors.all.end(), x);
    if (found == factors.all.end()) continue;
    factors.all.erase(found);
    factors.all.erase(std::find(factors.all.begin(), factors.all.end(), id));
    const TermId half = relu(x);
    take_factor(above ? half : add(x, half, Type((*this)[x].type), -1), factors);
    return join_halves(factors);
  }
}

TermId Terms::product_of(const Factors& factors, const Type& type) {
  const Type small{type.dtype, canonical::squeezed(type.shape)};
  Factors all{.constant = factors.constant};
  for (TermId id : factors.all) take_factor(squeezed(id, type.shape), all);
  join_powers(all);
  join_roots(all);
  join_halves(all);
  if (all.all.empty()) return full(all.constant, type);
  if (is_whole(all.all, small.shape)) {
    auto out = lifted(all.all, [&](const std::vector<TermId>& sources, const Numbers& shape) {
      Factors inner{.constant = 1};
      for (TermId id : sources) take_factor(id, inner);
      return product_of(inner, {type.dtype, shape});
    });
    if (out) return view(scale(*out, all.constant), type.shape);
  }
  std::sort(all.all.begin(), all.all.end(),
            [this](TermId a, TermId b) { return (*this)[a].form < (*this)[b].form; });
  const TermId made =
      all.all.size() == 1 ? broadcast(all.all[0], small) : other("mul", all.all, small);
  return view(scale(made, all.constant), type.shape);
}

TermId Terms::mul(TermId a, TermId b, const Type& type) {
  Factors factors;
  take_factor(to(a, type.dtype), factors);
  take_factor(to(b, type.dtype), factors);
  return product_of(factors, type);
}

TermId Terms::reciprocal(TermId x) {
  Factors factors;
  take_factor(x, factors);
  const Type type = (*this)[x].type;
  Factors out{.constant = 1 / factors.constant};
  for (TermId id : factors.all) {
    const Term term = (*this)[id];
    if (term.op == "sqrt") {
      out.all.push_back(other("rsqrt", term.operands, term.type));
    } else if (term.op == "rsqrt") {
      out.all.push_back(other("sqrt", term.operands, term.type));
    } else if (term.op == "reciprocal") {
      take_factor(term.operands[0], out);
    } else if (term.op == "exp") {
      out.all.push_back(function("exp", scale(term.operands[0], -1)));
    } else if (term.op == "shift" && term.by > 0 && is(term.operands[0], "exp")) {
      const TermId power = shift((*this)[term.operands[0]].operands[0], -std::log(term.by));
      out.all.push_back(function("sigmoid", scale(power, -1)));
      out.constant /= term.by;
    } else if (auto moved = lifted({id}, [&](const std::vector<TermId>& inner, const Numbers&) {
                 return reciprocal(inner[0]);
               })) {
      take_factor(*moved, out);
    } else {
      out.all.push_back(other("reciprocal", {id}, term.type));
    }
  }
  return product_of(out, type);
}

}  // namespace kw::data::canonical
