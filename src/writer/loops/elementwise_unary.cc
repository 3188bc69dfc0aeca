// Operators of one tensor's elements, besides activations.
#include <array>
#include <cmath>
#include <numbers>
#include <utility>

#include "writer/loops/lowering.h"

namespace kw::writer {
namespace {

using tensor::DType;

constexpr auto kFunctions =
    std::to_array<std::pair<const char*, ScalarOp>>({{"abs", ScalarOp::kAbs},
                                                     {"neg", ScalarOp::kNeg},
                                                     {"exp", ScalarOp::kExp},
                                                     {"exp2", ScalarOp::kExp2},
                                                     {"special_exp2", ScalarOp::kExp2},
                                                     {"expm1", ScalarOp::kExpm1},
                                                     {"log", ScalarOp::kLog},
                                                     {"log2", ScalarOp::kLog2},
                                                     {"log10", ScalarOp::kLog10},
                                                     {"log1p", ScalarOp::kLog1p},
                                                     {"sqrt", ScalarOp::kSqrt},
                                                     {"rsqrt", ScalarOp::kRsqrt},
                                                     {"reciprocal", ScalarOp::kReciprocal},
                                                     {"sin", ScalarOp::kSin},
                                                     {"cos", ScalarOp::kCos},
                                                     {"tan", ScalarOp::kTan},
                                                     {"asin", ScalarOp::kAsin},
                                                     {"acos", ScalarOp::kAcos},
                                                     {"atan", ScalarOp::kAtan},
                                                     {"sinh", ScalarOp::kSinh},
                                                     {"cosh", ScalarOp::kCosh},
                                                     {"tanh", ScalarOp::kTanh},
                                                     {"asinh", ScalarOp::kAsinh},
                                                     {"acosh", ScalarOp::kAcosh},
                                                     {"atanh", ScalarOp::kAtanh},
                                                     {"erf", ScalarOp::kErf},
                                                     {"special_erf", ScalarOp::kErf},
                                                     {"erfc", ScalarOp::kErfc},
                                                     {"erfinv", ScalarOp::kErfinv},
                                                     {"sigmoid", ScalarOp::kSigmoid},
                                                     {"sign", ScalarOp::kSign},
                                                     {"sgn", ScalarOp::kSign},
                                                     {"lgamma", ScalarOp::kLgamma}});

constexpr auto kRoundings =
    std::to_array<std::pair<const char*, ScalarOp>>({{"floor", ScalarOp::kFloor},
                                                     {"ceil", ScalarOp::kCeil},
                                                     {"round", ScalarOp::kRound},
                                                     {"trunc", ScalarOp::kTrunc},
                                                     {"fix", ScalarOp::kTrunc}});

// In the dtype that torch computes its result in.
LowerFunction unary_op(ScalarOp op) {
  return [op](OpCall& call) {
    const Rule self = call.operand("self", opmath(call.type().dtype));
    call.map([&](const Index& i) { return unary(op, self(i)); });
  };
}

LowerFunction rounding(ScalarOp op) {
  return [op](OpCall& call) {
    const Rule self = call.operand("self", opmath(call.type().dtype));
    const bool whole = !tensor::is_floating(call.type().dtype);
    call.map([&](const Index& i) { return whole ? self(i) : unary(op, self(i)); });
  };
}

// A question about the input's own value.
LowerFunction test_op(const std::function<ScalarRef(const ScalarRef&)>& question) {
  return [question](OpCall& call) {
    const Rule self = call.operand("self", opmath(call.tensor("self").type.dtype));
    call.map([&](const Index& i) { return question(self(i)); });
  };
}

LowerFunction scaled_by(double factor) {
  return [factor](OpCall& call) {
    const Rule self = call.operand("self", opmath(call.type().dtype));
    call.map([&](const Index& i) { return binary(ScalarOp::kMul, self(i), factor); });
  };
}

void to_copy(OpCall& call) {
  const Tensor self = call.tensor("self");
  if (self.type.dtype == call.type().dtype) return call.set(self);
  const Rule value = call.operand("self", self.type.dtype);
  call.map([&](const Index& i) { return value(i); });
}

void nan_to_num(OpCall& call) {
  const DType dtype = call.type().dtype;
  if (!tensor::is_floating(dtype)) return call.set(call.tensor("self"));
  const bool half = dtype == DType::kFloat16, brain = dtype == DType::kBFloat16;
  const double largest = half                       ? 65504
                         : brain                    ? 0x1.FEp127
                         : dtype == DType::kFloat64 ? 0x1.FFFFFFFFFFFFFp1023
                                                    : 0x1.FFFFFEp127;
  const ScalarRef nan = call.scalar("nan", opmath(dtype)),
                  high = call.scalar("posinf", opmath(dtype), largest),
                  low = call.scalar("neginf", opmath(dtype), -largest);
  const Rule self = call.operand("self", opmath(dtype));
  call.map([&](const Index& i) {
    const ScalarRef x = self(i);
    return select(unary(ScalarOp::kIsNan, x), nan,
                  select(binary(ScalarOp::kEqual, x, HUGE_VAL), high,
                         select(binary(ScalarOp::kEqual, x, -HUGE_VAL), low, x)));
  });
}

void round_decimals(OpCall& call) {
  const DType dtype = opmath(call.type().dtype);
  const double scale = std::pow(10.0, std::abs(static_cast<double>(call.integer("decimals"))));
  const bool left = call.integer("decimals") < 0;
  const Rule self = call.operand("self", dtype);
  call.map([&](const Index& i) {
    const ScalarRef scaled = binary(left ? ScalarOp::kDiv : ScalarOp::kMul, self(i), scale);
    return binary(left ? ScalarOp::kMul : ScalarOp::kDiv, unary(ScalarOp::kRound, scaled), scale);
  });
}

void frexp(OpCall& call) {
  const Rule self = call.operand("self", opmath(call.tensor("self").type.dtype));
  call.map([&](const Index& i) { return unary(ScalarOp::kFrexpFraction, self(i)); });
  call.map(
      [&](const Index& i) {
        return writer::call(ScalarOp::kFrexpExponent, DType::kInt32, {self(i)});
      },
      1);
}

void frac(OpCall& call) {
  const Rule self = call.operand("self", opmath(call.type().dtype));
  call.map([&](const Index& i) {
    const ScalarRef x = self(i);
    return binary(ScalarOp::kSub, x, unary(ScalarOp::kTrunc, x));
  });
}

void logit(OpCall& call) {
  const DType dtype = opmath(call.type().dtype);
  const Rule self = call.operand("self", dtype);
  const double eps = call.number("eps", -1);
  call.map([&](const Index& i) {
    ScalarRef x = self(i);
    if (eps >= 0) x = binary(ScalarOp::kMin, binary(ScalarOp::kMax, x, eps), 1 - eps);
    return unary(ScalarOp::kLog, binary(ScalarOp::kDiv, x, binary(ScalarOp::kSub, 1.0, x)));
  });
}

void bitwise_not(OpCall& call) {
  unary_op(call.type().dtype == DType::kBool ? ScalarOp::kNot : ScalarOp::kBitNot)(call);
}

void square(OpCall& call) {
  const Rule self = call.operand("self", opmath(call.type().dtype));
  call.map([&](const Index& i) {
    const ScalarRef x = self(i);
    return binary(ScalarOp::kMul, x, x);
  });
}

void add_tests(LowerTable& table) {
  table["logical_not.default"] =
      test_op([](const ScalarRef& x) { return binary(ScalarOp::kEqual, x, 0); });
  table["isnan.default"] = test_op([](const ScalarRef& x) {
    return tensor::is_floating(x->dtype) ? unary(ScalarOp::kIsNan, x) : boolean(false);
  });
  table["isinf.default"] = test_op([](const ScalarRef& x) {
    return tensor::is_floating(x->dtype) ? unary(ScalarOp::kIsInf, x) : boolean(false);
  });
  table["isfinite.default"] = test_op([](const ScalarRef& x) {
    if (!tensor::is_floating(x->dtype)) return boolean(true);
    return unary(ScalarOp::kNot,
                 binary(ScalarOp::kOr, unary(ScalarOp::kIsNan, x), unary(ScalarOp::kIsInf, x)));
  });
  table["isposinf.default"] =
      test_op([](const ScalarRef& x) { return binary(ScalarOp::kEqual, x, HUGE_VAL); });
  table["isneginf.default"] =
      test_op([](const ScalarRef& x) { return binary(ScalarOp::kEqual, x, -HUGE_VAL); });
}

}  // namespace

void add_elementwise_unary(LowerTable& table) {
  for (const auto& [name, op] : kFunctions) table[std::string(name) + ".default"] = unary_op(op);
  for (const auto& [name, op] : kRoundings) table[std::string(name) + ".default"] = rounding(op);
  add_tests(table);
  table["round.decimals"] = round_decimals;
  table["frac.default"] = frac;
  table["deg2rad.default"] = scaled_by(std::numbers::pi / 180);
  table["rad2deg.default"] = scaled_by(180 / std::numbers::pi);
  table["logit.default"] = logit;
  table["frexp.Tensor"] = frexp;
  table["nan_to_num.default"] = nan_to_num;
  table["bitwise_not.default"] = bitwise_not;
  table["square.default"] = square;
  table["_to_copy.default"] = to_copy;
}

}  // namespace kw::writer
