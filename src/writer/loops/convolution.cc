// Convolutions of 1 to 3 dimensions, and their transposes, as sums over channels and the window.
#include "writer/loops/lowering.h"

namespace kw::writer {
namespace {

using tensor::DType;

struct Window {
  std::vector<IntExpr> stride, padding, dilation;
};

struct Operands {
  const Tensor &input, &weight;
};

struct Channels {
  IntExpr group;                // of the output channel
  IntExpr in_group, out_group;  // input and output channels a group
};

// One place of the window: where it reads the input, the weight's index, and whether it may.
struct Tap {
  Index input, weight;
  ScalarRef valid;
};

Tap forward_tap(Lowering& at, const Operands& of, const Window& window, const Channels& channels,
                const Index& i, const Index& r) {
  Tap out{{i[0], channels.group * channels.in_group + r[0]}, {i[1], r[0]}, boolean(true)};
  for (std::size_t d = 0; d < window.stride.size(); ++d) {
    const IntExpr place =
        i[2 + d] * window.stride[d] - window.padding[d] + r[1 + d] * window.dilation[d];
    out.valid = logical_and(out.valid, at.within(place, 0, of.input.type.shape[2 + d]));
    out.input.push_back(place);
    out.weight.push_back(r[1 + d]);
  }
  return out;
}

// place = input * stride - padding + tap * dilation. With a dilation of 1 only every stride-th tap
// meets an input: r counts those, from the tap (place + padding) % stride on.
Tap transposed_tap(Lowering& at, const Operands& of, const Window& window, const Channels& channels,
                   const Index& i, const Index& r) {
  const IntExpr in_channel = channels.group * channels.in_group + r[0];
  Tap out{
      {i[0], in_channel}, {in_channel, i[1] - channels.group * channels.out_group}, boolean(true)};
  for (std::size_t d = 0; d < window.stride.size(); ++d) {
    const IntExpr &stride = window.stride[d], &taps = of.weight.type.shape[2 + d];
    const IntExpr place = i[2 + d] + window.padding[d];
    IntExpr tap = r[1 + d], source;
    if (window.dilation[d] == IntExpr(1)) {
      tap = at.ranges.mod(place, stride) + stride * r[1 + d];
      source = at.ranges.floor_div(place, stride) - r[1 + d];
      out.valid = logical_and(out.valid, at.less(tap, taps));
    } else {
      // The multiple of the stride keeps the dividend from being negative.
      const IntExpr lift = window.dilation[d] * (taps - 1);
      const IntExpr lifted = place - tap * window.dilation[d] + stride * lift;
      source = at.ranges.floor_div(lifted, stride) - lift;
      const IntExpr off = at.ranges.mod(lifted, stride);
      if (off != IntExpr())
        out.valid = logical_and(
            out.valid, binary(ScalarOp::kEqual, at.scalar_of(off), integer(DType::kInt64, 0)));
    }
    out.valid = logical_and(out.valid, at.within(source, 0, of.input.type.shape[2 + d]));
    out.input.push_back(source);
    out.weight.push_back(tap);
  }
  return out;
}

void convolve(OpCall& call, bool transposed, std::size_t spatial) {
  Lowering& at = call.at;
  const Tensor input = call.tensor("input"), weight = call.tensor("weight");
  if (spatial < 1 || spatial > 3 || input.rank() != spatial + 2 || weight.rank() != spatial + 2 ||
      call.type().shape.size() != spatial + 2)
    return call.unsupported(
        fmt::format("input of {} and weight of {} dimensions", input.rank(), weight.rank()));
  const Window window{call.sizes_each("stride", spatial, 1), call.sizes_each("padding", spatial, 0),
                      call.sizes_each("dilation", spatial, 1)};
  const IntExpr groups = call.size("groups");
  const DType dtype = opmath(call.type().dtype);
  std::function<ScalarRef(const Index&, const ScalarRef&)> epilogue;
  if (call.given("bias")) {
    const Tensor bias = call.tensor("bias");
    epilogue = [&at, bias, dtype](const Index& i, const ScalarRef& sum) {
      return binary(ScalarOp::kAdd, sum, cast(dtype, at.read(bias, {i[1]})));
    };
  }
  if (call.failed()) return;
  // Weights: [out, in / groups, taps..]; of a transposed one [in, out / groups, taps..].
  const IntExpr out_group =
      transposed ? weight.type.shape[1] : at.ranges.floor_div(weight.type.shape[0], groups);
  Channels channels{
      0, transposed ? at.ranges.floor_div(weight.type.shape[0], groups) : weight.type.shape[1],
      out_group};
  Shape extents = {channels.in_group};
  for (std::size_t d = 0; d < spatial; ++d) {
    const IntExpr& taps = weight.type.shape[2 + d];
    extents.push_back(transposed && window.dilation[d] == IntExpr(1)
                          ? at.ranges.floor_div(taps + window.stride[d] - 1, window.stride[d])
                          : taps);
  }
  call.set(at.reduce(call.type(),
                     {.op = ReduceOp::kSum,
                      .accumulator = dtype,
                      .extents = extents,
                      .body =
                          [&](const Index& i, const Index& r) {
                            channels.group = groups == IntExpr(1)
                                                 ? IntExpr()
                                                 : at.ranges.floor_div(i[1], out_group);
                            const Tap tap =
                                transposed
                                    ? transposed_tap(at, {input, weight}, window, channels, i, r)
                                    : forward_tap(at, {input, weight}, window, channels, i, r);
                            const ScalarRef product =
                                binary(ScalarOp::kMul, cast(dtype, at.read(input, tap.input)),
                                       cast(dtype, at.read(weight, tap.weight)));
                            return select(tap.valid, product, writer::number(dtype, 0));
                          },
                      .epilogue = epilogue}));
}

}  // namespace

void add_convolutions(LowerTable& table) {
  const LowerFunction general = [](OpCall& call) {
    const std::size_t rank = call.tensor("input").rank();
    convolve(call, call.flag("transposed"), rank < 2 ? 0 : rank - 2);
  };
  table["convolution.default"] = table["_convolution.default"] = general;
  for (std::size_t spatial = 1; spatial <= 3; ++spatial) {
    table[fmt::format("conv{}d.default", spatial)] = [spatial](OpCall& call) {
      convolve(call, false, spatial);
    };
    table[fmt::format("conv_transpose{}d.{}", spatial, spatial == 1 ? "default" : "input")] =
        [spatial](OpCall& call) { convolve(call, true, spatial); };
  }
}

}  // namespace kw::writer
