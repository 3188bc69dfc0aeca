// Reductions over dimensions, besides softmax and norms of layers.
#include <algorithm>
#include <cmath>

#include "writer/loops/lowering.h"

namespace kw::writer {

using tensor::DType;

Shape Reduced::extents(const Tensor& of) const {
  Shape out;
  for (std::size_t d : dims) out.push_back(of.type.shape[d]);
  return out;
}

Shape Reduced::kept_shape(const Tensor& of) const {
  return left(of.type.shape);
}

Index Reduced::left(const Index& full) const {
  Index out;
  for (std::size_t d = 0; d < full.size(); ++d) {
    if (std::find(dims.begin(), dims.end(), d) == dims.end()) out.push_back(full[d]);
  }
  return out;
}

Index Reduced::join(const Index& at, const Index& over) const {
  const std::size_t rank = keep ? at.size() : at.size() + over.size();
  Index out;
  std::size_t from_at = 0, from_over = 0;
  for (std::size_t d = 0; d < rank; ++d) {
    const bool mine = from_over < dims.size() && dims[from_over] == d;
    if (mine) {
      out.push_back(over[from_over++]);
      if (keep) ++from_at;
    } else {
      out.push_back(from_at < at.size() ? at[from_at] : IntExpr());
      ++from_at;
    }
  }
  return out;
}

ScalarRef count_of(const Tensor& in, const Reduced& over, DType dtype) {
  return cast(dtype, index_number(product(over.extents(in))));
}

Tensor mean_over(Lowering& at, const Tensor& in, const Reduced& over, DType dtype) {
  const Reduced apart{over.dims, false};
  return at.reduce(
      {dtype, apart.kept_shape(in)},
      {.op = ReduceOp::kSum,
       .accumulator = dtype,
       .extents = apart.extents(in),
       .body = [&](const Index& i,
                   const Index& r) { return cast(dtype, at.read(in, apart.join(i, r))); },
       .epilogue =
           [&](const Index&, const ScalarRef& sum) {
             return binary(ScalarOp::kDiv, sum, count_of(in, apart, dtype));
           }});
}

Tensor square_sum_over(
    Lowering& at, const Tensor& in, const Tensor& mean, const Reduced& over, const TensorType& type,
    const std::function<ScalarRef(const Index& at, const ScalarRef& value)>& epilogue) {
  const DType dtype = mean.type.dtype;
  return at.reduce(type, {.op = ReduceOp::kSum,
                          .accumulator = dtype,
                          .extents = over.extents(in),
                          .body =
                              [&](const Index& i, const Index& r) {
                                const Index full = over.join(i, r);
                                const ScalarRef gap =
                                    binary(ScalarOp::kSub, cast(dtype, at.read(in, full)),
                                           at.read(mean, over.left(full)));
                                return binary(ScalarOp::kMul, gap, gap);
                              },
                          .epilogue = epilogue});
}

namespace {

// dim (a number, a list, None for all) and keepdim of the node.
Reduced over_of(OpCall& call, const Tensor& self) {
  Reduced out{call.dims("dim", self.rank()), call.flag("keepdim")};
  const std::size_t left = self.rank() - (out.keep ? 0 : out.dims.size());
  const std::size_t rank = call.type(call.first_used()).shape.size();
  if (!call.failed() && rank != left)
    call.invalid(fmt::format("its result has {} dimensions instead of {}", rank, left));
  return out;
}

// What a reduction makes of its elements, and how it combines that as values of the accumulator.
struct Combining {
  ReduceOp op;
  DType accumulator;
  std::function<ScalarRef(const ScalarRef&)> body;
  std::function<ScalarRef(const Index&, const ScalarRef&)> epilogue = {};
};

void reduce_to(OpCall& call, std::size_t output, const Tensor& self, const Reduced& over,
               const Combining& by) {
  if (call.failed() || !call.used(output)) return;
  const auto element = [&](const Index& i, const Index& r) {
    return by.body(call.at.read(self, over.join(i, r)));
  };
  call.set(output, call.at.reduce(call.type(output), {.op = by.op,
                                                      .accumulator = by.accumulator,
                                                      .extents = over.extents(self),
                                                      .body = element,
                                                      .epilogue = by.epilogue}));
}

std::function<ScalarRef(const ScalarRef&)> to(DType dtype) {
  return [dtype](const ScalarRef& x) { return cast(dtype, x); };
}

LowerFunction arithmetic(ReduceOp op) {
  return [op](OpCall& call) {
    const Tensor self = call.tensor("self");
    const DType dtype = opmath(call.type().dtype);
    reduce_to(call, 0, self, over_of(call, self), {op, dtype, to(dtype)});
  };
}

void mean(OpCall& call) {
  const Tensor self = call.tensor("self");
  const DType dtype = opmath(call.type().dtype);
  const Reduced over = over_of(call, self);
  reduce_to(call, 0, self, over,
            {ReduceOp::kSum, dtype, to(dtype), [&](const Index&, const ScalarRef& sum) {
               return binary(ScalarOp::kDiv, sum, count_of(self, over, dtype));
             }});
}

LowerFunction extreme(ReduceOp op) {
  return [op](OpCall& call) {
    const Tensor self = call.tensor("self");
    const DType dtype = opmath(self.type.dtype);
    reduce_to(call, 0, self, over_of(call, self), {op, dtype, to(dtype)});
  };
}

LowerFunction extreme_with_index(ReduceOp op, ReduceOp place) {
  return [=](OpCall& call) {
    const Tensor self = call.tensor("self");
    const DType dtype = opmath(self.type.dtype);
    const Reduced over = over_of(call, self);
    call.at.part("values");
    reduce_to(call, 0, self, over, {op, dtype, to(dtype)});
    call.at.part("indices");
    reduce_to(call, 1, self, over, {place, dtype, to(dtype)});
  };
}

void aminmax(OpCall& call) {
  const Tensor self = call.tensor("self");
  const DType dtype = opmath(self.type.dtype);
  const Reduced over = over_of(call, self);
  reduce_to(call, 0, self, over, {ReduceOp::kMin, dtype, to(dtype)});
  reduce_to(call, 1, self, over, {ReduceOp::kMax, dtype, to(dtype)});
}

LowerFunction truth(ReduceOp op) {
  return [op](OpCall& call) {
    const Tensor self = call.tensor("self");
    reduce_to(call, 0, self, over_of(call, self), {op, DType::kBool, to(DType::kBool)});
  };
}

void count_nonzero(OpCall& call) {
  const Tensor self = call.tensor("self");
  reduce_to(call, 0, self, over_of(call, self),
            {ReduceOp::kSum, DType::kInt64,
             [](const ScalarRef& x) { return cast(DType::kInt64, cast(DType::kBool, x)); }});
}

// Variance (output `variance`) and mean by two passes; the second as another output where asked.
void variance(OpCall& call, bool root, bool with_mean) {
  const Tensor self = call.tensor("self");
  const DType dtype = opmath(call.type().dtype);
  const Reduced over = over_of(call, self);
  double correction = call.number("correction", 1);
  if (call.given("unbiased")) correction = call.flag("unbiased") ? 1 : 0;
  if (call.failed()) return;
  call.at.part("mean");
  const Tensor mean = mean_over(call.at, self, over, dtype);
  if (with_mean && call.used(1)) {
    const Tensor out = over.keep ? reshaped(call.at, mean, call.type(1).shape) : mean;
    call.set(1, out);
  }
  if (!call.used(0)) return;
  call.at.part("squares");
  call.set(square_sum_over(
      call.at, self, mean, over, call.type(), [&](const Index&, const ScalarRef& sum) {
        const ScalarRef count =
            correction == 0
                ? count_of(self, over, dtype)
                : binary(ScalarOp::kMax,
                         binary(ScalarOp::kSub, count_of(self, over, dtype), correction), 0);
        const ScalarRef out = binary(ScalarOp::kDiv, sum, count);
        return root ? unary(ScalarOp::kSqrt, out) : out;
      }));
}

// torch.linalg.vector_norm.
void norm(OpCall& call, const char* order_name) {
  const Tensor self = call.tensor("self");
  const DType dtype = opmath(call.type().dtype);
  const Reduced over = over_of(call, self);
  const double order = call.number(order_name, 2);
  const auto magnitude = [&](const ScalarRef& x) { return unary(ScalarOp::kAbs, cast(dtype, x)); };
  if (std::isinf(order))
    return reduce_to(call, 0, self, over,
                     {order > 0 ? ReduceOp::kMax : ReduceOp::kMin, dtype, magnitude});
  if (order == 0)
    return reduce_to(call, 0, self, over,
                     {ReduceOp::kSum, dtype, [&](const ScalarRef& x) {
                        return cast(dtype, binary(ScalarOp::kNotEqual, cast(dtype, x), 0));
                      }});
  if (order == 1) return reduce_to(call, 0, self, over, {ReduceOp::kSum, dtype, magnitude});
  if (order == 2)
    return reduce_to(
        call, 0, self, over,
        {ReduceOp::kSum, dtype,
         [&](const ScalarRef& x) {
           const ScalarRef value = cast(dtype, x);
           return binary(ScalarOp::kMul, value, value);
         },
         [](const Index&, const ScalarRef& sum) { return unary(ScalarOp::kSqrt, sum); }});
  reduce_to(
      call, 0, self, over,
      {ReduceOp::kSum, dtype,
       [&](const ScalarRef& x) { return binary(ScalarOp::kPow, magnitude(x), order); },
       [&](const Index&, const ScalarRef& sum) { return binary(ScalarOp::kPow, sum, 1 / order); }});
}

void nansum(OpCall& call) {
  const Tensor self = call.tensor("self");
  const DType dtype = opmath(call.type().dtype);
  reduce_to(call, 0, self, over_of(call, self), {ReduceOp::kSum, dtype, [&](const ScalarRef& x) {
                                                   const ScalarRef value = cast(dtype, x);
                                                   return select(unary(ScalarOp::kIsNan, value),
                                                                 writer::number(dtype, 0), value);
                                                 }});
}

}  // namespace

void add_reductions(LowerTable& table) {
  table["sum.default"] = table["sum.dim_IntList"] = arithmetic(ReduceOp::kSum);
  table["prod.default"] = table["prod.dim_int"] = arithmetic(ReduceOp::kProd);
  table["mean.default"] = table["mean.dim"] = mean;
  table["nansum.default"] = nansum;
  table["amax.default"] = table["max.default"] = extreme(ReduceOp::kMax);
  table["amin.default"] = table["min.default"] = extreme(ReduceOp::kMin);
  table["argmax.default"] = extreme(ReduceOp::kArgMax);
  table["argmin.default"] = extreme(ReduceOp::kArgMin);
  table["max.dim"] = extreme_with_index(ReduceOp::kMax, ReduceOp::kArgMax);
  table["min.dim"] = extreme_with_index(ReduceOp::kMin, ReduceOp::kArgMin);
  table["aminmax.default"] = aminmax;
  for (const char* overload : {"default", "dim", "dims"}) {
    table[std::string("any.") + overload] = truth(ReduceOp::kAny);
    table[std::string("all.") + overload] = truth(ReduceOp::kAll);
  }
  table["count_nonzero.default"] = table["count_nonzero.dim_IntList"] = count_nonzero;
  for (const char* overload : {"default", "dim", "correction"}) {
    table[std::string("var.") + overload] = [](OpCall& call) { variance(call, false, false); };
    table[std::string("std.") + overload] = [](OpCall& call) { variance(call, true, false); };
    table[std::string("var_mean.") + overload] = [](OpCall& call) { variance(call, false, true); };
    table[std::string("std_mean.") + overload] = [](OpCall& call) { variance(call, true, true); };
  }
  table["linalg_vector_norm.default"] = [](OpCall& call) { norm(call, "ord"); };
  for (const char* overload : {"Scalar", "ScalarOpt_dim", "ScalarOpt_dtype", "ScalarOpt_dim_dtype"})
    table[std::string("norm.") + overload] = [](OpCall& call) { norm(call, "p"); };
}

}  // namespace kw::writer
