// Several tensors, or one and its surroundings, read as one: concatenation, padding, a tensor with
// a part of it replaced.
#include "writer/loops/lowering.h"

namespace kw::writer {
namespace {

using tensor::DType;

// The pieces one after the other along `dim`.
Tensor joined(Lowering& at, const std::vector<Tensor>& pieces, std::size_t dim, DType dtype,
              const Shape& shape) {
  return {{dtype, shape}, [=, &at](const Index& index) {
            std::vector<IntExpr> starts;
            IntExpr start;
            for (const Tensor& piece : pieces) {
              starts.push_back(start);
              start = start + piece.type.shape[dim];
            }
            const std::function<ScalarRef(std::size_t, std::size_t)> choose =
                [&](std::size_t first, std::size_t last) {
                  if (last - first > 1) {
                    const std::size_t middle = (first + last) / 2;
                    return select(at.less(index[dim], starts[middle]), choose(first, middle),
                                  choose(middle, last));
                  }
                  Index mine = index;
                  mine[dim] = mine[dim] - starts[first];
                  return cast(dtype, at.read(pieces[first], mine));
                };
            return choose(0, pieces.size());
          }};
}

void cat(OpCall& call) {
  std::vector<Tensor> pieces;
  std::size_t rank = call.type().shape.size();
  for (Tensor& piece : call.tensors("tensors")) {
    // torch lets an empty vector join anything.
    if (piece.type.shape == Shape{0} && rank != 1) continue;
    if (piece.rank() != rank) return call.invalid("tensors of different ranks");
    pieces.push_back(std::move(piece));
  }
  const std::size_t dim = call.dim("dim", rank);
  if (pieces.empty() || rank == 0) return call.invalid("nothing to join");
  if (call.failed()) return;
  call.set(joined(call.at, pieces, dim, call.type().dtype, call.type().shape));
}

void stack(OpCall& call) {
  const std::size_t rank = call.type().shape.size();
  const std::size_t dim = call.dim("dim", rank);
  std::vector<Tensor> pieces;
  for (const Tensor& piece : call.tensors("tensors")) {
    if (piece.rank() + 1 != rank) return call.invalid("tensors of different ranks");
    pieces.push_back(unsqueezed(piece, dim));
  }
  if (pieces.empty()) return call.invalid("nothing to join");
  if (call.failed()) return;
  call.set(joined(call.at, pieces, dim, call.type().dtype, call.type().shape));
}

// Pairs (before, after) of the last dimensions, last first.
struct Padded {
  std::size_t dim;
  IntExpr before, after;
};

std::vector<Padded> padding_of(OpCall& call, const char* name, std::size_t rank) {
  const auto pairs = call.sizes(name);
  std::vector<Padded> out;
  if (pairs.size() % 2 != 0 || pairs.size() / 2 > rank) {
    call.invalid(fmt::format("{} does not fit {} dimensions", name, rank));
    return out;
  }
  for (std::size_t i = 0; i < pairs.size(); i += 2)
    out.push_back({rank - 1 - i / 2, pairs[i], pairs[i + 1]});
  return out;
}

void constant_pad(OpCall& call) {
  const Tensor self = call.tensor("self");
  const auto padding = padding_of(call, "pad", self.rank());
  const ScalarRef value = call.scalar("value", self.type.dtype);
  if (!call.has_rank(self.rank())) return;
  call.set({{self.type.dtype, call.type().shape}, [=, &at = call.at](const Index& index) {
              Index mine = index;
              ScalarRef inside = boolean(true);
              for (const Padded& each : padding) {
                mine[each.dim] = mine[each.dim] - each.before;
                inside =
                    logical_and(inside, at.within(mine[each.dim], 0, self.type.shape[each.dim]));
              }
              return select(inside, at.read(self, mine), value);
            }});
}

void replicate(OpCall& call) {
  const Tensor self = call.tensor("self");
  const auto padding = padding_of(call, "padding", self.rank());
  if (!call.has_rank(self.rank())) return;
  call.set({{self.type.dtype, call.type().shape}, [=, &at = call.at](const Index& index) {
              Index mine = index;
              for (const Padded& each : padding)
                mine[each.dim] = at.ranges.min(at.ranges.max(mine[each.dim] - each.before, 0),
                                               self.type.shape[each.dim] - 1);
              return at.read(self, mine);
            }});
}

// |i| before the start, 2 * (n - 1) - i after the end: n - 1 - |n - 1 - |i||.
void reflect(OpCall& call) {
  const Tensor self = call.tensor("self");
  const auto padding = padding_of(call, "padding", self.rank());
  if (!call.has_rank(self.rank())) return;
  call.set({{self.type.dtype, call.type().shape}, [=, &at = call.at](const Index& index) {
              const auto magnitude = [&](const IntExpr& x) {
                return at.ranges.max(x, IntExpr() - x);
              };
              Index mine = index;
              for (const Padded& each : padding) {
                const IntExpr last = self.type.shape[each.dim] - 1;
                mine[each.dim] = last - magnitude(last - magnitude(mine[each.dim] - each.before));
              }
              return at.read(self, mine);
            }});
}

// torch.nn.functional.unfold: [B, C * taps, places] of windows over [B, C, H, W].
void windows_as_columns(OpCall& call) {
  const Tensor self = call.tensor("self");
  const auto kernel = call.sizes_each("kernel_size", 2, 1),
             stride = call.sizes_each("stride", 2, 1), padding = call.sizes_each("padding", 2, 0),
             dilation = call.sizes_each("dilation", 2, 1);
  if (self.rank() != 4) return call.unsupported("a tensor without four dimensions");
  if (!call.has_rank(3)) return;
  const IntRanges& ranges = call.at.ranges;
  const IntExpr across = ranges.floor_div(self.type.shape[3] + padding[1] * IntExpr(2) -
                                              dilation[1] * (kernel[1] - 1) - 1,
                                          stride[1]) +
                         1;
  call.set(
      {{self.type.dtype, call.type().shape}, [=, &at = call.at](const Index& index) {
         const auto div = [&](const IntExpr& a, const IntExpr& b) {
           return at.ranges.floor_div(a, b);
         };
         const auto mod = [&](const IntExpr& a, const IntExpr& b) { return at.ranges.mod(a, b); };
         const IntExpr tap = mod(index[1], kernel[0] * kernel[1]);
         const IntExpr row =
             div(index[2], across) * stride[0] - padding[0] + div(tap, kernel[1]) * dilation[0];
         const IntExpr column =
             mod(index[2], across) * stride[1] - padding[1] + mod(tap, kernel[1]) * dilation[1];
         const ScalarRef inside = logical_and(at.within(row, 0, self.type.shape[2]),
                                              at.within(column, 0, self.type.shape[3]));
         return select(inside,
                       at.read(self, {index[0], div(index[1], kernel[0] * kernel[1]), row, column}),
                       writer::number(self.type.dtype, 0));
       }});
}

void slice_scatter(OpCall& call) {
  const Tensor self = call.tensor("self"), source = call.tensor("src");
  const std::size_t dim = call.dim("dim", self.rank());
  const IntExpr step = call.size("step");
  IntExpr start = call.given("start") ? call.size("start") : IntExpr();
  if (call.failed() || self.rank() == 0 || source.rank() != self.rank())
    return call.invalid("src does not fit");
  if (call.at.ranges.less(start, 0))
    start = start + self.type.shape[dim];
  else if (!call.at.ranges.nonnegative(start))
    return call.unsupported("start of unknown sign");
  call.set({self.type, [=, &at = call.at](const Index& index) {
              Index mine = index;
              const IntExpr from_start = index[dim] - start;
              mine[dim] = at.ranges.floor_div(from_start, step);
              ScalarRef inside = at.within(from_start, 0, source.type.shape[dim] * step);
              const IntExpr off = at.ranges.mod(from_start, step);
              if (off != IntExpr())
                inside = logical_and(
                    inside, binary(ScalarOp::kEqual, at.scalar_of(off), integer(DType::kInt64, 0)));
              return select(inside, cast(self.type.dtype, at.read(source, mine)),
                            at.read(self, index));
            }});
}

void select_scatter(OpCall& call) {
  const Tensor self = call.tensor("self"), source = call.tensor("src");
  const std::size_t dim = call.dim("dim", self.rank());
  IntExpr place = call.size("index");
  if (call.failed() || source.rank() + 1 != self.rank()) return call.invalid("src does not fit");
  if (call.at.ranges.less(place, 0)) place = place + self.type.shape[dim];
  call.set({self.type, [=, &at = call.at](const Index& index) {
              Index mine = index;
              mine.erase(mine.begin() + static_cast<std::ptrdiff_t>(dim));
              return select(binary(ScalarOp::kEqual, at.scalar_of(index[dim]), at.scalar_of(place)),
                            cast(self.type.dtype, at.read(source, mine)), at.read(self, index));
            }});
}

// What copy_(self, src) leaves in self.
void copied(OpCall& call) {
  const Tensor source = call.tensor("src");
  const DType dtype = call.type().dtype;
  const Rule rule = call.operand(source, call.type().shape, dtype);
  if (source.type.dtype == dtype) return call.set({call.type(), rule});
  call.map(rule);
}

}  // namespace

void add_joins(LowerTable& table) {
  table["cat.default"] = cat;
  table["stack.default"] = stack;
  table["constant_pad_nd.default"] = constant_pad;
  for (const char* name : {"replication_pad1d", "replication_pad2d", "replication_pad3d"})
    table[std::string(name) + ".default"] = replicate;
  for (const char* name : {"reflection_pad1d", "reflection_pad2d", "reflection_pad3d"})
    table[std::string(name) + ".default"] = reflect;
  table["im2col.default"] = windows_as_columns;
  table["slice_scatter.default"] = slice_scatter;
  table["select_scatter.default"] = select_scatter;
  table["copy.default"] = copied;
}

}  // namespace kw::writer
