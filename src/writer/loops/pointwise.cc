// Operators of one element at a time, besides activations.
#include <cmath>
#include <numbers>

#include "writer/loops/lowering.h"

namespace kw::writer {
namespace {

using task::DType;

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
    const bool whole = !task::is_floating(call.type().dtype);
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

LowerFunction binary_op(ScalarOp op) {
  return [op](OpCall& call) {
    const DType dtype = opmath(call.type().dtype);
    const Rule self = call.operand("self", dtype), other = call.operand("other", dtype);
    call.map([&](const Index& i) { return binary(op, self(i), other(i)); });
  };
}

DType compared(OpCall& call, const char* a, const char* b) {
  return opmath(promoted({call.tensor(a), call.tensor(b)}));
}

LowerFunction comparison(ScalarOp op) {
  return [op](OpCall& call) {
    const DType dtype = compared(call, "self", "other");
    const Rule self = call.operand("self", dtype), other = call.operand("other", dtype);
    call.map([&](const Index& i) { return binary(op, self(i), other(i)); });
  };
}

LowerFunction logical(ScalarOp op) {
  return [op](OpCall& call) {
    const Rule self = call.operand("self", DType::kBool),
               other = call.operand("other", DType::kBool);
    call.map([&](const Index& i) { return binary(op, self(i), other(i)); });
  };
}

// a + alpha * b; of booleans or, as torch's sum of them.
void add_scaled(OpCall& call, const char* left, const char* right, ScalarOp op) {
  const DType dtype = opmath(call.type().dtype);
  const Rule a = call.operand(left, dtype), b = call.operand(right, dtype);
  const bool scaled = call.given("alpha") && !call.is("alpha", 1);
  const ScalarRef alpha = call.scalar("alpha", dtype, 1);
  call.map([&](const Index& i) {
    if (dtype == DType::kBool) return binary(ScalarOp::kOr, a(i), b(i));
    const ScalarRef right_value = b(i);
    return binary(op, a(i), scaled ? binary(ScalarOp::kMul, alpha, right_value) : right_value);
  });
}

void multiply(OpCall& call) {
  const DType dtype = opmath(call.type().dtype);
  const Rule self = call.operand("self", dtype), other = call.operand("other", dtype);
  call.map([&](const Index& i) {
    return binary(dtype == DType::kBool ? ScalarOp::kAnd : ScalarOp::kMul, self(i), other(i));
  });
}

void divide(OpCall& call) {
  const DType dtype = opmath(call.type().dtype);
  const Rule self = call.operand("self", dtype), other = call.operand("other", dtype);
  const std::string mode = call.text("rounding_mode");
  const bool floating = task::is_floating(dtype);
  call.map([&](const Index& i) {
    const ScalarRef a = self(i), b = other(i);
    if (mode == "floor") return binary(ScalarOp::kFloorDiv, a, b);
    if (mode == "trunc" && floating) return unary(ScalarOp::kTrunc, binary(ScalarOp::kDiv, a, b));
    return binary(ScalarOp::kDiv, a, b);
  });
}

void power(OpCall& call) {
  const DType dtype = opmath(call.type().dtype);
  const Rule self = call.operand("self", dtype);
  const Tensor exponent = call.tensor("exponent");
  if (exponent.number) {
    const ScalarRef value = call.at.read(exponent, {});
    const auto* constant = std::get_if<Scalar::Constant>(&value->node);
    if (constant != nullptr) {
      const double number = task::is_floating(value->dtype)
                                ? constant->number
                                : static_cast<double>(constant->integer);
      const bool floating = task::is_floating(dtype);
      const auto times = [](const ScalarRef& a, const ScalarRef& b) {
        return binary(ScalarOp::kMul, a, b);
      };
      std::function<ScalarRef(const ScalarRef&)> known;
      if (number == 1)
        known = [](const ScalarRef& x) { return x; };
      else if (number == 2)
        known = [&](const ScalarRef& x) { return times(x, x); };
      else if (number == 3)
        known = [&](const ScalarRef& x) { return times(times(x, x), x); };
      else if (number == 4)
        known = [&](const ScalarRef& x) {
          const ScalarRef square = times(x, x);
          return times(square, square);
        };
      else if (floating && number == 0.5)
        known = [](const ScalarRef& x) { return unary(ScalarOp::kSqrt, x); };
      else if (floating && number == -0.5)
        known = [](const ScalarRef& x) { return unary(ScalarOp::kRsqrt, x); };
      else if (floating && number == -1)
        known = [](const ScalarRef& x) { return unary(ScalarOp::kReciprocal, x); };
      else if (floating && number == -2)
        known = [&](const ScalarRef& x) { return unary(ScalarOp::kReciprocal, times(x, x)); };
      if (known) return call.map([&](const Index& i) { return known(self(i)); });
    }
  }
  const Rule raised = call.operand(exponent, call.type().shape, dtype);
  call.map([&](const Index& i) { return binary(ScalarOp::kPow, self(i), raised(i)); });
}

void xlogy(OpCall& call) {
  const DType dtype = opmath(call.type().dtype);
  const Rule self = call.operand("self", dtype), other = call.operand("other", dtype);
  call.map([&](const Index& i) {
    const ScalarRef x = self(i), y = other(i);
    const ScalarRef product = binary(ScalarOp::kMul, x, unary(ScalarOp::kLog, y));
    return select(unary(ScalarOp::kIsNan, y), y,
                  select(binary(ScalarOp::kEqual, x, 0), writer::number(dtype, 0), product));
  });
}

void logaddexp(OpCall& call, ScalarOp exponential, ScalarOp logarithm, double base_log) {
  const DType dtype = opmath(call.type().dtype);
  const Rule self = call.operand("self", dtype), other = call.operand("other", dtype);
  call.map([&](const Index& i) {
    const ScalarRef a = self(i), b = other(i);
    const ScalarRef larger = binary(ScalarOp::kMax, a, b);
    const ScalarRef gap =
        unary(ScalarOp::kNeg, unary(ScalarOp::kAbs, binary(ScalarOp::kSub, a, b)));
    ScalarRef rest = unary(logarithm, unary(exponential, gap));
    if (base_log != 1) rest = binary(ScalarOp::kMul, rest, 1 / base_log);
    // Equal infinities have no difference.
    const ScalarRef same = logical_and(unary(ScalarOp::kIsInf, a), binary(ScalarOp::kEqual, a, b));
    return select(same, a, binary(ScalarOp::kAdd, larger, rest));
  });
}

void where(OpCall& call) {
  const DType dtype = call.type().dtype;
  const Rule condition = call.operand("condition", DType::kBool);
  const Rule self = call.operand("self", dtype), other = call.operand("other", dtype);
  call.map([&](const Index& i) { return select(condition(i), self(i), other(i)); });
}

void masked_fill(OpCall& call) {
  const DType dtype = call.type().dtype;
  const Rule self = call.operand("self", dtype), mask = call.operand("mask", DType::kBool);
  const ScalarRef value = call.scalar("value", dtype);
  call.map([&](const Index& i) { return select(mask(i), value, self(i)); });
}

void clamp(OpCall& call) {
  const DType dtype = opmath(call.type().dtype);
  const Rule self = call.operand("self", dtype);
  std::optional<Rule> low, high;
  if (call.given("min")) low = call.operand("min", dtype);
  if (call.given("max")) high = call.operand("max", dtype);
  call.map([&](const Index& i) {
    ScalarRef out = self(i);
    if (low) out = binary(ScalarOp::kMax, out, (*low)(i));
    return high ? binary(ScalarOp::kMin, out, (*high)(i)) : out;
  });
}

// From the nearer end, as ATen's lerp.
void lerp(OpCall& call) {
  const DType dtype = opmath(call.type().dtype);
  const Rule self = call.operand("self", dtype), end = call.operand("end", dtype),
             weight = call.operand("weight", dtype);
  call.map([&](const Index& i) {
    const ScalarRef a = self(i), b = end(i), w = weight(i);
    const ScalarRef gap = binary(ScalarOp::kSub, b, a);
    const ScalarRef from_start = binary(ScalarOp::kAdd, a, binary(ScalarOp::kMul, w, gap));
    const ScalarRef from_end =
        binary(ScalarOp::kSub, b, binary(ScalarOp::kMul, gap, binary(ScalarOp::kSub, 1.0, w)));
    return select(binary(ScalarOp::kLess, unary(ScalarOp::kAbs, w), 0.5), from_start, from_end);
  });
}

LowerFunction add_combined(ScalarOp op) {
  return [op](OpCall& call) {
    const DType dtype = opmath(call.type().dtype);
    const Rule self = call.operand("self", dtype), a = call.operand("tensor1", dtype),
               b = call.operand("tensor2", dtype);
    const ScalarRef value = call.scalar("value", dtype, 1);
    const bool scaled = call.given("value") && !call.is("value", 1);
    call.map([&](const Index& i) {
      const ScalarRef left = a(i);
      return binary(ScalarOp::kAdd, self(i),
                    binary(op, scaled ? binary(ScalarOp::kMul, value, left) : left, b(i)));
    });
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
  if (!task::is_floating(dtype)) return call.set(call.tensor("self"));
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

void copysign(OpCall& call) {
  const DType dtype = opmath(call.type().dtype);
  const Rule self = call.operand("self", dtype), other = call.operand("other", dtype);
  call.map([&](const Index& i) {
    const ScalarRef size = unary(ScalarOp::kAbs, self(i)), sign = other(i);
    // 1 / -0 is negative too.
    const ScalarRef negative =
        binary(ScalarOp::kOr, binary(ScalarOp::kLess, sign, 0),
               logical_and(binary(ScalarOp::kEqual, sign, 0),
                           binary(ScalarOp::kLess, binary(ScalarOp::kDiv, 1.0, sign), 0)));
    return select(negative, unary(ScalarOp::kNeg, size), size);
  });
}

LowerFunction scaled_by(double factor) {
  return [factor](OpCall& call) {
    const Rule self = call.operand("self", opmath(call.type().dtype));
    call.map([&](const Index& i) { return binary(ScalarOp::kMul, self(i), factor); });
  };
}

}  // namespace

void add_pointwise(LowerTable& table) {
  for (const auto& [name, op] : std::initializer_list<std::pair<const char*, ScalarOp>>{
           {"abs", ScalarOp::kAbs},
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
           {"lgamma", ScalarOp::kLgamma}})
    table[std::string(name) + ".default"] = unary_op(op);
  for (const auto& [name, op] :
       std::initializer_list<std::pair<const char*, ScalarOp>>{{"floor", ScalarOp::kFloor},
                                                               {"ceil", ScalarOp::kCeil},
                                                               {"round", ScalarOp::kRound},
                                                               {"trunc", ScalarOp::kTrunc},
                                                               {"fix", ScalarOp::kTrunc}})
    table[std::string(name) + ".default"] = rounding(op);
  table["round.decimals"] = round_decimals;
  table["frac.default"] = frac;
  table["deg2rad.default"] = scaled_by(std::numbers::pi / 180);
  table["rad2deg.default"] = scaled_by(180 / std::numbers::pi);
  table["logit.default"] = logit;
  table["frexp.Tensor"] = frexp;
  table["nan_to_num.default"] = nan_to_num;
  table["bitwise_not.default"] = [](OpCall& call) {
    unary_op(call.type().dtype == DType::kBool ? ScalarOp::kNot : ScalarOp::kBitNot)(call);
  };
  table["logical_not.default"] =
      test_op([](const ScalarRef& x) { return binary(ScalarOp::kEqual, x, 0); });
  table["isnan.default"] = test_op([](const ScalarRef& x) {
    return task::is_floating(x->dtype) ? unary(ScalarOp::kIsNan, x) : boolean(false);
  });
  table["isinf.default"] = test_op([](const ScalarRef& x) {
    return task::is_floating(x->dtype) ? unary(ScalarOp::kIsInf, x) : boolean(false);
  });
  table["isfinite.default"] = test_op([](const ScalarRef& x) {
    if (!task::is_floating(x->dtype)) return boolean(true);
    return unary(ScalarOp::kNot,
                 binary(ScalarOp::kOr, unary(ScalarOp::kIsNan, x), unary(ScalarOp::kIsInf, x)));
  });
  table["isposinf.default"] =
      test_op([](const ScalarRef& x) { return binary(ScalarOp::kEqual, x, HUGE_VAL); });
  table["isneginf.default"] =
      test_op([](const ScalarRef& x) { return binary(ScalarOp::kEqual, x, -HUGE_VAL); });

  const auto both = [&](const std::string& name, const LowerFunction& function) {
    table[name + ".Tensor"] = table[name + ".Scalar"] = function;
  };
  both("add", [](OpCall& call) { add_scaled(call, "self", "other", ScalarOp::kAdd); });
  both("sub", [](OpCall& call) { add_scaled(call, "self", "other", ScalarOp::kSub); });
  both("rsub", [](OpCall& call) { add_scaled(call, "other", "self", ScalarOp::kSub); });
  both("mul", multiply);
  both("div", divide);
  table["div.Tensor_mode"] = table["div.Scalar_mode"] = divide;
  table["true_divide.Tensor"] = divide;
  table["floor_divide.default"] = table["floor_divide.Scalar"] = binary_op(ScalarOp::kFloorDiv);
  both("remainder", binary_op(ScalarOp::kRemainder));
  table["remainder.Scalar_Tensor"] = binary_op(ScalarOp::kRemainder);
  both("fmod", binary_op(ScalarOp::kFmod));
  for (const char* overload : {"Tensor_Scalar", "Tensor_Tensor", "Scalar"})
    table[std::string("pow.") + overload] = power;
  table["square.default"] = [](OpCall& call) {
    const Rule self = call.operand("self", opmath(call.type().dtype));
    call.map([&](const Index& i) {
      const ScalarRef x = self(i);
      return binary(ScalarOp::kMul, x, x);
    });
  };
  for (const auto& [name, op] : std::initializer_list<std::pair<const char*, ScalarOp>>{
           {"atan2.default", ScalarOp::kAtan2},
           {"hypot.default", ScalarOp::kHypot},
           {"maximum.default", ScalarOp::kMax},
           {"minimum.default", ScalarOp::kMin},
           {"max.other", ScalarOp::kMax},
           {"min.other", ScalarOp::kMin},
           {"fmax.default", ScalarOp::kFmax},
           {"fmin.default", ScalarOp::kFmin},
           {"__lshift__.Tensor", ScalarOp::kShiftLeft},
           {"__lshift__.Scalar", ScalarOp::kShiftLeft},
           {"__rshift__.Tensor", ScalarOp::kShiftRight},
           {"__rshift__.Scalar", ScalarOp::kShiftRight}})
    table[name] = binary_op(op);
  for (const char* name : {"bitwise_left_shift.Tensor", "bitwise_left_shift.Tensor_Scalar",
                           "bitwise_left_shift.Scalar_Tensor"})
    table[name] = binary_op(ScalarOp::kShiftLeft);
  for (const char* name : {"bitwise_right_shift.Tensor", "bitwise_right_shift.Tensor_Scalar",
                           "bitwise_right_shift.Scalar_Tensor"})
    table[name] = binary_op(ScalarOp::kShiftRight);
  for (const auto& [name, of_bits, of_booleans] :
       std::initializer_list<std::tuple<const char*, ScalarOp, ScalarOp>>{
           {"and", ScalarOp::kBitAnd, ScalarOp::kAnd},
           {"or", ScalarOp::kBitOr, ScalarOp::kOr},
           {"xor", ScalarOp::kBitXor, ScalarOp::kXor}}) {
    const LowerFunction bitwise = [bits = of_bits, booleans = of_booleans](OpCall& call) {
      binary_op(call.type().dtype == DType::kBool ? booleans : bits)(call);
    };
    both(std::string("bitwise_") + name, bitwise);
    table[std::string("bitwise_") + name + ".Scalar_Tensor"] = bitwise;
    both(std::string("__") + name + "__", bitwise);
    table[std::string("logical_") + name + ".default"] = logical(of_booleans);
  }
  for (const auto& [name, op] :
       std::initializer_list<std::pair<const char*, ScalarOp>>{{"eq", ScalarOp::kEqual},
                                                               {"ne", ScalarOp::kNotEqual},
                                                               {"lt", ScalarOp::kLess},
                                                               {"le", ScalarOp::kLessEqual},
                                                               {"gt", ScalarOp::kGreater},
                                                               {"ge", ScalarOp::kGreaterEqual}})
    both(name, comparison(op));
  for (const char* overload : {"Tensor", "Scalar_Other", "Scalar_Self"}) {
    table[std::string("xlogy.") + overload] = xlogy;
    table[std::string("copysign.") + overload] = copysign;
  }
  table["special_xlogy.default"] = xlogy;
  table["copysign.Scalar"] = copysign;
  table["logaddexp.default"] = [](OpCall& call) {
    logaddexp(call, ScalarOp::kExp, ScalarOp::kLog1p, 1);
  };
  table["logaddexp2.default"] = [](OpCall& call) {
    logaddexp(call, ScalarOp::kExp2, ScalarOp::kLog1p, std::log(2.0));
  };
  for (const char* overload : {"self", "ScalarSelf", "ScalarOther", "Scalar"})
    table[std::string("where.") + overload] = where;
  table["masked_fill.Scalar"] = table["masked_fill.Tensor"] = masked_fill;
  for (const char* name : {"clamp", "clip"})
    table[std::string(name) + ".default"] = table[std::string(name) + ".Tensor"] = clamp;
  for (const char* name : {"clamp_min", "clamp_max"})
    table[std::string(name) + ".default"] = table[std::string(name) + ".Tensor"] = clamp;
  table["lerp.Scalar"] = table["lerp.Tensor"] = lerp;
  table["addcmul.default"] = add_combined(ScalarOp::kMul);
  table["addcdiv.default"] = add_combined(ScalarOp::kDiv);
  table["_to_copy.default"] = to_copy;
}

}  // namespace kw::writer
