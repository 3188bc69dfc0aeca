// Losses that torch keeps whole: an element's loss, then none, mean or sum of them.
#include <cmath>

#include "writer/loops/lowering.h"

namespace kw::writer {
namespace {

using tensor::DType;

enum : std::int64_t { kNone = 0, kMean = 1 };  // at::Reduction

// The node's `reduction` of element(i) over `shape`, in the dtype.
void reduce_loss(OpCall& call, const Shape& shape, const Rule& element) {
  const std::int64_t reduction = call.integer("reduction");
  if (call.failed()) return;
  if (reduction == kNone) return call.map(element);
  const DType dtype = opmath(call.type().dtype);
  call.set(
      call.at.reduce(call.type(), {.op = ReduceOp::kSum,
                                   .accumulator = dtype,
                                   .extents = shape,
                                   .body = [&](const Index&, const Index& r) { return element(r); },
                                   .epilogue =
                                       [&](const Index&, const ScalarRef& sum) {
                                         if (reduction != kMean) return sum;
                                         return binary(ScalarOp::kDiv, sum,
                                                       cast(dtype, index_number(product(shape))));
                                       }}));
}

Shape broadcast(const Shape& a, const Shape& b) {
  Shape out = a.size() < b.size() ? b : a;
  const Shape& other = a.size() < b.size() ? a : b;
  for (std::size_t d = 0; d < other.size(); ++d) {
    IntExpr& mine = out[out.size() - other.size() + d];
    if (mine.constant() == 1) mine = other[d];
  }
  return out;
}

// A loss of an input and its target.
LowerFunction pairwise(
    const std::function<ScalarRef(OpCall&, const ScalarRef& x, const ScalarRef& y)>& loss) {
  return [loss](OpCall& call) {
    const Tensor self = call.tensor("self"), target = call.tensor("target");
    const Shape shape = broadcast(self.type.shape, target.type.shape);
    const DType dtype = opmath(call.type().dtype);
    const Rule x = call.operand(self, shape, dtype), y = call.operand(target, shape, dtype);
    reduce_loss(call, shape, [&](const Index& i) { return loss(call, x(i), y(i)); });
  };
}

ScalarRef square(const ScalarRef& x) {
  return binary(ScalarOp::kMul, x, x);
}

// |d| < beta: d^2 / 2 / beta, else |d| - beta / 2.
ScalarRef smooth_l1(OpCall& call, const ScalarRef& x, const ScalarRef& y) {
  const double beta = call.number("beta", 1);
  ScalarRef size = unary(ScalarOp::kAbs, binary(ScalarOp::kSub, x, y));
  if (beta == 0) return size;
  return select(binary(ScalarOp::kLess, size, beta),
                binary(ScalarOp::kMul, square(size), 0.5 / beta),
                binary(ScalarOp::kSub, size, 0.5 * beta));
}

// |d| <= delta: d^2 / 2, else delta * (|d| - delta / 2).
ScalarRef huber(OpCall& call, const ScalarRef& x, const ScalarRef& y) {
  const double delta = call.number("delta", 1);
  const ScalarRef size = unary(ScalarOp::kAbs, binary(ScalarOp::kSub, x, y));
  return select(binary(ScalarOp::kLessEqual, size, delta),
                binary(ScalarOp::kMul, square(size), 0.5),
                binary(ScalarOp::kMul, binary(ScalarOp::kSub, size, 0.5 * delta), delta));
}

// log(1 + exp(-x * y))
ScalarRef soft_margin(OpCall&, const ScalarRef& x, const ScalarRef& y) {
  return unary(ScalarOp::kLog1p,
               unary(ScalarOp::kExp, unary(ScalarOp::kNeg, binary(ScalarOp::kMul, x, y))));
}

void cross_entropy_of_two(OpCall& call, bool logits) {
  const Tensor self = call.tensor("self"), target = call.tensor("target");
  const Shape& shape = self.type.shape;
  const DType dtype = opmath(call.type().dtype);
  const Rule input = call.operand(self, shape, dtype), wanted = call.operand(target, shape, dtype);
  const auto optional = [&](const char* name) -> std::optional<Rule> {
    if (!call.given(name)) return std::nullopt;
    return call.operand(call.tensor(name), shape, dtype);
  };
  const auto weight = optional("weight"), positive = optional("pos_weight");
  reduce_loss(call, shape, [&](const Index& i) {
    const ScalarRef x = input(i), y = wanted(i), rest = binary(ScalarOp::kSub, 1.0, y);
    ScalarRef loss;
    if (logits) {
      // (1 - y) x + (1 + (p - 1) y) (log(1 + exp(-|x|)) + max(-x, 0))
      ScalarRef log_part =
          binary(ScalarOp::kAdd,
                 unary(ScalarOp::kLog1p,
                       unary(ScalarOp::kExp, unary(ScalarOp::kNeg, unary(ScalarOp::kAbs, x)))),
                 binary(ScalarOp::kMax, unary(ScalarOp::kNeg, x), 0));
      if (positive) {
        const ScalarRef factor =
            binary(ScalarOp::kAdd,
                   binary(ScalarOp::kMul, binary(ScalarOp::kSub, (*positive)(i), 1), y), 1);
        log_part = binary(ScalarOp::kMul, factor, log_part);
      }
      loss = binary(ScalarOp::kAdd, binary(ScalarOp::kMul, rest, x), log_part);
    } else {
      // Logarithms are cut at -100.
      const auto logarithm = [](ScalarOp op, const ScalarRef& of) {
        return binary(ScalarOp::kMax, unary(op, of), -100);
      };
      const ScalarRef missed = logarithm(ScalarOp::kLog1p, unary(ScalarOp::kNeg, x));
      loss = binary(ScalarOp::kSub, binary(ScalarOp::kMul, binary(ScalarOp::kSub, y, 1), missed),
                    binary(ScalarOp::kMul, y, logarithm(ScalarOp::kLog, x)));
    }
    return weight ? binary(ScalarOp::kMul, loss, (*weight)(i)) : loss;
  });
}

// -weight[target] * self[.., target, ..], the classes being dimension 1 (of a vector: 0).
void nll_loss(OpCall& call) {
  Lowering& at = call.at;
  const Tensor self = call.tensor("self"), target = call.tensor("target");
  const std::int64_t reduction = call.integer("reduction"), ignored = call.integer("ignore_index");
  if (call.failed()) return;
  if (self.rank() == 0 || target.rank() + 1 != self.rank())
    return call.invalid("target does not fit self");
  const std::size_t dim = self.rank() == 1 ? 0 : 1;
  const DType dtype = opmath(call.type().dtype);
  std::optional<Tensor> weight;
  if (call.given("weight")) weight = call.tensor("weight");
  const auto counted = [&](const ScalarRef& wanted) {
    return binary(ScalarOp::kNotEqual, wanted, integer(DType::kInt64, ignored));
  };
  const auto weight_of = [&](const ScalarRef& wanted) {
    if (!weight) return writer::number(dtype, 1);
    return cast(dtype, at.read(*weight, {at.data_index(wanted, self.type.shape[dim])}));
  };
  const auto wanted_at = [&](const Index& i) { return cast(DType::kInt64, at.read(target, i)); };
  const ScalarRef zero = writer::number(dtype, 0);
  const auto element = [&](const Index& i) {
    const ScalarRef wanted = wanted_at(i);
    Index mine = i;
    mine.insert(mine.begin() + static_cast<std::ptrdiff_t>(dim),
                at.data_index(wanted, self.type.shape[dim]));
    ScalarRef loss = unary(ScalarOp::kNeg, cast(dtype, at.read(self, mine)));
    if (weight) loss = binary(ScalarOp::kMul, loss, weight_of(wanted));
    return select(counted(wanted), loss, zero);
  };
  if (reduction == kNone) {
    if (!call.has_rank(target.rank())) return;
    call.map(element);
    if (call.used(1)) call.map([&](const Index&) -> const ScalarRef& { return zero; }, 1);
    return;
  }
  at.part("weights");
  const Tensor total =
      at.reduce({dtype, {}}, {.op = ReduceOp::kSum,
                              .accumulator = dtype,
                              .extents = target.type.shape,
                              .body = [&](const Index&, const Index& r) {
                                const ScalarRef wanted = wanted_at(r);
                                return select(counted(wanted), weight_of(wanted), zero);
                              }});
  if (call.used(1)) call.set(1, total);
  at.part("");
  call.set(at.reduce(call.type(), {.op = ReduceOp::kSum,
                                   .accumulator = dtype,
                                   .extents = target.type.shape,
                                   .body = [&](const Index&, const Index& r) { return element(r); },
                                   .epilogue =
                                       [&](const Index&, const ScalarRef& sum) {
                                         return reduction == kMean ? binary(ScalarOp::kDiv, sum,
                                                                            at.read(total, {}))
                                                                   : sum;
                                       }}));
}

}  // namespace

void add_losses(LowerTable& table) {
  table["mse_loss.default"] = pairwise([](OpCall&, const ScalarRef& x, const ScalarRef& y) {
    return square(binary(ScalarOp::kSub, x, y));
  });
  table["l1_loss.default"] = pairwise([](OpCall&, const ScalarRef& x, const ScalarRef& y) {
    return unary(ScalarOp::kAbs, binary(ScalarOp::kSub, x, y));
  });
  table["smooth_l1_loss.default"] = pairwise(smooth_l1);
  table["huber_loss.default"] = pairwise(huber);
  table["soft_margin_loss.default"] = pairwise(soft_margin);
  table["binary_cross_entropy.default"] = [](OpCall& call) { cross_entropy_of_two(call, false); };
  table["binary_cross_entropy_with_logits.default"] = [](OpCall& call) {
    cross_entropy_of_two(call, true);
  };
  for (const char* name : {"nll_loss_forward.default", "nll_loss2d_forward.default",
                           "nll_loss.default", "nll_loss_nd.default"})
    table[name] = nll_loss;
}

}  // namespace kw::writer
