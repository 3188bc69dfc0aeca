// Sorts along one dimension, and what is read off a sorted tensor.
#include "writer/loops/lowering.h"

namespace kw::writer {
namespace {

using tensor::DType;

// Sorts along `dim`, brought to the end and back.
std::optional<Lowering::Sorted> sorted(OpCall& call, std::size_t dim, bool descending,
                                       const std::optional<IntExpr>& first) {
  const Tensor self = call.tensor("self");
  if (call.failed()) return std::nullopt;
  if (self.rank() == 0) {
    call.unsupported("a tensor without dimensions");
    return std::nullopt;
  }
  std::vector<std::size_t> order, back(self.rank());
  for (std::size_t d = 0; d < self.rank(); ++d) {
    if (d != dim) order.push_back(d);
  }
  order.push_back(dim);
  for (std::size_t d = 0; d < order.size(); ++d) back[order[d]] = d;
  const Lowering::Sorted out = call.at.sort(permuted(self, order), descending, first);
  return Lowering::Sorted{permuted(out.values, back), permuted(out.indices, back)};
}

void sort(OpCall& call) {
  const std::size_t dim = call.dim("dim", call.tensor("self").rank());
  const auto out = sorted(call, dim, call.flag("descending"), std::nullopt);
  if (!out) return;
  if (call.op() == "argsort.default" || call.op() == "argsort.stable")
    return call.set(out->indices);
  call.set(0, out->values);
  call.set(1, out->indices);
}

void topk(OpCall& call) {
  const std::size_t dim = call.dim("dim", call.tensor("self").rank());
  const auto out = sorted(call, dim, call.flag("largest"), call.size("k"));
  if (!out) return;
  call.set(0, out->values);
  call.set(1, out->indices);
}

// The place-th of the sorted elements.
void nth(OpCall& call, const std::function<IntExpr(const IntExpr& size)>& place) {
  const Tensor self = call.tensor("self");
  const std::size_t dim = call.dim("dim", self.rank());
  const auto out = sorted(call, dim, false, std::nullopt);
  if (!out) return;
  const IntExpr which = place(self.type.shape[dim]);
  const bool keep = call.flag("keepdim");
  if (!call.has_rank(self.rank() - (keep ? 0 : 1))) return;
  const auto read = [&](const Tensor& from) {
    return Tensor{{from.type.dtype, call.type().shape}, [=, &at = call.at](const Index& i) {
                    Index mine = i;
                    if (keep)
                      mine[dim] = which;
                    else
                      mine.insert(mine.begin() + static_cast<std::ptrdiff_t>(dim), which);
                    return at.read(from, mine);
                  }};
  };
  call.set(0, read(out->values));
  call.set(1, read(out->indices));
}

void median(OpCall& call) {
  const Tensor self = call.tensor("self");
  if (!call.has_rank(0)) return;
  const IntExpr count = product(self.type.shape);
  const Tensor sorted = call.at.sort(reshaped(call.at, self, {count}), false, std::nullopt).values;
  const IntExpr middle = call.at.ranges.floor_div(count - 1, 2);
  call.set({call.type(), [=, &at = call.at](const Index&) { return at.read(sorted, {middle}); }});
}

}  // namespace

void add_sorting(LowerTable& table) {
  for (const char* name : {"sort.default", "sort.stable", "argsort.default", "argsort.stable"})
    table[name] = sort;
  table["topk.default"] = topk;
  table["kthvalue.default"] = [](OpCall& call) {
    const IntExpr k = call.size("k");
    nth(call, [&](const IntExpr&) { return k - 1; });
  };
  table["median.dim"] = [](OpCall& call) {
    nth(call, [&](const IntExpr& size) { return call.at.ranges.floor_div(size - 1, 2); });
  };
  table["median.default"] = median;
}

}  // namespace kw::writer
