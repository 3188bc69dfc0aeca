// Operators of the elements of two or more tensors, besides activations.
#include <array>
#include <cmath>
#include <utility>

#include "writer/loops/lowering.h"

namespace kw::writer {
namespace {

using tensor::DType;

constexpr auto kBinary = std::to_array<std::pair<const char*, ScalarOp>>(
    {{"floor_divide.default", ScalarOp::kFloorDiv},
     {"floor_divide.Scalar", ScalarOp::kFloorDiv},
     {"remainder.Tensor", ScalarOp::kRemainder},
     {"remainder.Scalar", ScalarOp::kRemainder},
     {"remainder.Scalar_Tensor", ScalarOp::kRemainder},
     {"fmod.Tensor", ScalarOp::kFmod},
     {"fmod.Scalar", ScalarOp::kFmod},
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
     {"bitwise_left_shift.Tensor", ScalarOp::kShiftLeft},
     {"bitwise_left_shift.Tensor_Scalar", ScalarOp::kShiftLeft},
     {"bitwise_left_shift.Scalar_Tensor", ScalarOp::kShiftLeft},
     {"__rshift__.Tensor", ScalarOp::kShiftRight},
     {"__rshift__.Scalar", ScalarOp::kShiftRight},
     {"bitwise_right_shift.Tensor", ScalarOp::kShiftRight},
     {"bitwise_right_shift.Tensor_Scalar", ScalarOp::kShiftRight},
     {"bitwise_right_shift.Scalar_Tensor", ScalarOp::kShiftRight}});

constexpr auto kComparisons =
    std::to_array<std::pair<const char*, ScalarOp>>({{"eq", ScalarOp::kEqual},
                                                     {"ne", ScalarOp::kNotEqual},
                                                     {"lt", ScalarOp::kLess},
                                                     {"le", ScalarOp::kLessEqual},
                                                     {"gt", ScalarOp::kGreater},
                                                     {"ge", ScalarOp::kGreaterEqual}});

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
  const bool floating = tensor::is_floating(dtype);
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
      const double number = tensor::is_floating(value->dtype)
                                ? constant->number
                                : static_cast<double>(constant->integer);
      const bool floating = tensor::is_floating(dtype);
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

void add_both(LowerTable& table, const std::string& name, const LowerFunction& function) {
  table[name + ".Tensor"] = table[name + ".Scalar"] = function;
}

void add_arithmetic(LowerTable& table) {
  add_both(table, "add", [](OpCall& call) { add_scaled(call, "self", "other", ScalarOp::kAdd); });
  add_both(table, "sub", [](OpCall& call) { add_scaled(call, "self", "other", ScalarOp::kSub); });
  add_both(table, "rsub", [](OpCall& call) { add_scaled(call, "other", "self", ScalarOp::kSub); });
  add_both(table, "mul", multiply);
  add_both(table, "div", divide);
  for (const char* name : {"div.Tensor_mode", "div.Scalar_mode", "true_divide.Tensor"})
    table[name] = divide;
  for (const char* overload : {"Tensor_Scalar", "Tensor_Tensor", "Scalar"})
    table[std::string("pow.") + overload] = power;
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
  table["lerp.Scalar"] = table["lerp.Tensor"] = lerp;
  table["addcmul.default"] = add_combined(ScalarOp::kMul);
  table["addcdiv.default"] = add_combined(ScalarOp::kDiv);
}

// Of whole numbers bit by bit, of booleans as a whole.
void add_bitwise(LowerTable& table) {
  for (const auto& [name, of_bits, of_booleans] :
       std::initializer_list<std::tuple<const char*, ScalarOp, ScalarOp>>{
           {"and", ScalarOp::kBitAnd, ScalarOp::kAnd},
           {"or", ScalarOp::kBitOr, ScalarOp::kOr},
           {"xor", ScalarOp::kBitXor, ScalarOp::kXor}}) {
    const LowerFunction bitwise = [bits = of_bits, booleans = of_booleans](OpCall& call) {
      binary_op(call.type().dtype == DType::kBool ? booleans : bits)(call);
    };
    add_both(table, std::string("bitwise_") + name, bitwise);
    table[std::string("bitwise_") + name + ".Scalar_Tensor"] = bitwise;
    add_both(table, std::string("__") + name + "__", bitwise);
    table[std::string("logical_") + name + ".default"] = logical(of_booleans);
  }
}

void add_choices(LowerTable& table) {
  for (const char* overload : {"self", "ScalarSelf", "ScalarOther", "Scalar"})
    table[std::string("where.") + overload] = where;
  table["masked_fill.Scalar"] = table["masked_fill.Tensor"] = masked_fill;
  for (const char* name : {"clamp", "clip", "clamp_min", "clamp_max"})
    table[std::string(name) + ".default"] = table[std::string(name) + ".Tensor"] = clamp;
}

}  // namespace

void add_elementwise_nary(LowerTable& table) {
  for (const auto& [name, op] : kBinary) table[name] = binary_op(op);
  for (const auto& [name, op] : kComparisons) add_both(table, name, comparison(op));
  add_arithmetic(table);
  add_bitwise(table);
  add_choices(table);
}

}  // namespace kw::writer
