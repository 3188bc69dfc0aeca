// Pooling: reductions over windows of the last dimensions.
#include <cmath>
#include <limits>

#include "writer/loops/lowering.h"

namespace kw::writer {
namespace {

using tensor::DType;

// Of one pooled dimension: places first + step * r for r below extent, those that count being
// within [low, high).
struct Span {
  IntExpr first, step, low, high;
};

// Windows over the last dimensions: their extents, and the span of each at an output index.
struct Windows {
  Shape extents;
  std::function<Span(std::size_t d, const IntExpr& out)> span;
};

struct Element {
  Index index;
  ScalarRef valid;
};

Element element(Lowering& at, const Windows& windows, const Index& i, const Index& r) {
  Element out{i, boolean(true)};
  const std::size_t leading = i.size() - r.size();
  for (std::size_t d = 0; d < r.size(); ++d) {
    const Span span = windows.span(d, i[leading + d]);
    IntExpr& place = out.index[leading + d];
    place = span.first + span.step * r[d];
    out.valid = logical_and(out.valid, at.within(place, span.low, span.high));
  }
  return out;
}

ScalarRef lowest(DType dtype) {
  if (tensor::is_floating(dtype)) return writer::number(dtype, -HUGE_VAL);
  if (dtype == DType::kUInt8 || dtype == DType::kBool) return integer(dtype, 0);
  const auto bits = 8 * tensor::size_of(dtype) - 1;
  return integer(dtype, static_cast<std::int64_t>(~std::uint64_t{0} << bits));
}

void max_pool(OpCall& call, const Tensor& self, const Windows& windows) {
  Lowering& at = call.at;
  const DType dtype = opmath(self.type.dtype);
  const std::size_t spatial = windows.extents.size();
  const auto value = [&](const Index& i, const Index& r) {
    const Element here = element(at, windows, i, r);
    return select(here.valid, cast(dtype, at.read(self, here.index)), lowest(dtype));
  };
  if (call.used(0)) {
    call.set(at.reduce(
        call.type(),
        {.op = ReduceOp::kMax, .accumulator = dtype, .extents = windows.extents, .body = value}));
  }
  if (!call.used(1) || !call.has_rank(self.rank(), 1)) return;
  call.at.part("indices");
  // Row-major over the window becomes row-major over the plane.
  call.set(1,
           at.reduce(call.type(1), {.op = ReduceOp::kArgMax,
                                    .accumulator = dtype,
                                    .extents = windows.extents,
                                    .body = value,
                                    .epilogue = [&](const Index& i, const ScalarRef& best) {
                                      IntExpr rest = at.data_index(best, product(windows.extents));
                                      IntExpr plane, stride = 1;
                                      for (std::size_t d = spatial; d-- > 0;) {
                                        const std::size_t dim = self.rank() - spatial + d;
                                        const Span span = windows.span(d, i[dim]);
                                        const IntExpr tap =
                                            d == 0 ? rest : at.ranges.mod(rest, windows.extents[d]);
                                        rest = at.ranges.floor_div(rest, windows.extents[d]);
                                        plane = plane + (span.first + span.step * tap) * stride;
                                        stride = stride * self.type.shape[dim];
                                      }
                                      return at.scalar_of(plane);
                                    }}));
}

// kernel_size, stride, padding and dilation of a node.
struct Sliding {
  std::vector<IntExpr> kernel, stride, padding, dilation;
};

std::optional<Sliding> sliding(OpCall& call, const Tensor& self, std::size_t spatial,
                               bool dilated) {
  if (self.rank() < spatial || call.type().shape.size() != self.rank()) {
    call.invalid("a tensor of too few dimensions");
    return std::nullopt;
  }
  Sliding out;
  out.kernel = call.sizes_each("kernel_size", spatial, 1);
  out.stride = out.kernel;
  if (!call.sizes("stride").empty()) out.stride = call.sizes_each("stride", spatial, 1);
  out.padding = call.sizes_each("padding", spatial, 0);
  out.dilation.assign(spatial, 1);
  if (dilated) out.dilation = call.sizes_each("dilation", spatial, 1);
  if (call.failed()) return std::nullopt;
  return out;
}

void sliding_max(OpCall& call, std::size_t spatial) {
  const Tensor self = call.tensor("self");
  const auto form = sliding(call, self, spatial, true);
  if (!form) return;
  max_pool(call, self, {form->kernel, [&](std::size_t d, const IntExpr& out) {
                          return Span{out * form->stride[d] - form->padding[d], form->dilation[d],
                                      0, self.type.shape[self.rank() - spatial + d]};
                        }});
}

void average(OpCall& call, const Tensor& self, const Windows& windows,
             const std::function<IntExpr(const Index&)>& divisor) {
  Lowering& at = call.at;
  const DType dtype = opmath(call.type().dtype);
  call.set(at.reduce(
      call.type(), {.op = ReduceOp::kSum,
                    .accumulator = dtype,
                    .extents = windows.extents,
                    .body =
                        [&](const Index& i, const Index& r) {
                          const Element here = element(at, windows, i, r);
                          return select(here.valid, cast(dtype, at.read(self, here.index)),
                                        writer::number(dtype, 0));
                        },
                    .epilogue =
                        [&](const Index& i, const ScalarRef& sum) {
                          return binary(ScalarOp::kDiv, sum, cast(dtype, at.scalar_of(divisor(i))));
                        }}));
}

// What counts of a window: all of it up to the padding's end, or what lies in the tensor.
void sliding_average(OpCall& call, std::size_t spatial) {
  Lowering& at = call.at;
  const Tensor self = call.tensor("self");
  const auto form = sliding(call, self, spatial, false);
  if (!form) return;
  const bool with_padding = call.flag("count_include_pad");
  const std::size_t leading = self.rank() - spatial;
  const auto extent = [&](std::size_t d) { return self.type.shape[leading + d]; };
  const auto divisor = [&](const Index& i) {
    if (call.given("divisor_override")) return call.size("divisor_override");
    IntExpr out = 1;
    for (std::size_t d = 0; d < spatial; ++d) {
      const IntExpr start = i[leading + d] * form->stride[d] - form->padding[d];
      const IntExpr end = at.ranges.min(start + form->kernel[d], extent(d) + form->padding[d]);
      out = out *
            (with_padding ? end - start : at.ranges.min(end, extent(d)) - at.ranges.max(start, 0));
    }
    return out;
  };
  average(call, self,
          {form->kernel,
           [&](std::size_t d, const IntExpr& out) {
             return Span{out * form->stride[d] - form->padding[d], 1, 0, extent(d)};
           }},
          divisor);
}

// From floor(out * in / outs) to ceil((out + 1) * in / outs).
struct Adaptive {
  Windows windows;
  std::function<IntExpr(const Index&)> count;
};

std::optional<Adaptive> adaptive(OpCall& call, const Tensor& self, std::size_t spatial) {
  Lowering& at = call.at;
  if (self.rank() < spatial || call.type().shape.size() != self.rank()) {
    call.invalid("a tensor of too few dimensions");
    return std::nullopt;
  }
  const std::size_t leading = self.rank() - spatial;
  Adaptive out;
  const Shape ins = self.type.shape, outs = call.type().shape;
  for (std::size_t d = leading; d < ins.size(); ++d) {
    const bool even = at.ranges.mod(ins[d], outs[d]) == IntExpr();
    out.windows.extents.push_back(even ? at.ranges.floor_div(ins[d], outs[d])
                                       : at.ranges.floor_div(ins[d] + outs[d] - 1, outs[d]) + 1);
  }
  out.windows.span = [=, &at](std::size_t d, const IntExpr& place) {
    const IntExpr &in = ins[leading + d], &n = outs[leading + d];
    const IntExpr start = at.ranges.floor_div(place * in, n);
    return Span{start, 1, start, at.ranges.floor_div(place * in + in + n - 1, n)};
  };
  out.count = [=, span = out.windows.span](const Index& i) {
    IntExpr count = 1;
    for (std::size_t d = 0; d < spatial; ++d) {
      const Span each = span(d, i[leading + d]);
      count = count * (each.high - each.low);
    }
    return count;
  };
  return out;
}

}  // namespace

void add_pooling(LowerTable& table) {
  for (std::size_t spatial = 1; spatial <= 3; ++spatial) {
    const LowerFunction largest = [spatial](OpCall& call) { sliding_max(call, spatial); };
    table[fmt::format("max_pool{}d.default", spatial)] = largest;
    table[fmt::format("max_pool{}d_with_indices.default", spatial)] = largest;
    table[fmt::format("avg_pool{}d.default", spatial)] = [spatial](OpCall& call) {
      sliding_average(call, spatial);
    };
    const LowerFunction adaptive_average = [spatial](OpCall& call) {
      const Tensor self = call.tensor("self");
      if (const auto form = adaptive(call, self, spatial))
        average(call, self, form->windows, form->count);
    };
    table[fmt::format("_adaptive_avg_pool{}d.default", spatial)] = adaptive_average;
    table[fmt::format("adaptive_avg_pool{}d.default", spatial)] = adaptive_average;
    table[fmt::format("adaptive_max_pool{}d.default", spatial)] = [spatial](OpCall& call) {
      const Tensor self = call.tensor("self");
      if (const auto form = adaptive(call, self, spatial)) max_pool(call, self, form->windows);
    };
  }
}

}  // namespace kw::writer
