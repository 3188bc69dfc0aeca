// interpret(): each stage is turned into nodes with numbered variables, then walked for every
// element.
#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>
#include <optional>
#include <unordered_map>

#include "writer/loops/loops.h"
#include "writer/loops/scalar.h"

namespace kw::writer {
namespace {

using task::DType;

constexpr std::int64_t kMostElements = std::int64_t{1} << 28;

struct Number {  // the one that the dtype asks for
  double real = 0;
  std::int64_t whole = 0;
};

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

struct IntCode {
  struct Factor {
    int slot = -1;  // -1: a call
    IntFunction function = IntFunction::kFloorDiv;
    int a = 0, b = 0;
  };
  struct Term {
    std::int64_t coefficient = 0;
    std::vector<Factor> factors;
  };
  std::vector<Term> terms;
};

struct Code {
  DType dtype = DType::kFloat32;
  enum class Kind { kConstant, kIndex, kLoad, kCall, kCast, kReduced } kind = Kind::kConstant;
  Number constant;
  int expr = 0;
  std::size_t buffer = 0;
  ScalarOp op = ScalarOp::kNeg;
  std::vector<int> arguments;
};

struct Data {
  DType dtype = DType::kFloat32;
  std::vector<std::int64_t> shape;
  std::vector<double> reals;
  std::vector<std::int64_t> wholes;
  bool floating() const { return task::is_floating(dtype); }
  std::size_t count() const { return floating() ? reals.size() : wholes.size(); }
  Number get(std::size_t i) const {
    return floating() ? Number{.real = reals[i]} : Number{.whole = wholes[i]};
  }
};

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

class Interpreter {
 public:
  Interpreter(const Program& program, const std::map<std::string, std::int64_t>& sizes,
              Rounding rounding)
      : program_(program), sizes_(sizes), rounding_(rounding) {
    for (const auto& [name, value] : sizes) {
      slots_.emplace(name, static_cast<int>(variables_.size()));
      variables_.push_back(value);
    }
  }

  Result<std::vector<std::vector<double>>> run(const std::vector<std::vector<double>>& inputs) {
    KW_TRY_STATUS(allocate(inputs));
    for (const Step& step : program_.steps) {
      KW_TRY_STATUS(std::visit([&](const auto& each) { return run_step(each); }, step));
      if (!failure_.empty()) return fail(ErrorCode::kInvalidArgument, "{}", failure_);
    }
    std::vector<std::vector<double>> out;
    for (BufferId id : program_.outputs) {
      const Data& data = data_[static_cast<std::size_t>(id)];
      if (data.floating())
        out.push_back(data.reals);
      else
        out.emplace_back(data.wholes.begin(), data.wholes.end());
    }
    return out;
  }

 private:
  Status allocate(const std::vector<std::vector<double>>& inputs) {
    std::size_t next = 0;
    for (const Buffer& buffer : program_.buffers) {
      Data data{.dtype = buffer.type.dtype, .shape = {}, .reals = {}, .wholes = {}};
      std::int64_t count = 1;
      for (const IntExpr& each : buffer.type.shape) {
        KW_TRY(std::int64_t extent, each.evaluate(sizes_));
        if (extent < 0 || __builtin_mul_overflow(count, extent, &count) || count > kMostElements)
          return fail(ErrorCode::kInvalidArgument, "{} has a size of {}", buffer.name, extent);
        data.shape.push_back(extent);
      }
      const auto size = static_cast<std::size_t>(count);
      if (data.floating())
        data.reals.resize(size);
      else
        data.wholes.resize(size);
      const bool given =
          buffer.kind == Buffer::Kind::kInput || buffer.kind == Buffer::Kind::kScalar;
      if (given) {
        if (next >= inputs.size() || inputs[next].size() != size)
          return fail(ErrorCode::kInvalidArgument, "input {} needs {} numbers", buffer.name, size);
        for (std::size_t i = 0; i < size; ++i)
          store(data, i, cast_real(data.dtype, inputs[next][i]));
        ++next;
      }
      data_.push_back(std::move(data));
    }
    if (next != inputs.size())
      return fail(ErrorCode::kInvalidArgument, "{} inputs instead of {}", inputs.size(), next);
    return {};
  }

  // ---- from expressions to code ----
  int slot_of(const std::string& name) {
    auto [place, added] = slots_.emplace(name, static_cast<int>(variables_.size()));
    if (added) variables_.push_back(0);
    return place->second;
  }

