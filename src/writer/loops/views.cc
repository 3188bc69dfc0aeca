// Views of one tensor: index arithmetic.
#include <algorithm>

#include "writer/loops/lowering.h"

namespace kw::writer {
namespace {

using tensor::DType;

// Dimensions [in_first, in_last) of the viewed tensor hold what [first, last) of the view do.
struct Group {
  std::size_t in_first, in_last, first, last;
};

std::vector<Group> matching_groups(const Shape& in, const Shape& out) {
  std::vector<Group> groups;
  std::size_t i = 0, j = 0;
  while (i < in.size() && j < out.size()) {
    Group group{i, in.size(), j, out.size()};
    const std::size_t most = in.size() - i + out.size() - j;
    bool found = false;
    for (std::size_t total = 2; total <= most && !found; ++total) {
      for (std::size_t k = 1; k < total && !found; ++k) {
        if (i + k > in.size() || total - k > out.size() - j) continue;
        if (product(in, i, i + k) == product(out, j, j + total - k)) {
          group.in_last = i + k;
          group.last = j + total - k;
          found = true;
        }
      }
    }
    groups.push_back(group);
    i = group.in_last;
    j = group.last;
  }
  return groups;
}

Index through_groups(const IntRanges& ranges, const std::vector<Group>& groups, const Shape& in,
                     const Shape& out, const Index& index) {
  Index mine(in.size());
  for (const Group& group : groups) {
    if (group.last - group.first == 1 && group.in_last - group.in_first == 1) {
      mine[group.in_first] = index[group.first];
      continue;
    }
    IntExpr place;
    for (std::size_t d = group.first; d < group.last; ++d) place = place * out[d] + index[d];
    for (std::size_t d = group.in_last; d-- > group.in_first;) {
      if (in[d].constant() == 1) continue;
      if (product(in, group.in_first, d) == IntExpr(1)) {
        mine[d] = place;
        break;
      }
      mine[d] = ranges.mod(place, in[d]);
      place = ranges.floor_div(place, in[d]);
    }
  }
  return mine;
}

void view(OpCall& call, const Shape& shape) {
  const Tensor self = call.tensor("self");
  call.set(reshaped(call.at, self, shape));
}

void view_of_type(OpCall& call) {
  view(call, call.type().shape);
}

void same(OpCall& call) {
  call.set(call.tensor(call.node().arguments.empty() ? "" : call.node().arguments.front().first));
}

void expand(OpCall& call) {
  const Tensor self = call.tensor("self");
  call.set({{self.type.dtype, call.type().shape},
            call.operand(self, call.type().shape, self.type.dtype)});
}

void transpose(OpCall& call, std::size_t a, std::size_t b) {
  const Tensor self = call.tensor("self");
  std::vector<std::size_t> order(self.rank());
  for (std::size_t d = 0; d < order.size(); ++d) order[d] = d;
  if (a < order.size() && b < order.size()) std::swap(order[a], order[b]);
  call.set(permuted(self, order));
}

void permute(OpCall& call) {
  const Tensor self = call.tensor("self");
  std::vector<std::size_t> order;
  std::vector<bool> seen(self.rank());
  for (const IntExpr& each : call.sizes("dims")) {
    const std::size_t dim = call.dim_of(each.constant().value_or(0), self.rank());
    if (dim >= seen.size() || seen[dim]) return call.invalid("dims is no permutation");
    seen[dim] = true;
    order.push_back(dim);
  }
  if (order.size() != self.rank()) return call.invalid("dims is no permutation");
  call.set(permuted(self, order));
}

// A place counted from the end where it is negative; nullopt: nobody knows.
std::optional<IntExpr> wrapped(const IntRanges& ranges, const IntExpr& place, const IntExpr& size) {
  if (ranges.nonnegative(place)) return place;
  if (ranges.less(place, 0)) return ranges.max(place + size, 0);
  return std::nullopt;
}

// in[.., start + step * i, ..]
Tensor sliced(const Tensor& in, std::size_t dim, const IntExpr& start, const IntExpr& step,
              const IntExpr& extent) {
  Tensor out = in;
  out.buffer.reset();
  out.flip.reset();
  out.type.shape[dim] = extent;
  out.rule = [in, dim, start, step](const Index& index) {
    Index mine = index;
    mine[dim] = start + step * mine[dim];
    return in.rule(mine);
  };
  return out;
}

Tensor selected(const Tensor& in, std::size_t dim, const IntExpr& place) {
  Tensor out = in;
  out.buffer.reset();
  out.flip.reset();
  out.type.shape.erase(out.type.shape.begin() + static_cast<std::ptrdiff_t>(dim));
  out.rule = [in, dim, place](const Index& index) {
    Index mine = index;
    mine.insert(mine.begin() + static_cast<std::ptrdiff_t>(dim), place);
    return in.rule(mine);
  };
  return out;
}

// The dimension that a view is about; nullopt: there is none, and the call has failed.
std::optional<std::size_t> dim_of(OpCall& call, const Tensor& self) {
  const std::size_t dim = call.dim("dim", self.rank());
  if (self.rank() == 0) call.invalid("a tensor without dimensions");
  if (call.failed()) return std::nullopt;
  return dim;
}

void slice(OpCall& call) {
  const Tensor self = call.tensor("self");
  const auto dim = dim_of(call, self);
  if (!dim) return;
  const IntExpr start = call.given("start") ? call.size("start") : IntExpr();
  const auto first = wrapped(call.at.ranges, start, self.type.shape[*dim]);
  if (!first) return call.unsupported("start of unknown sign");
  const IntExpr step = call.given("step") ? call.size("step") : IntExpr(1);
  const IntExpr extent =
      call.type().shape.size() == self.rank() ? call.type().shape[*dim] : IntExpr(1);
  if (first == IntExpr() && step == IntExpr(1) && extent == self.type.shape[*dim])
    return call.set(self);
  call.set(sliced(self, *dim, *first, step, extent));
}

void narrow(OpCall& call) {
  const Tensor self = call.tensor("self");
  const auto dim = dim_of(call, self);
  if (!dim) return;
  const auto first = wrapped(call.at.ranges, call.size("start"), self.type.shape[*dim]);
  if (!first) return call.unsupported("start of unknown sign");
  call.set(sliced(self, *dim, *first, 1, call.size("length")));
}

void select_one(OpCall& call) {
  const Tensor self = call.tensor("self");
  const auto dim = dim_of(call, self);
  if (!dim) return;
  const auto place = wrapped(call.at.ranges, call.size("index"), self.type.shape[*dim]);
  if (!place) return call.unsupported("index of unknown sign");
  call.set(selected(self, *dim, *place));
}

void split(OpCall& call,
           const std::function<IntExpr(const IntExpr& size, std::size_t part)>& start) {
  const Tensor self = call.tensor("self");
  const auto dim = dim_of(call, self);
  if (!dim) return;
  for (std::size_t i = 0; i < call.outputs(); ++i) {
    if (!call.used(i) || call.type(i).shape.size() != self.rank()) continue;
    call.set(i, sliced(self, *dim, start(self.type.shape[*dim], i), 1, call.type(i).shape[*dim]));
  }
}

void split_even(OpCall& call) {
  const IntExpr part = call.size("split_size");
  split(call, [&](const IntExpr&, std::size_t i) {
    return part * IntExpr(static_cast<std::int64_t>(i));
  });
}

void split_sizes(OpCall& call) {
  const auto parts = call.sizes("split_sizes");
  split(call, [&](const IntExpr&, std::size_t i) {
    return [&] {
      IntExpr sum;
      for (std::size_t k = 0; k < std::min(i, parts.size()); ++k) sum = sum + parts[k];
      return sum;
    }();
  });
}

void chunk(OpCall& call) {
  const IntExpr chunks = call.size("chunks");
  split(call, [&](const IntExpr& size, std::size_t i) {
    return call.at.ranges.floor_div(size + chunks - 1, chunks) *
           IntExpr(static_cast<std::int64_t>(i));
  });
}

void unbind(OpCall& call) {
  const Tensor self = call.tensor("self");
  const auto dim = dim_of(call, self);
  if (!dim) return;
  for (std::size_t i = 0; i < call.outputs(); ++i) {
    if (call.used(i)) call.set(i, selected(self, *dim, static_cast<std::int64_t>(i)));
  }
}

void diagonal(OpCall& call) {
  const Tensor self = call.tensor("self");
  const IntExpr offset = call.size("offset");
  const std::size_t a = call.dim("dim1", self.rank()), b = call.dim("dim2", self.rank());
  if (call.failed()) return;
  if (self.rank() < 2 || a == b) return call.invalid("dim1 and dim2 are one");
  const auto below = call.at.ranges.nonnegative(offset)     ? std::optional<bool>(false)
                     : call.at.ranges.less_equal(offset, 0) ? std::optional<bool>(true)
                                                            : std::nullopt;
  if (!below) return call.unsupported("offset of unknown sign");
  if (!call.has_rank(self.rank() - 1)) return;
  call.set({{self.type.dtype, call.type().shape}, [=](const Index& index) {
              Index mine(self.rank());
              std::size_t from = 0;
              for (std::size_t d = 0; d < mine.size(); ++d) {
                if (d != a && d != b) mine[d] = index[from++];
              }
              mine[a] = *below ? index.back() - offset : index.back();
              mine[b] = *below ? index.back() : index.back() + offset;
              return self.rule(mine);
            }});
}

void flip(OpCall& call) {
  const Tensor self = call.tensor("self");
  const auto dims =
      call.sizes("dims").empty() ? std::vector<std::size_t>{} : call.dims("dims", self.rank());
  if (!call.failed()) call.set(flipped(self, dims));
}

void roll(OpCall& call) {
  const Tensor self = call.tensor("self");
  const auto shifts = call.sizes("shifts");
  const bool flat = call.sizes("dims").empty();
  const Tensor in = flat ? reshaped(call.at, self, {product(self.type.shape)}) : self;
  std::vector<std::pair<std::size_t, IntExpr>> moves;
  const auto dims = flat ? std::vector<IntExpr>{0} : call.sizes("dims");
  if (dims.size() != shifts.size()) return call.invalid("as many shifts as dims are needed");
  for (std::size_t i = 0; i < dims.size(); ++i) {
    const std::size_t dim = call.dim_of(dims[i].constant().value_or(0), in.rank());
    if (call.failed() || in.rank() == 0) return;
    moves.emplace_back(dim, shifts[i]);
  }
  const Tensor out{in.type, [in, moves, &at = call.at](const Index& index) {
                     Index mine = index;
                     for (const auto& [dim, shift] : moves) {
                       const IntExpr& size = in.type.shape[dim];
                       // How far the first element has moved, below the size.
                       const IntExpr moved = at.ranges.mod(shift, size);
                       mine[dim] = at.ranges.mod(mine[dim] + size - moved, size);
                     }
                     return in.rule(mine);
                   }};
  call.set(flat ? reshaped(call.at, out, self.type.shape) : out);
}

void repeat(OpCall& call) {
  const Tensor self = call.tensor("self");
  const Shape& shape = call.type().shape;
  if (shape.size() < self.rank()) return call.invalid("fewer repeats than dimensions");
  const std::size_t skipped = shape.size() - self.rank();
  call.set({{self.type.dtype, shape}, [self, skipped, &at = call.at](const Index& index) {
              Index mine;
              for (std::size_t d = 0; d < self.rank(); ++d)
                mine.push_back(at.ranges.mod(index[skipped + d], self.type.shape[d]));
              return self.rule(mine);
            }});
}

void triangle(OpCall& call, bool lower) {
  const Tensor self = call.tensor("self");
  const IntExpr diagonal = call.size("diagonal");
  if (self.rank() < 2) return call.invalid("a tensor of less than two dimensions");
  call.set({self.type, [=, &at = call.at](const Index& index) {
              const IntExpr &row = index[index.size() - 2], &column = index.back();
              const ScalarRef inside =
                  lower ? at.less(column, row + diagonal + 1) : at.less(row + diagonal, column + 1);
              return select(inside, self.rule(index), writer::number(self.type.dtype, 0));
            }});
}

void unfold(OpCall& call) {
  const Tensor self = call.tensor("self");
  const std::size_t dim = call.dim("dimension", self.rank());
  const IntExpr step = call.size("step");
  if (self.rank() == 0) return call.invalid("a tensor without dimensions");
  if (!call.has_rank(self.rank() + 1)) return;
  call.set({{self.type.dtype, call.type().shape}, [=](const Index& index) {
              Index mine(index.begin(), index.end() - 1);
              mine[dim] = mine[dim] * step + index.back();
              return self.rule(mine);
            }});
}

void as_strided(OpCall& call) {
  const Tensor self = call.tensor("self");
  if (!self.buffer) return call.unsupported("a tensor that is a view");
  const auto strides = call.sizes("stride");
  const IntExpr offset = call.given("storage_offset") ? call.size("storage_offset") : IntExpr();
  if (strides.size() != call.type().shape.size()) return call.invalid("stride does not fit");
  const Tensor flat = reshaped(call.at, self, {product(self.type.shape)});
  call.set({{self.type.dtype, call.type().shape}, [=](const Index& index) {
              IntExpr place = offset;
              for (std::size_t d = 0; d < index.size(); ++d) place = place + index[d] * strides[d];
              return flat.rule({place});
            }});
}

void pixel_shuffle(OpCall& call) {
  const Tensor self = call.tensor("self");
  const IntExpr factor = call.size("upscale_factor");
  if (self.rank() < 3) return call.invalid("a tensor of less than three dimensions");
  if (!call.has_rank(self.rank())) return;
  call.set({{self.type.dtype, call.type().shape}, [=, &at = call.at](const Index& index) {
              Index mine = index;
              IntExpr *channel = &mine[mine.size() - 3], *row = &mine[mine.size() - 2];
              IntExpr* column = &mine.back();
              *channel = *channel * factor * factor + at.ranges.mod(*row, factor) * factor +
                         at.ranges.mod(*column, factor);
              *row = at.ranges.floor_div(*row, factor);
              *column = at.ranges.floor_div(*column, factor);
              return self.rule(mine);
            }});
}

void pixel_unshuffle(OpCall& call) {
  const Tensor self = call.tensor("self");
  const IntExpr factor = call.size("downscale_factor");
  if (self.rank() < 3) return call.invalid("a tensor of less than three dimensions");
  if (!call.has_rank(self.rank())) return;
  call.set({{self.type.dtype, call.type().shape}, [=, &at = call.at](const Index& index) {
              Index mine = index;
              const IntExpr& channel = index[index.size() - 3];
              mine[mine.size() - 3] = at.ranges.floor_div(channel, factor * factor);
              mine[mine.size() - 2] = mine[mine.size() - 2] * factor +
                                      at.ranges.mod(at.ranges.floor_div(channel, factor), factor);
              mine.back() = mine.back() * factor + at.ranges.mod(channel, factor);
              return self.rule(mine);
            }});
}

}  // namespace

Tensor reshaped(Lowering& at, const Tensor& in, const Shape& shape) {
  const auto groups = matching_groups(in.type.shape, shape);
  if (shape == in.type.shape) return in;
  Tensor out = in;
  out.type.shape = shape;
  out.flip.reset();
  out.rule = [in, shape, groups, &at](const Index& index) {
    return in.rule(through_groups(at.ranges, groups, in.type.shape, shape, index));
  };
  return out;
}

Tensor permuted(const Tensor& in, const std::vector<std::size_t>& order) {
  bool sorted = true;
  for (std::size_t d = 0; d < order.size(); ++d) sorted = sorted && order[d] == d;
  if (sorted) return in;
  Tensor out = in;
  out.buffer.reset();
  out.flip.reset();
  for (std::size_t d = 0; d < order.size(); ++d) out.type.shape[d] = in.type.shape[order[d]];
  out.rule = [in, order](const Index& index) {
    Index mine(index.size());
    for (std::size_t d = 0; d < order.size(); ++d) mine[order[d]] = index[d];
    return in.rule(mine);
  };
  return out;
}

Tensor flipped(const Tensor& in, const std::vector<std::size_t>& dims) {
  if (dims.empty()) return in;
  if (in.flip && in.flip->dims == dims) return in.flip->of;
  return {in.type,
          [in, dims](const Index& index) {
            Index mine = index;
            for (std::size_t d : dims) mine[d] = in.type.shape[d] - 1 - mine[d];
            return in.rule(mine);
          },
          std::nullopt, false, std::make_shared<const Flip>(in, dims)};
}

Tensor unsqueezed(const Tensor& in, std::size_t dim) {
  Tensor out = in;
  out.flip.reset();
  const auto place = static_cast<std::ptrdiff_t>(dim);
  out.type.shape.insert(out.type.shape.begin() + place, 1);
  out.rule = [in, place](const Index& index) {
    Index mine = index;
    mine.erase(mine.begin() + place);
    return in.rule(mine);
  };
  return out;
}

void add_views(LowerTable& table) {
  const auto add = [&](const std::string& name, const std::string& overload,
                       const LowerFunction& function) {
    table[name + "." + overload] = function;
    table[name + "_copy." + overload] = function;  // what functionalisation makes of it
  };
  for (const char* name :
       {"view", "_unsafe_view", "reshape", "squeeze", "unsqueeze", "_reshape_alias"})
    add(name, "default", view_of_type);
  add("squeeze", "dim", view_of_type);
  add("squeeze", "dims", view_of_type);
  add("flatten", "using_ints", view_of_type);
  add("unflatten", "int", view_of_type);
  for (const char* name :
       {"clone", "contiguous", "detach", "alias", "lift_fresh", "lift_fresh_copy", "lift",
        "positive", "resolve_conj", "resolve_neg", "_conj", "dropout"})
    add(name, "default", same);
  add("expand", "default", expand);
  table["expand_as.default"] = expand;
  add("t", "default", [](OpCall& call) { transpose(call, 0, 1); });
  for (const char* name : {"transpose", "swapaxes"})
    add(name, "int", [](OpCall& call) {
      const std::size_t rank = call.tensor("self").rank();
      transpose(call, call.dim("dim0", rank), call.dim("dim1", rank));
    });
  add("permute", "default", permute);
  add("slice", "Tensor", slice);
  add("narrow", "default", narrow);
  add("select", "int", select_one);
  add("split", "Tensor", split_even);
  add("split_with_sizes", "default", split_sizes);
  table["unsafe_split.Tensor"] = split_even;
  table["unsafe_split_with_sizes.default"] = split_sizes;
  add("chunk", "default", chunk);
  add("unbind", "int", unbind);
  add("diagonal", "default", diagonal);
  table["flip.default"] = flip;
  table["roll.default"] = roll;
  table["repeat.default"] = repeat;
  table["tril.default"] = [](OpCall& call) { triangle(call, true); };
  table["triu.default"] = [](OpCall& call) { triangle(call, false); };
  add("unfold", "default", unfold);
  add("as_strided", "default", as_strided);
  table["pixel_shuffle.default"] = pixel_shuffle;
  table["pixel_unshuffle.default"] = pixel_unshuffle;
}

}  // namespace kw::writer
