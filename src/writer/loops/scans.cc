// Running reductions along one dimension.
#include "writer/loops/lowering.h"

namespace kw::writer {
namespace {

using tensor::DType;

// A scan of what is flipped along its axis runs backwards over the tensor itself.
void scan(OpCall& call, std::size_t output, ReduceOp op, DType accumulator) {
  if (!call.used(output)) return;
  const Tensor self = call.tensor("self");
  const std::size_t dim = call.dim("dim", self.rank());
  if (!call.has_rank(self.rank(), output)) return;
  const bool place = op == ReduceOp::kArgMin || op == ReduceOp::kArgMax;
  if (self.rank() == 0) {
    return call.map(
        [&](const Index& i) { return place ? integer(DType::kInt64, 0) : call.at.read(self, i); },
        output);
  }
  const bool reversed = !place && self.flip && self.flip->dims == std::vector<std::size_t>{dim};
  const Tensor in = reversed ? self.flip->of : self;
  const Tensor out =
      call.at.scan(call.type(output), dim, reversed, op, accumulator,
                   [&](const Index& i) { return cast(accumulator, call.at.read(in, i)); });
  call.set(output, reversed ? flipped(out, {dim}) : out);
}

LowerFunction running(ReduceOp op) {
  return [op](OpCall& call) { scan(call, 0, op, opmath(call.type().dtype)); };
}

LowerFunction extreme(ReduceOp op, ReduceOp place) {
  return [=](OpCall& call) {
    const DType dtype = opmath(call.tensor("self").type.dtype);
    call.at.part("values");
    scan(call, 0, op, dtype);
    call.at.part("indices");
    scan(call, 1, place, dtype);
  };
}

}  // namespace

void add_scans(LowerTable& table) {
  table["cumsum.default"] = running(ReduceOp::kSum);
  table["cumprod.default"] = running(ReduceOp::kProd);
  table["logcumsumexp.default"] = running(ReduceOp::kLogAddExp);
  table["cummax.default"] = extreme(ReduceOp::kMax, ReduceOp::kArgMax);
  table["cummin.default"] = extreme(ReduceOp::kMin, ReduceOp::kArgMin);
}

}  // namespace kw::writer
