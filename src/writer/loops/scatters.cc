// Writes at places that data decides.
#include "base/text.h"
#include "writer/loops/lowering.h"

namespace kw::writer {
namespace {

using tensor::DType;

// out[.., place[i], ..] op= value for every element of `places`, a tensor of self's rank.
void scatter(OpCall& call, ScatterOp op, const Tensor& places, std::size_t dim, const Rule& value) {
  Lowering& at = call.at;
  const Tensor self = call.tensor("self");
  if (call.failed()) return;
  if (places.rank() != self.rank() || self.rank() == 0)
    return call.unsupported("index of another rank");
  call.set(at.scatter(
      self, places.type.shape, op,
      [&](const Index& i) {
        Index mine = i;
        mine[dim] = at.data_index(cast(DType::kInt64, at.read(places, i)), self.type.shape[dim]);
        return mine;
      },
      value));
}

void scatter_tensor(OpCall& call, ScatterOp op) {
  const Tensor source = call.tensor("src");
  const std::size_t dim = call.dim("dim", call.tensor("self").rank());
  scatter(call, op, call.tensor("index"), dim,
          [&](const Index& i) { return call.at.read(source, i); });
}

void scatter_value(OpCall& call) {
  const ScalarRef value = call.scalar("value", call.type().dtype);
  const std::size_t dim = call.dim("dim", call.tensor("self").rank());
  scatter(call, ScatterOp::kAssign, call.tensor("index"), dim,
          [&](const Index&) -> const ScalarRef& { return value; });
}

std::optional<ScatterOp> op_of(const std::string& name) {
  if (name == "sum" || name == "add") return ScatterOp::kAdd;
  if (name == "prod" || name == "multiply") return ScatterOp::kMultiply;
  if (name == "amax") return ScatterOp::kMax;
  if (name == "amin") return ScatterOp::kMin;
  return std::nullopt;
}

void scatter_reduce(OpCall& call) {
  const std::string name = call.text("reduce");
  const auto op = op_of(name);
  if (!op) return call.unsupported("reduce=" + printable(name, 40));
  if (call.op() == "scatter_reduce.two" && !call.flag("include_self"))
    return call.unsupported("include_self=False");
  scatter_tensor(call, *op);
}

// index_add, index_copy and index_fill: places are a vector along `dim`.
void index_update(OpCall& call, ScatterOp op, const char* source_name) {
  Lowering& at = call.at;
  const Tensor self = call.tensor("self"), places = call.tensor("index");
  const std::size_t dim = call.dim("dim", self.rank());
  if (call.failed() || self.rank() == 0 || places.rank() != 1)
    return call.unsupported("index without one dimension");
  const DType dtype = self.type.dtype;
  Shape extents = self.type.shape;
  extents[dim] = places.type.shape[0];
  const Rule source = call.operand(call.tensor(source_name), extents, dtype);
  const bool scaled = call.given("alpha") && !call.is("alpha", 1);
  const ScalarRef alpha = call.scalar("alpha", opmath(dtype), 1);
  call.set(at.scatter(
      self, extents, op,
      [&](const Index& i) {
        Index mine = i;
        mine[dim] =
            at.data_index(cast(DType::kInt64, at.read(places, {i[dim]})), self.type.shape[dim]);
        return mine;
      },
      [&](const Index& i) {
        const ScalarRef value = source(i);
        return scaled ? binary(ScalarOp::kMul, cast(opmath(dtype), value), alpha) : value;
      }));
}

}  // namespace

void add_scatters(LowerTable& table) {
  table["scatter_add.default"] = [](OpCall& call) { scatter_tensor(call, ScatterOp::kAdd); };
  table["scatter.src"] = [](OpCall& call) { scatter_tensor(call, ScatterOp::kAssign); };
  table["scatter.value"] = scatter_value;
  table["scatter.reduce"] = table["scatter_reduce.two"] = scatter_reduce;
  table["index_add.default"] = [](OpCall& call) { index_update(call, ScatterOp::kAdd, "source"); };
  table["index_copy.default"] = [](OpCall& call) {
    index_update(call, ScatterOp::kAssign, "source");
  };
  table["index_fill.int_Scalar"] = table["index_fill.int_Tensor"] = [](OpCall& call) {
    index_update(call, ScatterOp::kAssign, "value");
  };
}

}  // namespace kw::writer
