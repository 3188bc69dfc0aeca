#include "writer/loops/interpreted_numbers.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <optional>

#include "writer/loops/scalar.h"

namespace kw::writer {
namespace {

using tensor::DType;

// Nearest value of `bits` binary digits with exponents from `least` on; past `most`: infinity.
double rounded_to(double value, int bits, int least, double most, bool infinite) {
  if (value == 0 || !std::isfinite(value)) return value;
  const int exponent = std::max(std::ilogb(value), least) - (bits - 1);
  const double out = std::ldexp(std::nearbyint(std::ldexp(value, -exponent)), exponent);
  if (std::abs(out) <= most) return out;
  return infinite ? std::copysign(HUGE_VAL, out) : std::numeric_limits<double>::quiet_NaN();
}

double rounded(DType dtype, double value) {
  if (dtype == DType::kFloat64) return value;
  const double single = static_cast<float>(value);
  switch (dtype) {
    case DType::kFloat16:
      return rounded_to(single, 11, -14, 65504, true);
    case DType::kBFloat16:
      return rounded_to(single, 8, -126, 0x1.FEp127, true);
    case DType::kFloat8E4M3Fn:
      return rounded_to(single, 4, -6, 448, false);
    case DType::kFloat8E5M2:
      return rounded_to(single, 3, -14, 57344, true);
    default:
      return single;
  }
}

std::int64_t wrapped(DType dtype, std::int64_t value) {
  switch (dtype) {
    case DType::kInt32:
      return static_cast<std::int32_t>(value);
    case DType::kInt16:
      return static_cast<std::int16_t>(value);
    case DType::kInt8:
      return static_cast<std::int8_t>(value);
    case DType::kUInt8:
      return static_cast<std::uint8_t>(value);
    case DType::kBool:
      return value != 0 ? 1 : 0;
    default:
      return value;
  }
}

double erf_inverse(double y) {
  if (y <= -1 || y >= 1) return std::abs(y) == 1 ? std::copysign(HUGE_VAL, y) : std::nan("");
  // Winitzki's start, then Newton's steps.
  const double l = std::log1p(-y * y), a = 0.147, c = 2 / (M_PI * a) + l / 2;
  double x = std::copysign(std::sqrt(std::sqrt(c * c - l / a) - c), y);
  for (int step = 0; step < 4; ++step)
    x -= (std::erf(x) - y) / (2 / std::sqrt(M_PI) * std::exp(-x * x));
  return x;
}

double log_add_exp(double a, double b) {
  if (a == b && std::isinf(a)) return a;
  return std::max(a, b) + std::log1p(std::exp(-std::abs(a - b)));
}

double remainder_of(double a, double b) {
  const double out = std::fmod(a, b);
  return out != 0 && (out < 0) != (b < 0) ? out + b : out;
}

std::optional<double> unary_value(ScalarOp op, double a) {
  switch (op) {
    case ScalarOp::kNeg:
      return -a;
    case ScalarOp::kAbs:
      return std::abs(a);
    case ScalarOp::kSign:
      return std::isnan(a) ? a : a > 0 ? 1 : a < 0 ? -1 : 0;
    case ScalarOp::kExp:
      return std::exp(a);
    case ScalarOp::kExp2:
      return std::exp2(a);
    case ScalarOp::kExpm1:
      return std::expm1(a);
    case ScalarOp::kLog:
      return std::log(a);
    case ScalarOp::kLog2:
      return std::log2(a);
    case ScalarOp::kLog10:
      return std::log10(a);
    case ScalarOp::kLog1p:
      return std::log1p(a);
    case ScalarOp::kSqrt:
      return std::sqrt(a);
    case ScalarOp::kRsqrt:
      return 1 / std::sqrt(a);
    case ScalarOp::kReciprocal:
      return 1 / a;
    case ScalarOp::kSin:
      return std::sin(a);
    case ScalarOp::kCos:
      return std::cos(a);
    case ScalarOp::kTan:
      return std::tan(a);
    case ScalarOp::kAsin:
      return std::asin(a);
    case ScalarOp::kAcos:
      return std::acos(a);
    case ScalarOp::kAtan:
      return std::atan(a);
    case ScalarOp::kSinh:
      return std::sinh(a);
    case ScalarOp::kCosh:
      return std::cosh(a);
    case ScalarOp::kTanh:
      return std::tanh(a);
    case ScalarOp::kAsinh:
      return std::asinh(a);
    case ScalarOp::kAcosh:
      return std::acosh(a);
    case ScalarOp::kAtanh:
      return std::atanh(a);
    case ScalarOp::kErf:
      return std::erf(a);
    case ScalarOp::kErfc:
      return std::erfc(a);
    case ScalarOp::kErfinv:
      return erf_inverse(a);
    case ScalarOp::kSigmoid:
      return 1 / (1 + std::exp(-a));
    case ScalarOp::kFloor:
      return std::floor(a);
    case ScalarOp::kCeil:
      return std::ceil(a);
    case ScalarOp::kRound:
      return std::nearbyint(a);
    case ScalarOp::kTrunc:
      return std::trunc(a);
    case ScalarOp::kLgamma: {
      int sign = 0;
      return ::lgamma_r(a, &sign);
    }
    case ScalarOp::kFrexpFraction: {
      int exponent = 0;
      return std::frexp(a, &exponent);
    }
    default:
      return std::nullopt;
  }
}

double binary_value(ScalarOp op, double a, double b) {
  switch (op) {
    case ScalarOp::kAdd:
      return a + b;
    case ScalarOp::kSub:
      return a - b;
    case ScalarOp::kMul:
      return a * b;
    case ScalarOp::kDiv:
      return a / b;
    case ScalarOp::kFloorDiv:
      return b == 0 ? a / b : std::floor((a - remainder_of(a, b)) / b + 0.5);
    case ScalarOp::kRemainder:
      return remainder_of(a, b);
    case ScalarOp::kFmod:
      return std::fmod(a, b);
    case ScalarOp::kPow:
      return std::pow(a, b);
    case ScalarOp::kAtan2:
      return std::atan2(a, b);
    case ScalarOp::kHypot:
      return std::hypot(a, b);
    case ScalarOp::kMin:
      return std::isnan(a) || a < b ? a : b;
    case ScalarOp::kMax:
      return std::isnan(a) || a > b ? a : b;
    case ScalarOp::kFmin:
      return std::fmin(a, b);
    case ScalarOp::kFmax:
      return std::fmax(a, b);
    default:
      return std::nan("");  // bit operations: no operator makes one of reals
  }
}

double real_value(ScalarOp op, double a, double b) {
  const std::optional<double> of_one = unary_value(op, a);
  return of_one ? *of_one : binary_value(op, a, b);
}

}  // namespace

Number real_number(DType dtype, Rounding rounding, double value) {
  return {.real = rounding == Rounding::kDtype ? rounded(dtype, value) : value};
}

Number whole_number(DType dtype, std::int64_t value) {
  return {.whole = wrapped(dtype, value)};
}

Number cast_real(DType dtype, Rounding rounding, double value) {
  if (tensor::is_floating(dtype)) return real_number(dtype, rounding, value);
  if (dtype == DType::kBool) return whole_number(dtype, value != 0 ? 1 : 0);
  if (!(std::abs(value) < 9.2e18))
    return whole_number(dtype, std::numeric_limits<std::int64_t>::min());
  return whole_number(dtype, static_cast<std::int64_t>(value));
}

Number of_reals(ScalarOp op, DType dtype, Rounding rounding, double a, double b) {
  const auto test = [](bool value) { return Number{.whole = value ? 1 : 0}; };
  switch (op) {
    case ScalarOp::kIsNan:
      return test(std::isnan(a));
    case ScalarOp::kIsInf:
      return test(std::isinf(a));
    case ScalarOp::kEqual:
      return test(a == b);
    case ScalarOp::kNotEqual:
      return test(a != b);
    case ScalarOp::kLess:
      return test(a < b);
    case ScalarOp::kLessEqual:
      return test(a <= b);
    case ScalarOp::kGreater:
      return test(a > b);
    case ScalarOp::kGreaterEqual:
      return test(a >= b);
    case ScalarOp::kFrexpExponent: {
      int exponent = 0;
      if (std::isfinite(a)) std::frexp(a, &exponent);
      return {.whole = exponent};
    }
    default:
      return real_number(dtype, rounding, real_value(op, a, b));
  }
}

std::int64_t divided(bool quotient, std::int64_t a, std::int64_t b, std::string& failure) {
  if (b == 0) {
    failure = "an integer division by 0";
    return 0;
  }
  if (b == -1) return quotient ? -a : 0;
  const std::int64_t floor = a / b - (a % b != 0 && (a < 0) != (b < 0) ? 1 : 0);
  return quotient ? floor : a - floor * b;
}

std::int64_t of_wholes(ScalarOp op, std::int64_t a, std::int64_t b, std::string& failure) {
  const auto wrap = [](std::uint64_t value) { return static_cast<std::int64_t>(value); };
  const auto ua = static_cast<std::uint64_t>(a), ub = static_cast<std::uint64_t>(b);
  switch (op) {
    case ScalarOp::kNeg:
      return wrap(-ua);
    case ScalarOp::kAbs:
      return a < 0 ? wrap(-ua) : a;
    case ScalarOp::kSign:
      return (a > 0 ? 1 : 0) - (a < 0 ? 1 : 0);
    case ScalarOp::kNot:
      return a == 0 ? 1 : 0;
    case ScalarOp::kBitNot:
      return ~a;
    case ScalarOp::kAdd:
      return wrap(ua + ub);
    case ScalarOp::kSub:
      return wrap(ua - ub);
    case ScalarOp::kMul:
      return wrap(ua * ub);
    case ScalarOp::kFloorDiv:
      return divided(true, a, b, failure);
    case ScalarOp::kRemainder:
      return divided(false, a, b, failure);
    case ScalarOp::kDiv:  // towards 0
    case ScalarOp::kFmod: {
      if (b == 0 || b == -1) return divided(op == ScalarOp::kDiv, a, b, failure);
      return op == ScalarOp::kDiv ? a / b : a % b;
    }
    case ScalarOp::kPow: {
      std::uint64_t out = 1;
      if (b < 0) return a == 1 ? 1 : a == -1 ? (b % 2 != 0 ? -1 : 1) : 0;
      for (std::uint64_t base = ua, left = ub; left > 0; left >>= 1U, base *= base) {
        if ((left & 1U) != 0) out *= base;
      }
      return wrap(out);
    }
    case ScalarOp::kMin:
    case ScalarOp::kFmin:
      return std::min(a, b);
    case ScalarOp::kMax:
    case ScalarOp::kFmax:
      return std::max(a, b);
    case ScalarOp::kEqual:
      return a == b ? 1 : 0;
    case ScalarOp::kNotEqual:
      return a != b ? 1 : 0;
    case ScalarOp::kLess:
      return a < b ? 1 : 0;
    case ScalarOp::kLessEqual:
      return a <= b ? 1 : 0;
    case ScalarOp::kGreater:
      return a > b ? 1 : 0;
    case ScalarOp::kGreaterEqual:
      return a >= b ? 1 : 0;
    case ScalarOp::kAnd:
      return a != 0 && b != 0 ? 1 : 0;
    case ScalarOp::kOr:
      return a != 0 || b != 0 ? 1 : 0;
    case ScalarOp::kXor:
      return (a != 0) != (b != 0) ? 1 : 0;
    case ScalarOp::kBitAnd:
      return a & b;
    case ScalarOp::kBitOr:
      return a | b;
    case ScalarOp::kBitXor:
      return a ^ b;
    case ScalarOp::kShiftLeft:
      return ub > 63 ? 0 : wrap(ua << ub);
    case ScalarOp::kShiftRight:
      return ub > 63 ? (a < 0 ? -1 : 0) : a >> ub;
    default:
      failure = fmt::format("{} of integers", to_string(op));
      return 0;
  }
}

void RunningReduction::start() {
  count = best = 0;
  value = {};
  if (op == ReduceOp::kProd) value = {1, 1};
  if (op == ReduceOp::kAll) value.whole = 1;
  if (op == ReduceOp::kLogAddExp) value.real = -HUGE_VAL;
  if (op == ReduceOp::kMin || op == ReduceOp::kMax) {
    const bool min = op == ReduceOp::kMin;
    value = {min ? HUGE_VAL : -HUGE_VAL, min ? std::numeric_limits<std::int64_t>::max()
                                             : std::numeric_limits<std::int64_t>::min()};
  }
}

bool RunningReduction::better(const Number& x) const {
  if (count == 0) return true;
  const bool min = op == ReduceOp::kArgMin || op == ReduceOp::kMin;
  if (floating) {
    if (std::isnan(value.real)) return last_of_equal && std::isnan(x.real);
    if (std::isnan(x.real)) return true;
    if (x.real == value.real) return last_of_equal;
    return min ? x.real < value.real : x.real > value.real;
  }
  if (x.whole == value.whole) return last_of_equal;
  return min ? x.whole < value.whole : x.whole > value.whole;
}

void RunningReduction::take(const Number& x) {
  switch (op) {
    case ReduceOp::kSum:
      value.real += x.real;
      value.whole = static_cast<std::int64_t>(static_cast<std::uint64_t>(value.whole) +
                                              static_cast<std::uint64_t>(x.whole));
      break;
    case ReduceOp::kProd:
      value.real *= x.real;
      value.whole = static_cast<std::int64_t>(static_cast<std::uint64_t>(value.whole) *
                                              static_cast<std::uint64_t>(x.whole));
      break;
    case ReduceOp::kAny:
      value.whole |= x.whole;
      break;
    case ReduceOp::kAll:
      value.whole &= x.whole;
      break;
    case ReduceOp::kLogAddExp:
      value.real = log_add_exp(value.real, x.real);
      break;
    default:
      if (better(x)) {
        value = x;
        best = count;
      }
  }
  ++count;
}

Number RunningReduction::result(DType dtype, Rounding rounding) const {
  if (gives_place(op)) return {.whole = best};
  return floating ? real_number(dtype, rounding, value.real) : whole_number(dtype, value.whole);
}

}  // namespace kw::writer
