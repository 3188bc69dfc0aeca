// Views, permutations, reductions and products of matrices in normal form.
#include <algorithm>
#include <numeric>

#include "data/canonical/terms.h"

namespace kw::data::canonical {
namespace {

bool has(const Numbers& axes, std::size_t axis) {
  return std::find(axes.begin(), axes.end(), static_cast<std::int64_t>(axis)) != axes.end();
}

// Groups of neighbouring axes of two shapes with equally many elements: the pairs [first, last)
// of each.
struct Group {
  std::size_t first = 0, last = 0, of_first = 0, of_last = 0;
};

std::vector<Group> groups_of(const Numbers& shape, const Numbers& of) {
  std::vector<Group> out;
  std::size_t i = 0, k = 0;
  while (i < shape.size() || k < of.size()) {
    Group group{i, i, k, k};
    std::int64_t ours = 1, theirs = 1;
    do {
      const bool is_ours = i < shape.size() && (ours <= theirs || k >= of.size());
      if (is_ours)
        ours *= shape[i++];
      else if (k < of.size())
        theirs *= of[k++];
    } while (ours != theirs && (i < shape.size() || k < of.size()));
    group.last = i;
    group.of_last = k;
    out.push_back(group);
  }
  return out;
}

}  // namespace

std::int64_t count(const Numbers& shape) {
  return std::accumulate(shape.begin(), shape.end(), std::int64_t{1}, std::multiplies<>());
}

Numbers squeezed(const Numbers& shape) {
  Numbers out;
  std::copy_if(shape.begin(), shape.end(), std::back_inserter(out),
               [](std::int64_t n) { return n != 1; });
  return out;
}

Numbers without(const Numbers& shape, const Numbers& axes) {
  Numbers out;
  for (std::size_t i = 0; i < shape.size(); ++i) {
    if (!has(axes, i)) out.push_back(shape[i]);
  }
  return out;
}

std::optional<Terms::Lift> Terms::lift_of(const std::vector<TermId>& operands) const {
  std::optional<Lift> out;
  for (TermId id : operands) {
    const Term& one = (*this)[id];
    if (one.op != "view" && one.op != "permute") continue;
    const bool is_view = one.op == "view";
    if (out && out->numbers.size() >= one.type.shape.size()) continue;
    out = Lift{.operands = {},
               .shape = (*this)[one.operands[0]].type.shape,
               .numbers = is_view ? one.type.shape : one.numbers,
               .is_view = is_view};
  }
  if (!out) return std::nullopt;
  const auto [ours, theirs] = std::mismatch(out->shape.rbegin(), out->shape.rend(),
                                            out->numbers.rbegin(), out->numbers.rend());
  const auto kept = static_cast<std::size_t>(out->is_view ? ours - out->shape.rbegin() : 0);
  for (TermId id : operands) {
    const Term& one = (*this)[id];
    const bool same = one.op == (out->is_view ? "view" : "permute") &&
                      (out->is_view ? one.type.shape : one.numbers) == out->numbers &&
                      (*this)[one.operands[0]].type.shape == out->shape;
    if (!same && one.type.shape.size() > kept) return std::nullopt;
    out->operands.push_back(same ? one.operands[0] : id);
  }
  return out;
}

TermId Terms::to(TermId x, tensor::DType dtype) {
  const Term term = (*this)[x];
  if (term.type.dtype == dtype) return x;
  if (term.op == "full") return full(term.by, {dtype, term.type.shape});
  if (term.op == "view") return view(to(term.operands[0], dtype), term.type.shape);
  return other("to", {x}, {dtype, term.type.shape});
}

TermId Terms::view(TermId x, Numbers shape) {
  while (is(x, "view")) x = (*this)[x].operands[0];
  const Term term = (*this)[x];
  if (term.type.shape == shape) return x;
  Type type{term.type.dtype, std::move(shape)};
  if (term.op == "full") return full(term.by, type);
  return other("view", {x}, type);
}

// Axes of one element are views.
TermId Terms::permute(TermId x, Numbers order) {
  const Numbers& shape = (*this)[x].type.shape;
  Numbers result, squeezed, place(shape.size()), kept;
  for (std::int64_t axis : order) result.push_back(shape[static_cast<std::size_t>(axis)]);
  for (std::size_t i = 0; i < shape.size(); ++i) {
    place[i] = static_cast<std::int64_t>(squeezed.size());
    if (shape[i] != 1) squeezed.push_back(shape[i]);
  }
  if (squeezed.size() < shape.size()) {
    for (std::int64_t axis : order) {
      if (shape[static_cast<std::size_t>(axis)] != 1)
        kept.push_back(place[static_cast<std::size_t>(axis)]);
    }
    return view(permute(view(x, squeezed), std::move(kept)), std::move(result));
  }
  if (std::is_sorted(order.begin(), order.end())) return x;
  const Term term = (*this)[x];
  if (term.op == "full") return full(term.by, {term.type.dtype, std::move(result)});
  if (term.op == "permute") {
    for (std::int64_t& axis : order) axis = term.numbers[static_cast<std::size_t>(axis)];
    return permute(term.operands[0], std::move(order));
  }
  const std::size_t rank = order.size();
  if (term.op == "product" && rank >= 2) {
    Numbers swapped(rank);
    std::iota(swapped.begin(), swapped.end(), 0);
    std::swap(swapped[rank - 1], swapped[rank - 2]);
    if (order == swapped)
      return product(permute(term.operands[1], order), permute(term.operands[0], order),
                     {term.type.dtype, result});
  }
  return other("permute", {x}, {term.type.dtype, std::move(result)}, std::move(order));
}

TermId Terms::expand(TermId x, const Type& type) {
  const TermId source = unexpanded(x);
  if ((*this)[source].type == type) return source;
  if (is(source, "full")) return full((*this)[source].by, type);
  if (count((*this)[source].type.shape) == count(type.shape)) return view(source, type.shape);
  return other("expand", {source}, type);
}

// Slices are moved as deep inside as possible: a part of a sum is the sum of parts, and a column of
// a matmul is the matmul with that column of its right side.
TermId Terms::slice(TermId x, const Cut& cut) {
  const Term term = (*this)[x];
  Type type = term.type;
  std::int64_t& size = type.shape[cut.axis];
  const std::int64_t whole = size;
  size = std::max<std::int64_t>(0, (cut.end - cut.begin + cut.step - 1) / cut.step);
  if (size == whole) return x;
  const auto of_operand = [&](TermId id) {
    const std::size_t missing = term.type.shape.size() - (*this)[id].type.shape.size();
    if (cut.axis < missing || (*this)[id].type.shape[cut.axis - missing] == 1) return id;
    return slice(id, {cut.axis - missing, cut.begin, cut.end, cut.step});
  };
  if (term.op == "full") return full(term.by, type);
  if (term.op == "scale") return scale(of_operand(term.operands[0]), term.by);
  if (term.op == "shift") return shift(of_operand(term.operands[0]), term.by);
  if (term.op == "add" || term.op == "mul") {
    TermId out = of_operand(term.operands[0]);
    for (std::size_t i = 1; i < term.operands.size(); ++i) {
      const TermId part = of_operand(term.operands[i]);
      out = term.op == "add" ? add(out, part, type) : mul(out, part, type);
    }
    return broadcast(out, type);
  }
  if (term.op == "permute") {
    const auto axis = static_cast<std::size_t>(term.numbers[cut.axis]);
    return permute(slice(term.operands[0], {axis, cut.begin, cut.end, cut.step}), term.numbers);
  }
  const std::size_t rank = term.type.shape.size();
  if (term.op == "product" && rank == 2 && (*this)[term.operands[0]].type.shape.size() == 2) {
    const bool is_row = cut.axis == 0;
    const TermId left = term.operands[0], right = term.operands[1];
    return is_row ? product(slice(left, cut), right, type) : product(left, slice(right, cut), type);
  }
  return other("slice", {x}, type,
               {static_cast<std::int64_t>(cut.axis), cut.begin, cut.end, cut.step});
}

// ---- reductions

// Applies where whole groups of the viewed tensor's axes are reduced.
std::optional<TermId> Terms::reduce_of_view(const std::string& op, TermId x, const Numbers& axes) {
  const Term term = (*this)[x];
  const TermId source = term.operands[0];
  const Numbers shape = (*this)[source].type.shape;
  Numbers of;
  for (const Group& group : groups_of(term.type.shape, shape)) {
    std::size_t reduced = 0, all = 0;
    for (std::size_t i = group.first; i < group.last; ++i) {
      if (term.type.shape[i] == 1) continue;
      ++all;
      if (has(axes, i)) ++reduced;
    }
    if (reduced == 0) continue;
    if (reduced < all) return std::nullopt;
    for (std::size_t k = group.of_first; k < group.of_last; ++k)
      of.push_back(static_cast<std::int64_t>(k));
  }
  return view(reduce(op, source, of, without(shape, of)), without(term.type.shape, axes));
}

TermId Terms::reduce_of_permuted(const std::string& op, TermId x, const Numbers& axes) {
  const Term term = (*this)[x];
  const Numbers shape = (*this)[term.operands[0]].type.shape;
  Numbers of, order;
  for (std::int64_t axis : axes) of.push_back(term.numbers[static_cast<std::size_t>(axis)]);
  std::sort(of.begin(), of.end());
  for (std::size_t i = 0; i < term.numbers.size(); ++i) {
    const std::int64_t axis = term.numbers[i];
    if (!has(axes, i))
      order.push_back(axis - std::count_if(of.begin(), of.end(),
                                           [axis](std::int64_t one) { return one < axis; }));
  }
  return permute(reduce(op, term.operands[0], of, without(shape, of)), std::move(order));
}

// Tensors of one shape, stacked in front and added up.
std::optional<TermId> Terms::sum_of_stacked(TermId x, const Numbers& axes) {
  const TermId cat = is(x, "view") ? (*this)[x].operands[0] : x;
  const Term term = (*this)[cat];
  if (term.op != "cat" || term.numbers != Numbers{0} || axes != Numbers{0}) return std::nullopt;
  const Type type{term.type.dtype, without((*this)[x].type.shape, axes)};
  if ((*this)[x].type.shape[0] != static_cast<std::int64_t>(term.operands.size()))
    return std::nullopt;
  for (TermId part : term.operands) {
    if (count((*this)[part].type.shape) != count(type.shape)) return std::nullopt;
  }
  TermId out = view(term.operands[0], type.shape);
  for (std::size_t i = 1; i < term.operands.size(); ++i)
    out = add(out, view(term.operands[i], type.shape), type);
  return out;
}

// In a sum of e^(a + b), the part that does not change along the axes is a factor.
std::optional<TermId> Terms::sum_of_powers(TermId x, const Numbers& axes) {
  const Term term = (*this)[x];
  if (term.op != "exp" || !is(term.operands[0], "add")) return std::nullopt;
  Type kept = term.type;  // type of the part that does not change
  for (std::int64_t axis : axes) kept.shape[static_cast<std::size_t>(axis)] = 1;
  std::optional<TermId> moving, still;
  for (TermId part : Term((*this)[term.operands[0]]).operands) {
    const Numbers shape = (*this)[part].type.shape;
    const std::size_t missing = term.type.shape.size() - shape.size();
    const bool fixed = std::all_of(axes.begin(), axes.end(), [&](std::int64_t axis) {
      const auto at = static_cast<std::size_t>(axis);
      return at < missing || shape[at - missing] == 1;
    });
    std::optional<TermId>& kind = fixed ? still : moving;
    const Type& type = fixed ? kept : term.type;
    kind = kind ? add(*kind, part, type) : fixed ? part : broadcast(part, type);
  }
  if (!still || !moving) return std::nullopt;
  const TermId sum = reduce("sum", function("exp", *moving), axes, kept.shape);
  return view(mul(sum, function("exp", *still), kept), without(term.type.shape, axes));
}

// Sums a term that is no view and no permutation: factors and numbers are moved out.
TermId Terms::sum_over(TermId x, const Numbers& axes) {
  const Term term = (*this)[x];
  const Type type{term.type.dtype, without(term.type.shape, axes)};
  if (term.op == "scale") return scale(reduce("sum", term.operands[0], axes, type.shape), term.by);
  if (term.op == "shift") {
    const auto elements = static_cast<double>(count(term.type.shape)) /
                          static_cast<double>(std::max<std::int64_t>(1, count(type.shape)));
    return shift(reduce("sum", term.operands[0], axes, type.shape), term.by * elements);
  }
  if (term.op == "sum") {
    const Numbers whole = (*this)[term.operands[0]].type.shape;
    Numbers all = term.numbers, left;
    for (std::size_t i = 0; i < whole.size(); ++i) {
      if (!has(term.numbers, i)) left.push_back(static_cast<std::int64_t>(i));
    }
    for (std::int64_t axis : axes) all.push_back(left.at(static_cast<std::size_t>(axis)));
    std::sort(all.begin(), all.end());
    return reduce("sum", term.operands[0], all, type.shape);
  }
  if (auto out = sum_of_powers(x, axes)) return *out;
  return other("sum", {x}, type, axes);
}

TermId Terms::reduce(const std::string& op, TermId x, const Numbers& axes, const Numbers& shape) {
  const Numbers whole = (*this)[x].type.shape;
  if (canonical::squeezed(whole).size() < whole.size()) {
    Numbers of;
    std::int64_t place = 0;
    for (std::size_t i = 0; i < whole.size(); ++i) {
      if (whole[i] == 1) continue;
      if (has(axes, i)) of.push_back(place);
      ++place;
    }
    const TermId small = view(x, canonical::squeezed(whole));
    return view(reduce(op, small, of, without(canonical::squeezed(whole), of)), shape);
  }
  if (axes.empty()) return view(x, shape);
  std::optional<TermId> out;
  if (op == "sum") out = sum_of_stacked(x, axes);
  if (!out && is(x, "view")) out = reduce_of_view(op, x, axes);
  if (!out && is(x, "permute")) out = reduce_of_permuted(op, x, axes);
  if (!out && op == "sum") out = sum_over(x, axes);
  if (!out && is(x, "shift")) {
    const Term term = (*this)[x];
    out = shift(reduce(op, term.operands[0], axes, without(whole, axes)), term.by);
  }
  if (!out) {
    const double by = std::abs(leading(x));
    const Type type{(*this)[x].type.dtype, without(whole, axes)};
    out = scale(other(op, {by == 1 ? x : scale(x, 1 / by)}, type, axes), by);
  }
  return view(*out, shape);
}

TermId Terms::mean(TermId x, const Numbers& axes, const Numbers& shape) {
  double elements = 1;
  for (std::int64_t axis : axes)
    elements *= static_cast<double>((*this)[x].type.shape[static_cast<std::size_t>(axis)]);
  return scale(reduce("sum", x, axes, shape), 1 / elements);
}

// ---- products of matrices

TermId Terms::product(TermId a, TermId b, const Type& type) {
  const Term left = (*this)[a], right = (*this)[b];
  if (left.op == "scale") return scale(product(left.operands[0], b, type), left.by);
  if (right.op == "scale") return scale(product(a, right.operands[0], type), right.by);
  if (type.shape.size() == 3 && type.shape[0] == 1 && left.type.shape.size() == 3 &&
      right.type.shape.size() == 3) {
    const auto matrix = [&](TermId x, const Numbers& shape) {
      return view(x, {shape[1], shape[2]});
    };
    const TermId flat = product(matrix(a, left.type.shape), matrix(b, right.type.shape),
                                {type.dtype, {type.shape[1], type.shape[2]}});
    return view(flat, type.shape);
  }
  return other("product", {a, b}, type);
}

}  // namespace kw::data::canonical