  int compile(const IntExpr& expr) {
    IntCode code;
    for (const IntTerm& term : expr.sum()) {
      IntCode::Term out{.coefficient = term.coefficient, .factors = {}};
      for (const IntFactor& factor : term.factors) {
        IntCode::Factor each;
        if (factor.symbol.empty()) {
          each.function = factor.function;
          each.a = compile(factor.a);
          each.b = compile(factor.b);
        } else {
          each.slot = slot_of(factor.symbol);
        }
        out.factors.push_back(each);
      }
      code.terms.push_back(std::move(out));
    }
    ints_.push_back(std::move(code));
    return static_cast<int>(ints_.size() - 1);
  }

  int compile(const ScalarRef& value) {
    if (auto found = compiled_.find(value.get()); found != compiled_.end()) return found->second;
    Code code;
    code.dtype = value->dtype;
    if (const auto* constant = std::get_if<Scalar::Constant>(&value->node)) {
      code.constant = {constant->number, constant->integer};
      if (task::is_floating(code.dtype)) code.constant.real = round(code.dtype, constant->number);
    } else if (const auto* index = std::get_if<Scalar::Index>(&value->node)) {
      code.kind = Code::Kind::kIndex;
      code.expr = compile(index->expr);
    } else if (const auto* load = std::get_if<Scalar::Load>(&value->node)) {
      code.kind = Code::Kind::kLoad;
      code.buffer = static_cast<std::size_t>(load->buffer);
      for (const ScalarRef& each : load->index) code.arguments.push_back(compile(each));
    } else if (const auto* called = std::get_if<Scalar::Call>(&value->node)) {
      code.kind = Code::Kind::kCall;
      code.op = called->op;
      for (const ScalarRef& each : called->arguments) code.arguments.push_back(compile(each));
    } else if (const auto* casted = std::get_if<Scalar::Cast>(&value->node)) {
      code.kind = Code::Kind::kCast;
      code.arguments = {compile(casted->value)};
    } else {
      code.kind = Code::Kind::kReduced;
    }
    codes_.push_back(std::move(code));
    compiled_.emplace(value.get(), static_cast<int>(codes_.size() - 1));
    return static_cast<int>(codes_.size() - 1);
  }

  // ---- values ----
  double round(DType dtype, double value) const {
    return rounding_ == Rounding::kDtype ? rounded(dtype, value) : value;
  }
  Number real(DType dtype, double value) const { return {.real = round(dtype, value)}; }
  static Number whole(DType dtype, std::int64_t value) { return {.whole = wrapped(dtype, value)}; }

  Number cast_real(DType dtype, double value) const {
    if (task::is_floating(dtype)) return real(dtype, value);
    if (dtype == DType::kBool) return whole(dtype, value != 0 ? 1 : 0);
    if (!(std::abs(value) < 9.2e18)) return whole(dtype, std::numeric_limits<std::int64_t>::min());
    return whole(dtype, static_cast<std::int64_t>(value));
  }
  Number cast_number(DType from, DType to, const Number& value) const {
    if (task::is_floating(from)) return cast_real(to, value.real);
    return task::is_floating(to) ? real(to, static_cast<double>(value.whole))
                                 : whole(to, value.whole);
  }

  static void store(Data& data, std::size_t place, const Number& value) {
    if (data.floating())
      data.reals[place] = value.real;
    else
      data.wholes[place] = value.whole;
  }

  std::int64_t evaluate(int code) {
    std::int64_t sum = 0;
    for (const IntCode::Term& term : ints_[static_cast<std::size_t>(code)].terms) {
      std::int64_t product = term.coefficient;
      for (const IntCode::Factor& factor : term.factors) {
        if (factor.slot >= 0) {
          product *= variables_[static_cast<std::size_t>(factor.slot)];
          continue;
        }
        const std::int64_t a = evaluate(factor.a), b = evaluate(factor.b);
        if (factor.function == IntFunction::kMin)
          product *= std::min(a, b);
        else if (factor.function == IntFunction::kMax)
          product *= std::max(a, b);
        else
          product *= divided(factor.function == IntFunction::kFloorDiv, a, b);
      }
      sum += product;
    }
    return sum;
  }

