// Reads at places that data decides.
#include <algorithm>

#include "writer/loops/lowering.h"

namespace kw::writer {
namespace {

using tensor::DType;

// A place that may count from the end.
IntExpr place_of(Lowering& at, const ScalarRef& value, const IntExpr& extent,
                 bool may_be_negative) {
  const ScalarRef place = cast(DType::kInt64, value);
  if (!may_be_negative || std::holds_alternative<Scalar::Index>(place->node))
    return at.data_index(place, extent);
  if (const auto* known = std::get_if<Scalar::Constant>(&place->node))
    return known->integer < 0 ? extent + known->integer : IntExpr(known->integer);
  return at.data_index(select(binary(ScalarOp::kLess, place, 0),
                              binary(ScalarOp::kAdd, place, at.scalar_of(extent)), place),
                       extent);
}

void embedding(OpCall& call) {
  Lowering& at = call.at;
  const Tensor weight = call.tensor("weight"), indices = call.tensor("indices");
  if (weight.rank() != 2) return call.invalid("weight is no matrix");
  if (!call.has_rank(indices.rank() + 1)) return;
  call.map([&](const Index& i) {
    const Index of_indices(i.begin(), i.end() - 1);
    const IntExpr row = place_of(at, at.read(indices, of_indices), weight.type.shape[0], false);
    return at.read(weight, {row, i.back()});
  });
}

// The operators that replace one dimension's index by what a tensor of places holds. places_at: the
// index into that tensor, of an output's index and of its element at `dim`.
template <typename PlacesAt>
void replace_index(OpCall& call, PlacesAt places_at) {
  Lowering& at = call.at;
  const Tensor self = call.tensor("self"), places = call.tensor("index");
  const std::size_t dim = call.dim("dim", self.rank());
  if (self.rank() == 0) return call.unsupported("a tensor without dimensions");
  if (!call.has_rank(self.rank())) return;
  call.map([&](const Index& i) {
    Index mine = i;
    mine[dim] =
        place_of(at, at.read(places, places_at(places, i, dim)), self.type.shape[dim], false);
    return at.read(self, mine);
  });
}

void index_select(OpCall& call) {
  replace_index(call, [](const Tensor& places, const Index& i, std::size_t dim) {
    return places.rank() == 0 ? Index{} : Index{i[dim]};
  });
}

void gather(OpCall& call) {
  replace_index(call, [](const Tensor&, const Index& i, std::size_t) { return i; });
}

void take(OpCall& call) {
  Lowering& at = call.at;
  const Tensor self = call.tensor("self"), places = call.tensor("index");
  const IntExpr count = product(self.type.shape);
  const Tensor flat = reshaped(at, self, {count});
  call.map([&](const Index& i) {
    return at.read(flat, {place_of(at, at.read(places, i), count, true)});
  });
}

// Where tensors of places stand in an index: dimensions with one are replaced by those that all of
// them share, at the first's place if they are neighbours, else in front.
struct Advanced {
  std::vector<std::pair<std::size_t, Tensor>> places;  // by dimension
  std::size_t first = 0;                               // in the result
  Shape shared;                                        // broadcast shape of the places

