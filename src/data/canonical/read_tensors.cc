// Nodes that work on whole tensors: shapes, reductions, products, norms.
#include <algorithm>
#include <numeric>

#include <fmt/ranges.h>

#include "data/canonical/formulas.h"
#include "data/canonical/node_reader.h"

namespace kw::data::canonical {
std::optional<TermId> NodeReader::shape(const Node& node, const Type& type) {
  const auto x = tensor(node, "self");
  if (!x) return std::nullopt;
  const std::string name = base_name(node.op);
  if (name == "_to_copy" && terms_[*x].type.shape != type.shape) return std::nullopt;
  if (name == "_to_copy") return terms_.to(*x, type.dtype);
  if (name == "expand" && !fits(*x, type)) return std::nullopt;
  if (name == "expand") return terms_.expand(*x, type);
  if (count(terms_[*x].type.shape) != count(type.shape)) return std::nullopt;
  return terms_.view(*x, type.shape);
}

std::optional<TermId> NodeReader::permute(const Node& node, const Type&) {
  const auto x = tensor(node, "self");
  const auto order = list(node.find("dims"));
  if (!x || !order) return std::nullopt;
  Numbers sorted = *order, all(terms_[*x].type.shape.size());
  std::sort(sorted.begin(), sorted.end());
  std::iota(all.begin(), all.end(), 0);
  return sorted == all ? std::optional(terms_.permute(*x, *order)) : std::nullopt;
}

std::optional<TermId> NodeReader::cat(const Node& node, const Type& type) {
  const Attribute* given = node.find("tensors");
  const auto* tensors = std::get_if<std::vector<std::optional<writer::ValueId>>>(given);
  const auto dim = number(node.find("dim"));
  if (given == nullptr || tensors == nullptr || !dim) return std::nullopt;
  std::vector<TermId> parts;
  for (const auto& one : *tensors) {
    if (!one) return std::nullopt;
    parts.push_back(terms_.to(term(*one), type.dtype));
  }
  return terms_.other("cat", std::move(parts), type, {static_cast<std::int64_t>(*dim)});
}

std::optional<TermId> NodeReader::slice(const Node& node, const Type&) {
  const auto x = tensor(node, "self");
  const auto dim = number(node.find("dim")), start = number(node.find("start")),
             end = number(node.find("end"));
  if (!x || !dim || !start || !end || *dim < 0 ||
      *dim >= static_cast<double>(terms_[*x].type.shape.size()))
    return std::nullopt;
  const auto axis = static_cast<std::size_t>(*dim);
  const std::int64_t last = std::min(static_cast<std::int64_t>(*end), terms_[*x].type.shape[axis]);
  const auto step = static_cast<std::int64_t>(number_or(node, "step", 1));
  if (*start < 0 || step < 1) return std::nullopt;
  return terms_.slice(*x, {axis, static_cast<std::int64_t>(*start), last, step});
}

std::optional<TermId> NodeReader::select(const Node& node, const Type& type) {
  const auto x = tensor(node, "self");
  const auto dim = number(node.find("dim")), index = number(node.find("index"));
  if (!x || !dim || !index || *dim < 0 || *dim >= static_cast<double>(terms_[*x].type.shape.size()))
    return std::nullopt;
  const auto at = static_cast<std::int64_t>(*index);
  const Numbers axis = {static_cast<std::int64_t>(*dim)};
  if (at < 0 || count(without(terms_[*x].type.shape, axis)) != count(type.shape))
    return std::nullopt;
  return terms_.view(terms_.slice(*x, {static_cast<std::size_t>(*dim), at, at + 1, 1}), type.shape);
}

// Flipping k x is k times flipping x.
std::optional<TermId> NodeReader::flip(const Node& node, const Type& type) {
  const auto x = tensor(node, "self");
  if (!x || !terms_.is(*x, "scale")) return std::nullopt;
  const Term scaled = terms_[*x];
  const TermId of = named(node.op, node, type, {"self"}, {scaled.operands[0]});
  return terms_.scale(of, scaled.by);
}

// Rows of a table by their numbers.
std::optional<TermId> NodeReader::rows(const Node& node, const Type& type) {
  const auto table = tensor(node, node.op.starts_with("embedding") ? "weight" : "self");
  auto which = tensor(node, node.op.starts_with("index_select") ? "index" : "indices");
  if (!table || terms_[*table].type.shape.empty()) return std::nullopt;
  if (node.op.starts_with("index_select") && number_or(node, "dim", -1) != 0) return std::nullopt;
  if (node.op == "index.Tensor") {
    const auto* all =
        std::get_if<std::vector<std::optional<writer::ValueId>>>(node.find("indices"));
    if (all == nullptr || all->size() != 1) return std::nullopt;
    const std::optional<writer::ValueId>& only = all->front();
    if (!only) return std::nullopt;
    which = term(*only);
  }
  if (!which || terms_[*which].type.dtype == tensor::DType::kBool) return std::nullopt;
  return terms_.other("rows", {*table, *which}, type);
}

// Zeros, as many on both sides of each axis behind the first two: what a convolution's padding is.
std::optional<TermId> NodeReader::pad(const Node& node, const Type& type) {
  const auto x = tensor(node, "self");
  const auto sides = list(node.find("pad"));
  const std::size_t rank = type.shape.size();
  if (!x || !sides || rank < 3 || sides->size() % 2 != 0 || sides->size() / 2 > rank - 2 ||
      number_or(node, "value", 0) != 0)
    return std::nullopt;
  Numbers numbers(rank - 2);
  for (std::size_t i = 0; i < sides->size() / 2; ++i) {
    if ((*sides)[2 * i] != (*sides)[2 * i + 1]) return std::nullopt;
    numbers[rank - 3 - i] = (*sides)[2 * i];
  }
  return terms_.other("pad", {*x}, type, std::move(numbers));
}

// An operation on a permuted tensor is done along the axis before the permutation.
std::optional<TermId> NodeReader::along_axis(const Node& node, const Type& type) {
  auto x = tensor(node, "self");
  const auto dim = number(node.find("dim"));
  if (!x || terms_[*x].type.shape != type.shape || !dim || *dim < 0 ||
      *dim >= static_cast<double>(type.shape.size()))
    return std::nullopt;
  auto axis = static_cast<std::int64_t>(*dim);
  const std::string name = base_name(node.op);
  const TermId given = terms_.to(*x, type.dtype);
  const Term term = terms_[given];
  if (name == "cumsum" && term.op == "scale")
    return terms_.scale(terms_.other(name, {term.operands[0]}, type, {axis}), term.by);
  if (term.op != "permute") return terms_.other(name, {given}, type, {axis});
  axis = term.numbers[static_cast<std::size_t>(axis)];
  const Type inner = terms_[term.operands[0]].type;
  return terms_.permute(terms_.other(name, {term.operands[0]}, inner, {axis}), term.numbers);
}

// A bias is added behind; zeros around the image are padding.
std::optional<TermId> NodeReader::convolution(const Node& node, const Type& type) {
  const auto x = tensor(node, "input"), weight = tensor(node, "weight"),
             bias = tensor(node, "bias");
  auto padding = list(node.find("padding"));
  if (!x || !weight || !padding || type.shape.size() < 3) return std::nullopt;
  const std::size_t spatial = type.shape.size() - 2;
  TermId image = *x;
  const Term padded = terms_[terms_.is(image, "view") ? terms_[image].operands[0] : image];
  const auto* transposed = std::get_if<bool>(node.find("transposed"));
  if (padded.op == "pad" && padded.numbers.size() == spatial && transposed != nullptr &&
      !*transposed && padding->size() == spatial) {
    for (std::size_t i = 0; i < spatial; ++i) (*padding)[i] += padded.numbers[i];
    image = padded.operands[0];
  }
  TermId out = named(fmt::format("convolution [{}]", fmt::join(*padding, " ")), node, type,
                     {"input", "weight", "bias", "padding"}, {image, *weight});
  if (!bias) return out;
  if (terms_[*bias].type.shape != Numbers{type.shape[1]}) return std::nullopt;
  Numbers shape(spatial + 1, 1);
  shape[0] = type.shape[1];
  return terms_.add(out, terms_.view(*bias, std::move(shape)), type);
}

std::optional<TermId> NodeReader::product(const Node& node, const Type& type) {
  const std::string name = base_name(node.op);
  const bool plain = name == "mm" || name == "bmm";
  const auto left = tensor(node, plain             ? "self"
                                 : name == "addmm" ? "mat1"
                                                   : "batch1"),
             right = tensor(node, name == "baddbmm" ? "batch2" : "mat2"),
             added = tensor(node, "self");
  if (!left || !right || !added || (!plain && !fits(*added, type))) return std::nullopt;
  const Numbers &a = terms_[*left].type.shape, &b = terms_[*right].type.shape;
  const std::size_t rank = type.shape.size();
  if (rank < 2 || rank > 3 || a.size() != rank || b.size() != rank || a[rank - 1] != b[rank - 2] ||
      type.shape[rank - 2] != a[rank - 2] || type.shape[rank - 1] != b[rank - 1])
    return std::nullopt;
  const TermId out = terms_.product(*left, *right, type);
  if (plain) return out;
  const TermId sum = terms_.scale(out, number_or(node, "alpha", 1));
  return terms_.add(sum, *added, type, number_or(node, "beta", 1));
}

std::optional<TermId> NodeReader::reduction(const Node& node, const Type& type) {
  const auto given = tensor(node, "self");
  if (!given) return std::nullopt;
  const TermId x = terms_.to(*given, type.dtype);
  const auto over = axes(node, x);
  const std::string name = base_name(node.op);
  if (!over || count(without(terms_[x].type.shape, *over)) != count(type.shape))
    return std::nullopt;
  if (name == "sum") return terms_.reduce("sum", x, *over, type.shape);
  if (name == "mean") return terms_.mean(x, *over, type.shape);
  if (name == "var" || name == "var_mean")
    return variance(terms_, x, *over, number_or(node, "correction", 1), type.shape);
  if (name == "logsumexp")
    return terms_.function("log",
                           terms_.reduce("sum", terms_.function("exp", x), *over, type.shape));
  if (name == "amax" || name == "max") return terms_.reduce("amax", x, *over, type.shape);
  return terms_.scale(terms_.reduce("amax", terms_.scale(x, -1), *over, type.shape), -1);
}

std::optional<TermId> NodeReader::mean(const Node& node, const Type& type) {
  const auto x = tensor(node, "self");
  const auto over = x ? axes(node, *x) : std::nullopt;
  if (!over || count(without(terms_[*x].type.shape, *over)) != count(type.shape))
    return std::nullopt;
  return terms_.mean(*x, *over, type.shape);
}

// The place of the first largest along an axis.
std::optional<TermId> NodeReader::place(const Node& node, const Type& type) {
  const auto x = tensor(node, "self");
  const auto dim = number(node.find("dim"));
  if (!x || !dim || *dim < 0 || *dim >= static_cast<double>(terms_[*x].type.shape.size()))
    return std::nullopt;
  const Numbers axis = {static_cast<std::int64_t>(*dim)};
  const bool least = node.op.find("min") != std::string::npos;
  const double by = std::abs(terms_.leading(*x)) * (least ? -1 : 1);
  const TermId normal = by == 1 ? *x : terms_.scale(*x, 1 / by);
  const Type out{type.dtype, without(terms_[*x].type.shape, axis)};
  if (count(out.shape) != count(type.shape)) return std::nullopt;
  return terms_.view(terms_.other("argmax", {normal}, out, axis), type.shape);
}

std::optional<TermId> NodeReader::vector_norm(const Node& node, const Type& type) {
  const auto x = tensor(node, "self");
  const double order = number_or(node, "ord", 2);
  if (!x || (order != 1 && order != 2) || terms_[*x].type.dtype != type.dtype) return std::nullopt;
  const auto over = axes(node, *x);
  if (!over || count(without(terms_[*x].type.shape, *over)) != count(type.shape))
    return std::nullopt;
  return canonical::vector_norm(terms_, *x, static_cast<int>(order), *over, type.shape);
}

std::optional<TermId> NodeReader::softmax(const Node& node, const Type& type) {
  const auto x = tensor(node, "self");
  const auto over = x ? axes(node, *x) : std::nullopt;
  if (!over || over->size() != 1 || terms_[*x].type != type) return std::nullopt;
  return node.op.starts_with("_log") ? log_softmax(terms_, *x, over->front())
                                     : canonical::softmax(terms_, *x, over->front());
}

std::optional<TermId> NodeReader::affine(TermId x, const Node& node, const Numbers& shape) {
  const Type type = terms_[x].type;
  for (const char* name : {"weight", "bias"}) {
    const auto given = tensor(node, name);
    if (!given) continue;
    if (count(terms_[*given].type.shape) != count(shape)) return std::nullopt;
    const TermId each = terms_.view(*given, shape);
    x = name[0] == 'w' ? terms_.mul(x, each, type) : terms_.add(x, each, type);
  }
  return x;
}

std::optional<TermId> NodeReader::layer_norm(const Node& node, const Type& type) {
  const auto x = tensor(node, "input");
  const auto shape = list(node.find("normalized_shape"));
  if (!x || !shape || shape->empty() || shape->size() > type.shape.size() ||
      terms_[*x].type != type)
    return std::nullopt;
  Numbers over(shape->size());
  std::iota(over.begin(), over.end(), static_cast<std::int64_t>(type.shape.size() - shape->size()));
  if (!std::equal(shape->rbegin(), shape->rend(), type.shape.rbegin())) return std::nullopt;
  return affine(normalised(terms_, *x, over, number_or(node, "eps", 1e-5)), node, *shape);
}

std::optional<TermId> NodeReader::group_norm(const Node& node, const Type& type) {
  const auto x = tensor(node, "input");
  const auto groups = static_cast<std::int64_t>(number_or(node, "group", 0));
  if (!x || type.shape.size() < 2 || groups < 1 || type.shape[1] % groups != 0 ||
      type.shape[0] < 1 || terms_[*x].type != type)
    return std::nullopt;
  const Numbers grouped = {type.shape[0], groups, count(type.shape) / (type.shape[0] * groups)};
  const TermId flat = terms_.view(*x, grouped);
  const TermId out =
      terms_.view(normalised(terms_, flat, {2}, number_or(node, "eps", 1e-5)), type.shape);
  Numbers channels(type.shape.size() - 1, 1);
  channels[0] = type.shape[1];
  return affine(out, node, channels);
}

std::optional<TermId> NodeReader::batch_norm(const Node& node, const Type& type) {
  const auto x = tensor(node, "input"), mean = tensor(node, "running_mean"),
             spread = tensor(node, "running_var");
  if (!x || type.shape.size() < 2 || terms_[*x].type != type) return std::nullopt;
  const double eps = number_or(node, "eps", 1e-5);
  Numbers channels(type.shape.size() - 1, 1), over = {0};
  channels[0] = type.shape[1];
  for (std::size_t i = 2; i < type.shape.size(); ++i) over.push_back(static_cast<std::int64_t>(i));
  if (!mean || !spread) return affine(normalised(terms_, *x, over, eps), node, channels);
  if (count(terms_[*mean].type.shape) != type.shape[1] ||
      count(terms_[*spread].type.shape) != type.shape[1])
    return std::nullopt;
  const TermId difference = terms_.add(*x, terms_.view(*mean, channels), type, -1);
  const TermId root = terms_.function("rsqrt", terms_.shift(terms_.view(*spread, channels), eps));
  return affine(terms_.mul(difference, root, type), node, channels);
}

// The first of a sort.
std::optional<TermId> NodeReader::top(const Node& node, const Type&) {
  const auto x = tensor(node, "self");
  const auto dim = number(node.find("dim")), count = number(node.find("k"));
  const auto* largest = std::get_if<bool>(node.find("largest"));
  if (!x || !dim || !count || largest == nullptr) return std::nullopt;
  if (*dim < 0 || *dim >= static_cast<double>(terms_[*x].type.shape.size())) return std::nullopt;
  const Type whole = terms_[*x].type;
  const TermId sorted = terms_.other(*largest ? "sort down" : "sort up", {*x}, whole,
                                     {static_cast<std::int64_t>(*dim)});
  return terms_.slice(sorted,
                      {static_cast<std::size_t>(*dim), 0, static_cast<std::int64_t>(*count), 1});
}

std::optional<TermId> NodeReader::sort(const Node& node, const Type& type) {
  const auto x = tensor(node, "self");
  const auto dim = number(node.find("dim"));
  const auto* down = std::get_if<bool>(node.find("descending"));
  if (!x || !dim || down == nullptr) return std::nullopt;
  return terms_.other(*down ? "sort down" : "sort up", {*x}, type,
                      {static_cast<std::int64_t>(*dim)});
}

}  // namespace kw::data::canonical
