// Softmax and its relatives: the largest value is subtracted before exponentials are taken.
#include <cmath>

#include "writer/loops/lowering.h"

namespace kw::writer {

using tensor::DType;

namespace {

Tensor largest_over(Lowering& at, const Tensor& in, const Reduced& apart, DType dtype) {
  at.part("max");
  return at.reduce({dtype, apart.kept_shape(in)}, {.op = ReduceOp::kMax,
                                                   .accumulator = dtype,
                                                   .extents = apart.extents(in),
                                                   .body = [&](const Index& i, const Index& r) {
                                                     return cast(dtype,
                                                                 at.read(in, apart.join(i, r)));
                                                   }});
}

}  // namespace

Exponentials exponentials_over(Lowering& at, const Tensor& in, const Reduced& over, DType dtype) {
  const Reduced apart{over.dims, false};
  const TensorType type{dtype, apart.kept_shape(in)};
  Exponentials out;
  out.largest = largest_over(at, in, apart, dtype);
  at.part("sum");
  out.sum = at.reduce(
      type, {.op = ReduceOp::kSum,
             .accumulator = dtype,
             .extents = apart.extents(in),
             .body = [&](const Index& i, const Index& r) {
               return unary(ScalarOp::kExp,
                            binary(ScalarOp::kSub, cast(dtype, at.read(in, apart.join(i, r))),
                                   at.read(out.largest, i)));
             }});
  at.part("");
  return out;
}

namespace {

void softmax(OpCall& call, bool logarithm) {
  const Tensor self = call.tensor("self");
  const Reduced over{{call.dim("dim", self.rank())}, false};
  if (self.rank() == 0)
    return call.map(
        [&](const Index&) { return writer::number(call.type().dtype, logarithm ? 0 : 1); });
  if (!call.has_rank(self.rank())) return;
  const DType dtype = opmath(call.type().dtype);
  Lowering& at = call.at;
  if (logarithm) {
    const Exponentials parts = exponentials_over(at, self, over, dtype);
    return call.map([&](const Index& i) {
      const Index left = over.left(i);
      const ScalarRef below =
          binary(ScalarOp::kSub, cast(dtype, at.read(self, i)), at.read(parts.largest, left));
      return binary(ScalarOp::kSub, below, unary(ScalarOp::kLog, at.read(parts.sum, left)));
    });
  }
  const Tensor largest = largest_over(at, self, over, dtype);
  at.part("exponentials");
  const Tensor each = at.map({dtype, self.type.shape}, [&](const Index& i) {
    return unary(ScalarOp::kExp, binary(ScalarOp::kSub, cast(dtype, at.read(self, i)),
                                        at.read(largest, over.left(i))));
  });
  at.part("sum");
  const Tensor sum = at.reduce(largest.type, {.op = ReduceOp::kSum,
                                              .accumulator = dtype,
                                              .extents = over.extents(self),
                                              .body = [&](const Index& i, const Index& r) {
                                                return at.read(each, over.join(i, r));
                                              }});
  at.part("");
  call.map([&](const Index& i) {
    return binary(ScalarOp::kDiv, at.read(each, i), at.read(sum, over.left(i)));
  });
}

void logsumexp(OpCall& call) {
  const Tensor self = call.tensor("self");
  const Reduced over{call.dims("dim", self.rank()), call.flag("keepdim")};
  if (call.failed() || !call.used(0)) return;
  if (call.type().shape.size() != self.rank() - (over.keep ? 0 : over.dims.size()))
    return call.invalid("its result's dimensions do not fit");
  const DType dtype = opmath(call.type().dtype);
  call.at.part("max");
  const Reduced apart{over.dims, false};
  Lowering& at = call.at;
  // Infinite maxima would be subtracted from themselves: 0 instead, as torch does.
  const Tensor largest = at.reduce(
      {dtype, apart.kept_shape(self)},
      {.op = ReduceOp::kMax,
       .accumulator = dtype,
       .extents = apart.extents(self),
       .body = [&](const Index& i,
                   const Index& r) { return cast(dtype, at.read(self, apart.join(i, r))); },
       .epilogue =
           [&](const Index&, const ScalarRef& value) {
             return select(unary(ScalarOp::kIsInf, value), writer::number(dtype, 0), value);
           }});
  at.part("sum");
  call.set(at.reduce(call.type(), {.op = ReduceOp::kSum,
                                   .accumulator = dtype,
                                   .extents = over.extents(self),
                                   .body =
                                       [&](const Index& i, const Index& r) {
                                         const Index full = over.join(i, r);
                                         return unary(ScalarOp::kExp,
                                                      binary(ScalarOp::kSub,
                                                             cast(dtype, at.read(self, full)),
                                                             at.read(largest, over.left(full))));
                                       },
                                   .epilogue =
                                       [&](const Index& i, const ScalarRef& sum) {
                                         const Index full = over.join(i, Index(over.dims.size()));
                                         return binary(ScalarOp::kAdd, unary(ScalarOp::kLog, sum),
                                                       at.read(largest, over.left(full)));
                                       }}));
}

// softmax(query key^T * scale + mask) value.
void attention(OpCall& call) {
  Lowering& at = call.at;
  const Tensor query = call.tensor("query"), key = call.tensor("key"), value = call.tensor("value");
  if (query.rank() != 4 || key.rank() != 4 || value.rank() != 4)
    return call.invalid("query, key and value have four dimensions");
  if (!call.is("dropout_p", 0)) return call.unsupported("dropout_p");
  const DType dtype = opmath(call.type().dtype);
  const bool causal = call.flag("is_causal");
  std::optional<Tensor> mask;
  const Shape scores_shape = {query.type.shape[0], query.type.shape[1], query.type.shape[2],
                              key.type.shape[2]};
  if (call.given("attn_mask")) mask = call.tensor("attn_mask");
  std::optional<Rule> masking;
  if (mask)
    masking =
        call.operand(*mask, scores_shape, mask->type.dtype == DType::kBool ? DType::kBool : dtype);
  ScalarRef scale;
  if (call.given("scale"))
    scale = call.scalar("scale", dtype);
  else
    scale = unary(ScalarOp::kRsqrt, cast(dtype, index_number(query.type.shape[3])));
  if (!call.has_rank(4)) return;
  at.part("scores");
  const Tensor scores = at.reduce(
      {dtype, scores_shape},
      {.op = ReduceOp::kSum,
       .accumulator = dtype,
       .extents = {query.type.shape[3]},
       .body =
           [&](const Index& i, const Index& r) {
             return binary(ScalarOp::kMul, cast(dtype, at.read(query, {i[0], i[1], i[2], r[0]})),
                           cast(dtype, at.read(key, {i[0], i[1], i[3], r[0]})));
           },
       .epilogue =
           [&](const Index& i, const ScalarRef& sum) {
             ScalarRef out = binary(ScalarOp::kMul, sum, scale);
             const ScalarRef nothing = writer::number(dtype, -HUGE_VAL);
             if (masking) {
               const ScalarRef here = (*masking)(i);
               out = here->dtype == DType::kBool ? select(here, out, nothing)
                                                 : binary(ScalarOp::kAdd, out, here);
             }
             return causal ? select(at.less(i[3], i[2] + 1), out, nothing) : out;
           }});
  const Exponentials parts = exponentials_over(at, scores, {{3}, false}, dtype);
  at.part("sum of values");
  call.set(at.reduce(call.type(),
                     {.op = ReduceOp::kSum,
                      .accumulator = dtype,
                      .extents = {key.type.shape[2]},
                      .body =
                          [&](const Index& i, const Index& r) {
                            const ScalarRef below =
                                binary(ScalarOp::kSub, at.read(scores, {i[0], i[1], i[2], r[0]}),
                                       at.read(parts.largest, {i[0], i[1], i[2]}));
                            return binary(ScalarOp::kMul, unary(ScalarOp::kExp, below),
                                          cast(dtype, at.read(value, {i[0], i[1], r[0], i[3]})));
                          },
                      .epilogue =
                          [&](const Index& i, const ScalarRef& sum) {
                            return binary(ScalarOp::kDiv, sum,
                                          at.read(parts.sum, {i[0], i[1], i[2]}));
                          }}));
}

}  // namespace

void add_softmax(LowerTable& table) {
  for (const char* name : {"_softmax.default", "softmax.int"})
    table[name] = [](OpCall& call) { softmax(call, false); };
  for (const char* name : {"_log_softmax.default", "log_softmax.int"})
    table[name] = [](OpCall& call) { softmax(call, true); };
  table["logsumexp.default"] = logsumexp;
  table["_scaled_dot_product_flash_attention_for_cpu.default"] = attention;
}

}  // namespace kw::writer