  std::int64_t divided(bool quotient, std::int64_t a, std::int64_t b) {
    if (b == 0) {
      failure_ = "an integer division by 0";
      return 0;
    }
    if (b == -1) return quotient ? -a : 0;
    const std::int64_t floor = a / b - (a % b != 0 && (a < 0) != (b < 0) ? 1 : 0);
    return quotient ? floor : a - floor * b;
  }

  // Row-major place of an index; nullopt, and a failure, where it is out of bounds.
  std::optional<std::size_t> place(const Data& data, const std::vector<int>& index,
                                   const std::string& name) {
    std::int64_t out = 0;
    for (std::size_t d = 0; d < index.size(); ++d) {
      const std::int64_t at = evaluate_scalar(index[d]).whole;
      if (d >= data.shape.size() || at < 0 || at >= data.shape[d]) {
        failure_ = fmt::format("index {} of dimension {} of {} is out of bounds", at, d, name);
        return std::nullopt;
      }
      out = out * data.shape[d] + at;
    }
    if (index.size() != data.shape.size()) {
      failure_ = fmt::format("{} indices into {}", index.size(), name);
      return std::nullopt;
    }
    return static_cast<std::size_t>(out);
  }

  Number evaluate_scalar(int id) {
    const Code& code = codes_[static_cast<std::size_t>(id)];
    switch (code.kind) {
      case Code::Kind::kConstant:
        return code.constant;
      case Code::Kind::kIndex:
        return {.whole = evaluate(code.expr)};
      case Code::Kind::kReduced:
        return reduced_;
      case Code::Kind::kLoad: {
        const Data& data = data_[code.buffer];
        const auto at = place(data, code.arguments, program_.buffers[code.buffer].name);
        return at ? data.get(*at) : Number{};
      }
      case Code::Kind::kCast: {
        const int from = code.arguments[0];
        return cast_number(codes_[static_cast<std::size_t>(from)].dtype, code.dtype,
                           evaluate_scalar(from));
      }
      case Code::Kind::kCall:
        break;
    }
    if (code.op == ScalarOp::kSelect)
      return evaluate_scalar(code.arguments[evaluate_scalar(code.arguments[0]).whole != 0 ? 1 : 2]);
    const DType of = codes_[static_cast<std::size_t>(code.arguments[0])].dtype;
    const Number a = evaluate_scalar(code.arguments[0]);
    if (code.op == ScalarOp::kAnd && a.whole == 0) return {};
    if (code.op == ScalarOp::kOr && a.whole != 0) return {.whole = 1};
    const Number b = code.arguments.size() > 1 ? evaluate_scalar(code.arguments[1]) : Number{};
    if (task::is_floating(of)) return of_reals(code, a.real, b.real);
    return whole(code.dtype, of_wholes(code, a.whole, b.whole));
  }

  Number of_reals(const Code& code, double a, double b) const {
    const auto test = [](bool value) { return Number{.whole = value ? 1 : 0}; };
    switch (code.op) {
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
        return real(code.dtype, real_value(code.op, a, b));
    }
  }