  Index of(Lowering& at, const Tensor& self, const Index& i) const {
    const Index mine(i.begin() + static_cast<std::ptrdiff_t>(first),
                     i.begin() + static_cast<std::ptrdiff_t>(first + shared.size()));
    Index rest(i.begin(), i.begin() + static_cast<std::ptrdiff_t>(first));
    rest.insert(rest.end(), i.begin() + static_cast<std::ptrdiff_t>(first + shared.size()),
                i.end());
    Index out;
    std::size_t from_rest = 0, from_places = 0;
    for (std::size_t d = 0; d < self.rank(); ++d) {
      if (from_places < places.size() && places[from_places].first == d) {
        const Tensor& tensor = places[from_places++].second;
        Index at_place;
        for (std::size_t k = 0; k < tensor.rank(); ++k)
          at_place.push_back(tensor.type.shape[k].constant() == 1
                                 ? IntExpr()
                                 : mine[mine.size() - tensor.rank() + k]);
        out.push_back(place_of(at, at.read(tensor, at_place), self.type.shape[d], true));
      } else {
        out.push_back(from_rest < rest.size() ? rest[from_rest] : IntExpr());
        ++from_rest;
      }
    }
    return out;
  }
};

std::optional<Advanced> advanced_of(OpCall& call, const Tensor& self) {
  Advanced out;
  const auto indices = call.optional_tensors("indices");
  if (call.failed()) return std::nullopt;
  for (std::size_t d = 0; d < indices.size(); ++d) {
    const auto& index = indices[d];
    if (!index) continue;
    if (index->type.dtype == DType::kBool || index->type.dtype == DType::kUInt8) {
      call.unsupported("a mask as index");
      return std::nullopt;
    }
    out.places.emplace_back(d, *index);
  }
  if (out.places.empty() || indices.size() > self.rank()) {
    call.invalid("indices do not fit");
    return std::nullopt;
  }
  for (const auto& [d, tensor] : out.places) {
    const Shape& shape = tensor.type.shape;
    if (shape.size() > out.shared.size())
      out.shared.insert(out.shared.begin(), shape.size() - out.shared.size(), 1);
    for (std::size_t k = 0; k < shape.size(); ++k) {
      IntExpr& shared = out.shared[out.shared.size() - shape.size() + k];
      if (shared.constant() == 1) shared = shape[k];
    }
  }
  const std::size_t last = out.places.back().first, first = out.places.front().first;
  if (last - first + 1 == out.places.size()) out.first = first;
  return out;
}

void index(OpCall& call) {
  const Tensor self = call.tensor("self");
  const auto advanced = advanced_of(call, self);
  if (!advanced) return;
  if (call.type().shape.size() != self.rank() - advanced->places.size() + advanced->shared.size())
    return call.invalid("its result's dimensions do not fit");
  call.map([&](const Index& i) { return call.at.read(self, advanced->of(call.at, self, i)); });
}

void index_put(OpCall& call) {
  Lowering& at = call.at;
  const Tensor self = call.tensor("self"), values = call.tensor("values");
  const auto advanced = advanced_of(call, self);
  if (!advanced) return;
  Shape extents = self.type.shape;
  for (auto each = advanced->places.rbegin(); each != advanced->places.rend(); ++each)
    extents.erase(extents.begin() + static_cast<std::ptrdiff_t>(each->first));
  extents.insert(extents.begin() + static_cast<std::ptrdiff_t>(advanced->first),
                 advanced->shared.begin(), advanced->shared.end());
  const Rule value = call.operand(values, extents, self.type.dtype);
  if (call.failed()) return;
  call.set(at.scatter(
      self, extents, call.flag("accumulate") ? ScatterOp::kAdd : ScatterOp::kAssign,
      [&](const Index& i) { return advanced->of(at, self, i); }, value));
}

// A place before which no boundary is greater (right: or equal).
void search(OpCall& call, const Tensor& sorted, const Tensor& wanted, bool right) {
  Lowering& at = call.at;
  if (sorted.rank() == 0 || (sorted.rank() != 1 && sorted.rank() != wanted.rank()))
    return call.unsupported("boundaries of another rank");
  if (!call.has_rank(wanted.rank())) return;
  const DType dtype = opmath(promoted({sorted, wanted}));
  call.set(at.reduce(call.type(), {.op = ReduceOp::kSum,
                                   .accumulator = DType::kInt64,
                                   .extents = {sorted.type.shape.back()},
                                   .body = [&](const Index& i, const Index& r) {
                                     Index mine = sorted.rank() == 1 ? Index{r[0]} : i;
                                     mine.back() = r[0];
                                     const ScalarRef value = cast(
                                         dtype, at.read(wanted, wanted.rank() == 0 ? Index{} : i));
                                     return binary(right ? ScalarOp::kLessEqual : ScalarOp::kLess,
                                                   cast(dtype, at.read(sorted, mine)), value);
                                   }}));
}

// Sums, means or maxima of rows, a bag of places each. Bags that begin at multiples of one length.
void embedding_bag(OpCall& call) {
  Lowering& at = call.at;
  const Tensor weight = call.tensor("weight"), indices = call.tensor("indices"),
               offsets = call.tensor("offsets");
  const std::int64_t mode = call.integer("mode");
  if (call.failed()) return;
  if (weight.rank() != 2 || indices.rank() != 1 || offsets.rank() != 1)
    return call.invalid("its tensors' dimensions do not fit");
  if (!call.has_rank(2)) return;
  const auto start_of = [&](const IntExpr& bag) -> std::optional<IntExpr> {
    const ScalarRef start = at.read(offsets, {bag});
    if (const auto* known = std::get_if<Scalar::Index>(&start->node)) return known->expr;
    if (const auto* known = std::get_if<Scalar::Constant>(&start->node)) return known->integer;
    return std::nullopt;
  };
  const auto first = start_of(0), second = start_of(1), third = start_of(2);
  if (!first || !second || !third || *first != IntExpr() || *third != *second + *second)
    return call.unsupported("offsets that are not multiples of one number");
  const IntExpr& length = *second;
  const DType dtype = opmath(weight.type.dtype);
  const bool mean = mode == 1;
  call.set(at.reduce(
      call.type(),
      {.op = mode == 2 ? ReduceOp::kMax : ReduceOp::kSum,
       .accumulator = dtype,
       .extents = {length},
       .body =
           [&](const Index& i, const Index& r) {
             const Index place = {i[0] * length + r[0]};
             const IntExpr row = place_of(at, at.read(indices, place), weight.type.shape[0], false);
             ScalarRef value = cast(dtype, at.read(weight, {row, i.back()}));
             if (call.given("per_sample_weights"))
               value = binary(ScalarOp::kMul, value,
                              cast(dtype, at.read(call.tensor("per_sample_weights"), place)));
             return value;
           },
       .epilogue =
           [&](const Index&, const ScalarRef& sum) {
             return mean ? binary(ScalarOp::kDiv, sum, cast(dtype, at.scalar_of(length))) : sum;
           }}));
}

}  // namespace

void add_indexing(LowerTable& table) {
  table["embedding.default"] = embedding;
  table["index_select.default"] = index_select;
  table["gather.default"] = gather;
  table["take.default"] = take;
  table["index.Tensor"] = table["_unsafe_index.Tensor"] = index;
  table["index_put.default"] = table["_unsafe_index_put.default"] = index_put;
  table["searchsorted.Tensor"] = [](OpCall& call) {
    search(call, call.tensor("sorted_sequence"), call.tensor("self"),
           call.flag("right") || call.text("side") == "right");
  };
  table["bucketize.Tensor"] = [](OpCall& call) {
    search(call, call.tensor("boundaries"), call.tensor("self"), call.flag("right"));
  };
  table["_embedding_bag_forward_only.default"] = table["_embedding_bag.default"] = embedding_bag;
}

}  // namespace kw::writer