  static double real_value(ScalarOp op, double a, double b) {
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
      case ScalarOp::kLgamma:
        return std::lgamma(a);
      case ScalarOp::kFrexpFraction: {
        int exponent = 0;
        return std::frexp(a, &exponent);
      }
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

  static double remainder_of(double a, double b) {
    const double out = std::fmod(a, b);
    return out != 0 && (out < 0) != (b < 0) ? out + b : out;
  }

  std::int64_t of_wholes(const Code& code, std::int64_t a, std::int64_t b) {
    const auto wrap = [](std::uint64_t value) { return static_cast<std::int64_t>(value); };
    const auto ua = static_cast<std::uint64_t>(a), ub = static_cast<std::uint64_t>(b);
    switch (code.op) {
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
        return divided(true, a, b);
      case ScalarOp::kRemainder:
        return divided(false, a, b);
      case ScalarOp::kDiv:  // towards 0
      case ScalarOp::kFmod: {
        if (b == 0 || b == -1) return divided(code.op == ScalarOp::kDiv, a, b);
        return code.op == ScalarOp::kDiv ? a / b : a % b;
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
        failure_ = fmt::format("{} of integers", to_string(code.op));
        return 0;
    }
  }

  // ---- steps ----
  struct Range {
    int slot = 0;
    std::int64_t extent = 0;
  };

  Result<std::vector<Range>> ranges_of(const std::vector<Loop>& loops) {
    std::vector<Range> out;
    for (const Loop& loop : loops) {
      KW_TRY(std::int64_t extent, loop.extent.evaluate(sizes_));
      out.push_back({slot_of(loop.variable), extent});
    }
    return out;
  }

  template <typename Body>
  void for_all(const std::vector<Range>& ranges, const Body& body, std::size_t depth = 0) {
    if (!failure_.empty()) return;
    if (depth == ranges.size()) return body();
    for (std::int64_t i = 0; i < ranges[depth].extent; ++i) {
      variables_[static_cast<std::size_t>(ranges[depth].slot)] = i;
      for_all(ranges, body, depth + 1);
    }
  }

  // A reduction or scan so far. Sums stay in float64 until the end.
  struct Accumulator {
    ReduceOp op = ReduceOp::kSum;
    bool floating = true, last_of_equal = false;
    std::int64_t count = 0, best = 0;
    Number value = {};

    void start() {
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

    bool better(const Number& x) const {
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

    void take(const Number& x) {
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
  };

  Number result_of(const Accumulator& sum, DType accumulator) const {
    if (sum.op == ReduceOp::kArgMin || sum.op == ReduceOp::kArgMax) return {.whole = sum.best};
    return sum.floating ? real(accumulator, sum.value.real) : whole(accumulator, sum.value.whole);
  }

  static bool gives_place(ReduceOp op) {
    return op == ReduceOp::kArgMin || op == ReduceOp::kArgMax;
  }

  struct StageCode {
    int body = 0;
    std::optional<int> epilogue;
  };
  StageCode compile(const Stage& stage) {
    StageCode out{compile(stage.body), std::nullopt};
    if (stage.epilogue) out.epilogue = compile(stage.epilogue);
    return out;
  }

  Number finished(const StageCode& code, const Accumulator& sum, DType accumulator) {
    reduced_ = result_of(sum, accumulator);
    return code.epilogue ? evaluate_scalar(*code.epilogue) : reduced_;
  }

  Status check_dtype(const Stage& stage, const StageCode& code, bool reduces) const {
    const auto dtype_of = [&](int id) { return codes_[static_cast<std::size_t>(id)].dtype; };
    const DType out = program_.buffers[static_cast<std::size_t>(stage.out)].type.dtype;
    const DType last = code.epilogue           ? dtype_of(*code.epilogue)
                       : !reduces              ? dtype_of(code.body)
                       : gives_place(stage.op) ? DType::kInt64
                                               : stage.accumulator;
    if (last != out || (reduces && dtype_of(code.body) != stage.accumulator))
      return fail(ErrorCode::kInternal, "{}: a value of another dtype than its place's",
                  stage.label);
    return {};
  }

  Status run_step(const Stage& stage) {
    KW_TRY(const auto loops, ranges_of(stage.loops));
    KW_TRY(const auto reduced, ranges_of(stage.reduced));
    const StageCode code = compile(stage);
    const bool reduces = !reduced.empty();
    KW_TRY_STATUS(check_dtype(stage, code, reduces));
    Data& out = data_[static_cast<std::size_t>(stage.out)];
    Accumulator sum{.op = stage.op, .floating = task::is_floating(stage.accumulator)};
    std::size_t next = 0;
    for_all(loops, [&] {
      if (next >= out.count()) {
        failure_ = stage.label + ": more elements than its buffer has";
        return;
      }
      if (!reduces) return store(out, next++, evaluate_scalar(code.body));
      sum.start();
      for_all(reduced, [&] { sum.take(evaluate_scalar(code.body)); });
      store(out, next++, finished(code, sum, stage.accumulator));
    });
    if (failure_.empty() && next != out.count())
      failure_ = stage.label + ": fewer elements than its buffer has";
    if (!failure_.empty()) failure_ = stage.label + ": " + failure_;
    return {};
  }

  Status run_step(const Scan& scan) {
    const Stage& stage = scan.stage;
    KW_TRY(auto loops, ranges_of(stage.loops));
    const StageCode code = compile(stage);
    KW_TRY_STATUS(check_dtype(stage, code, true));
    Data& out = data_[static_cast<std::size_t>(stage.out)];
    Accumulator sum{.op = stage.op,
                    .floating = task::is_floating(stage.accumulator),
                    .last_of_equal = gives_place(stage.op)};
    const Range axis = loops[scan.axis];
    std::int64_t inner = 1, outer = 0;
    for (std::size_t d = scan.axis + 1; d < loops.size(); ++d) inner *= loops[d].extent;
    loops.erase(loops.begin() + static_cast<std::ptrdiff_t>(scan.axis));
    for_all(loops, [&] {
      sum.start();
      const std::int64_t start = outer / inner * inner * axis.extent + outer % inner;
      ++outer;
      for (std::int64_t k = 0; k < axis.extent; ++k) {
        const std::int64_t i = scan.reversed ? axis.extent - 1 - k : k;
        variables_[static_cast<std::size_t>(axis.slot)] = i;
        sum.take(evaluate_scalar(code.body));
        store(out, static_cast<std::size_t>(start + i * inner),
              finished(code, sum, stage.accumulator));
      }
    });
    return {};
  }

  Status run_step(const Sort& sort) {
    const Data& in = data_[static_cast<std::size_t>(sort.in)];
    Data &values = data_[static_cast<std::size_t>(sort.values)],
         &indices = data_[static_cast<std::size_t>(sort.indices)];
    const auto length = static_cast<std::size_t>(in.shape.back());
    std::size_t kept = length;
    if (sort.first) {
      KW_TRY(std::int64_t first, sort.first->evaluate(sizes_));
      if (first < 0 || static_cast<std::size_t>(first) > length)
        return fail(ErrorCode::kInvalidArgument, "{}: {} of {}", sort.label, first, length);
      kept = static_cast<std::size_t>(first);
    }
    std::vector<std::size_t> order(length);
    for (std::size_t row = 0; length > 0 && row < in.count() / length; ++row) {
      std::iota(order.begin(), order.end(), row * length);
      std::stable_sort(order.begin(), order.end(), [&](std::size_t x, std::size_t y) {
        if (sort.descending) std::swap(x, y);
        if (!in.floating()) return in.wholes[x] < in.wholes[y];
        if (std::isnan(in.reals[x])) return false;
        return std::isnan(in.reals[y]) || in.reals[x] < in.reals[y];
      });
      for (std::size_t k = 0; k < kept; ++k) {
        store(values, row * kept + k, in.get(order[k]));
        indices.wholes[row * kept + k] = static_cast<std::int64_t>(order[k] - row * length);
      }
    }
    return {};
  }

  Status run_step(const Scatter& scatter) {
    KW_TRY(const auto loops, ranges_of(scatter.loops));
    std::vector<int> index;
    for (const ScalarRef& each : scatter.index) index.push_back(compile(each));
    const int value = compile(scatter.value);
    const auto id = static_cast<std::size_t>(scatter.out);
    const DType dtype = data_[id].dtype;
    const bool floating = task::is_floating(dtype);
    static constexpr std::pair<ScatterOp, ScalarOp> kOps[] = {
        {ScatterOp::kAdd, ScalarOp::kAdd},
        {ScatterOp::kMultiply, ScalarOp::kMul},
        {ScatterOp::kMin, ScalarOp::kMin},
        {ScatterOp::kMax, ScalarOp::kMax}};
    Code code;
    code.dtype = dtype;
    for (const auto& [mine, op] : kOps) {
      if (mine == scatter.op) code.op = op;
    }
    for_all(loops, [&] {
      const Number x = evaluate_scalar(value);
      const auto at = place(data_[id], index, program_.buffers[id].name);
      if (!at) return;
      const Number old = data_[id].get(*at);
      if (scatter.op == ScatterOp::kAssign)
        store(data_[id], *at, x);
      else if (floating)
        store(data_[id], *at, of_reals(code, old.real, x.real));
      else
        store(data_[id], *at, whole(dtype, of_wholes(code, old.whole, x.whole)));
    });
    return {};
  }

  const Program& program_;
  const std::map<std::string, std::int64_t>& sizes_;
  Rounding rounding_;
  std::vector<Data> data_;
  std::unordered_map<std::string, int> slots_;
  std::vector<std::int64_t> variables_;
  std::vector<IntCode> ints_;
  std::vector<Code> codes_;
  std::unordered_map<const Scalar*, int> compiled_;
  Number reduced_;
  std::string failure_;
};

}  // namespace

Result<std::vector<std::vector<double>>> interpret(const Program& program,
                                                   const std::vector<std::vector<double>>& inputs,
                                                   const std::map<std::string, std::int64_t>& sizes,
                                                   Rounding rounding) {
  return Interpreter(program, sizes, rounding).run(inputs);
}

}  // namespace kw::writer
