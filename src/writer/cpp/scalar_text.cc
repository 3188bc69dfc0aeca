#include "writer/cpp/scalar_text.h"

#include <cmath>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "base/check.h"
#include "writer/loops/scalar.h"

namespace kw::writer {

using tensor::DType;
using tensor::is_floating;

namespace {

// Numbers as they are: the shortest text that reads back to the same value.
std::string number_text(double number, DType dtype) {
  const bool wide = dtype == DType::kFloat64;
  const char* type = wide ? "double" : "float";
  if (std::isnan(number)) return fmt::format("std::numeric_limits<{}>::quiet_NaN()", type);
  if (std::isinf(number))
    return fmt::format("{}std::numeric_limits<{}>::infinity()", number < 0 ? "-" : "", type);
  std::string out =
      wide ? fmt::format("{}", number) : fmt::format("{}", static_cast<float>(number));
  if (out.find_first_of(".e") == std::string::npos) out += ".0";
  if (!wide) out += "f";
  return number < 0 || std::signbit(number) ? fmt::format("({})", out) : out;
}

std::string integer_text(std::int64_t integer, DType dtype) {
  if (dtype == DType::kBool) return integer != 0 ? "true" : "false";
  if (dtype != DType::kInt64) return fmt::format("{}", integer);
  if (integer == INT64_MIN) return "INT64_MIN";
  return integer < 0 ? fmt::format("INT64_C({})", integer) : fmt::format("{}", integer);
}

std::string_view unsigned_type(DType dtype) {
  switch (dtype) {
    case DType::kInt64:
      return "uint64_t";
    case DType::kInt32:
      return "uint32_t";
    case DType::kInt16:
      return "uint16_t";
    default:
      return "uint8_t";
  }
}

struct MathFunction {
  ScalarOp op;
  const char* name;  // of double; float: with f
};
// Each has a vector version in libmvec.
constexpr MathFunction kMath[] = {
    {ScalarOp::kExp, "exp"},     {ScalarOp::kExp2, "exp2"},   {ScalarOp::kExpm1, "expm1"},
    {ScalarOp::kLog, "log"},     {ScalarOp::kLog2, "log2"},   {ScalarOp::kLog10, "log10"},
    {ScalarOp::kLog1p, "log1p"}, {ScalarOp::kSin, "sin"},     {ScalarOp::kCos, "cos"},
    {ScalarOp::kTan, "tan"},     {ScalarOp::kAsin, "asin"},   {ScalarOp::kAcos, "acos"},
    {ScalarOp::kAtan, "atan"},   {ScalarOp::kSinh, "sinh"},   {ScalarOp::kCosh, "cosh"},
    {ScalarOp::kTanh, "tanh"},   {ScalarOp::kAsinh, "asinh"}, {ScalarOp::kAcosh, "acosh"},
    {ScalarOp::kAtanh, "atanh"}, {ScalarOp::kErf, "erf"},     {ScalarOp::kErfc, "erfc"},
    {ScalarOp::kPow, "pow"},     {ScalarOp::kAtan2, "atan2"}, {ScalarOp::kHypot, "hypot"},
};

const char* math_name(ScalarOp op) {
  for (const MathFunction& one : kMath) {
    if (one.op == op) return one.name;
  }
  return nullptr;
}

bool is_comparison(ScalarOp op) {
  return op >= ScalarOp::kEqual && op <= ScalarOp::kGreaterEqual;
}

const char* operator_of(ScalarOp op) {
  switch (op) {
    case ScalarOp::kAdd:
      return "+";
    case ScalarOp::kSub:
      return "-";
    case ScalarOp::kMul:
      return "*";
    case ScalarOp::kDiv:
      return "/";
    case ScalarOp::kEqual:
      return "==";
    case ScalarOp::kNotEqual:
      return "!=";
    case ScalarOp::kLess:
      return "<";
    case ScalarOp::kLessEqual:
      return "<=";
    case ScalarOp::kGreater:
      return ">";
    case ScalarOp::kGreaterEqual:
      return ">=";
    case ScalarOp::kAnd:
      return "&&";
    case ScalarOp::kOr:
      return "||";
    case ScalarOp::kXor:
      return "!=";
    case ScalarOp::kBitAnd:
      return "&";
    case ScalarOp::kBitOr:
      return "|";
    case ScalarOp::kBitXor:
      return "^";
    case ScalarOp::kShiftLeft:
      return "<<";
    case ScalarOp::kShiftRight:
      return ">>";
    default:
      return nullptr;
  }
}

// Of a select, only the condition is always evaluated.
template <typename Visit>
void for_each_operand(const Scalar& value, Visit visit) {
  if (const auto* load = std::get_if<Scalar::Load>(&value.node)) {
    for (const ScalarRef& index : load->index) visit(index, true);
  } else if (const auto* cast = std::get_if<Scalar::Cast>(&value.node)) {
    visit(cast->value, true);
  } else if (const auto* call = std::get_if<Scalar::Call>(&value.node)) {
    for (std::size_t i = 0; i < call->arguments.size(); ++i)
      visit(call->arguments[i], call->op != ScalarOp::kSelect || i == 0);
  }
}

}  // namespace

std::string_view cpp_value_type(DType dtype) {
  if (is_floating(dtype)) return dtype == DType::kFloat64 ? "double" : "float";
  return tensor::cpp_type(dtype);
}

std::string half_name(DType dtype) {
  if (dtype == DType::kFloat16) return "float16";
  return dtype == DType::kBFloat16 ? "bfloat16" : "";
}

std::string identity_text(ReduceOp op, DType dtype) {
  const std::string type(cpp_value_type(dtype));
  const std::string limits = fmt::format("std::numeric_limits<{}>::", type);
  switch (op) {
    case ReduceOp::kSum:
      return "0";
    case ReduceOp::kProd:
      return "1";
    case ReduceOp::kMin:
      return is_floating(dtype) ? limits + "infinity()" : limits + "max()";
    case ReduceOp::kMax:
      return is_floating(dtype) ? "-" + limits + "infinity()" : limits + "lowest()";
    case ReduceOp::kAny:
      return "false";
    case ReduceOp::kAll:
      return "true";
    case ReduceOp::kLogAddExp:
      return "-" + limits + "infinity()";
    case ReduceOp::kArgMin:
    case ReduceOp::kArgMax:
      break;
  }
  KW_CHECK(false);
}

std::string combined(ReduceOp op, DType dtype, const std::string& a, const std::string& b) {
  switch (op) {
    case ReduceOp::kSum:
      return fmt::format("{} + {}", a, b);
    case ReduceOp::kProd:
      return fmt::format("{} * {}", a, b);
    case ReduceOp::kMin:
    case ReduceOp::kMax: {
      const char* sign = op == ReduceOp::kMin ? "<" : ">";
      if (!is_floating(dtype)) return fmt::format("{1} {2} {0} ? {1} : {0}", a, b, sign);
      return fmt::format("kw_{}<{}>({}, {})", op == ReduceOp::kMin ? "min" : "max",
                         cpp_value_type(dtype), b, a);
    }
    case ReduceOp::kAny:
      return fmt::format("{} | {}", a, b);
    case ReduceOp::kAll:
      return fmt::format("{} & {}", a, b);
    case ReduceOp::kLogAddExp:
      return fmt::format("kw_log_add_exp<{}>({}, {})", cpp_value_type(dtype), a, b);
    case ReduceOp::kArgMin:
    case ReduceOp::kArgMax:
      break;
  }
  KW_CHECK(false);
}

void ScalarText::count(const ScalarRef& value) {
  if (++uses_[value.get()] > 1) return;
  for_each_operand(*value, [&](const ScalarRef& operand, bool) { count(operand); });
}

std::string ScalarText::print(const ScalarRef& value, std::vector<std::string>& lines,
                              const std::string& reduced) {
  uses_.clear();
  count(value);
  lines_ = &lines;
  reduced_ = reduced;
  return of(value, true);
}

// always: evaluated whatever selects around it choose.
std::string ScalarText::of(const ScalarRef& value, bool always) {
  if (auto known = constants_.find(value); known != constants_.end()) return known->second;
  std::string out = text(*value, always);
  const bool is_work = std::holds_alternative<Scalar::Call>(value->node) ||
                       std::holds_alternative<Scalar::Load>(value->node) ||
                       std::holds_alternative<Scalar::Cast>(value->node);
  if (!always || !is_work || uses_[value.get()] < 2) return out;
  std::string name = fmt::format("v{}", names_++);
  lines_->push_back(fmt::format("const {} {} = {};", cpp_value_type(value->dtype), name, out));
  constants_.emplace(value, name);
  return name;
}

std::string ScalarText::text(const Scalar& value, bool always) {
  if (const auto* constant = std::get_if<Scalar::Constant>(&value.node)) {
    return is_floating(value.dtype) ? number_text(constant->number, value.dtype)
                                    : integer_text(constant->integer, value.dtype);
  }
  if (const auto* index = std::get_if<Scalar::Index>(&value.node)) {
    std::string number = index_(index->expr);
    if (value.dtype == DType::kInt64)
      return number.find(' ') == std::string::npos ? number : fmt::format("({})", number);
    return fmt::format("static_cast<{}>({})", cpp_value_type(value.dtype), number);
  }
  if (std::holds_alternative<Scalar::Reduced>(value.node)) {
    KW_CHECK(!reduced_.empty());
    return reduced_;
  }
  if (const auto* load = std::get_if<Scalar::Load>(&value.node)) {
    std::string element = element_of(*load, always);
    if (const std::string half = half_name(value.dtype); !half.empty()) {
      functions_.insert("kw_" + half);
      return fmt::format("kw_from_{}(*reinterpret_cast<const kw_bits*>(&{}))", half, element);
    }
    if (is_floating(value.dtype) && tensor::size_of(value.dtype) < sizeof(float))
      return fmt::format("static_cast<float>({})", element);
    return element;
  }
  if (const auto* cast = std::get_if<Scalar::Cast>(&value.node)) {
    std::string inner = of(cast->value, always);
    const std::string_view to = cpp_value_type(value.dtype);
    if (value.dtype == DType::kBool) return fmt::format("({} != 0)", inner);
    // Rounded to the narrow type and held in a float again.
    if (const std::string half = half_name(value.dtype); !half.empty()) {
      functions_.insert("kw_" + half);
      return fmt::format(
          "kw_from_{0}(kw_to_{0}({1}))", half,
          is_floating(cast->value->dtype) ? inner : fmt::format("static_cast<float>({})", inner));
    }
    if (is_floating(value.dtype) && tensor::size_of(value.dtype) < sizeof(float))
      return fmt::format(
          "static_cast<float>(static_cast<{}>({}))", tensor::cpp_type(value.dtype),
          is_floating(cast->value->dtype) ? inner : fmt::format("static_cast<float>({})", inner));
    return fmt::format("static_cast<{}>({})", to, inner);
  }
  return call(value, std::get<Scalar::Call>(value.node), always);
}

std::string ScalarText::element_of(const Scalar::Load& load, bool always) {
  const std::vector<IntExpr> known = known_indices(load);
  if (known.size() == load.index.size()) return known_load_(load.buffer, known);
  std::vector<std::string> index;
  for (const ScalarRef& one : load.index) index.push_back(of(one, always));
  return load_(load.buffer, index);
}

std::string ScalarText::call(const Scalar& value, const Scalar::Call& call, bool always) {
  if (call.op == ScalarOp::kSelect) {
    std::string condition = of(call.arguments[0], always);
    std::string yes = of(call.arguments[1], false), no = of(call.arguments[2], false);
    return fmt::format("({} ? {} : {})", condition, yes, no);
  }
  std::vector<std::string> arguments;
  for (const ScalarRef& argument : call.arguments) arguments.push_back(of(argument, always));
  const DType from = call.arguments[0]->dtype;
  if (arguments.size() == 1) return unary(call.op, from, arguments[0]);
  (void)value;
  return binary(call.op, from, arguments[0], arguments[1]);
}

std::string ScalarText::function(const std::string& name, DType dtype,
                                 const std::vector<std::string>& arguments) {
  const bool own = name.starts_with("kw_");
  std::string full = name;
  if (!own && dtype != DType::kFloat64) full += "f";
  functions_.insert(full);
  if (own) full += fmt::format("<{}>", cpp_value_type(dtype));
  return fmt::format("{}({})", full, fmt::join(arguments, ", "));
}

std::string ScalarText::exponential(DType dtype, const std::string& a) {
  return function(dtype == DType::kFloat64 ? "exp" : "kw_exp", dtype, {a});
}

std::string ScalarText::unary(ScalarOp op, DType dtype, const std::string& a) {
  const std::string type(cpp_value_type(dtype));
  if (op == ScalarOp::kErf && dtype != DType::kFloat64) {
    functions_.insert("kw_exp");
    return function("kw_erf", dtype, {a});
  }
  if (op == ScalarOp::kExp) return exponential(dtype, a);
  if (op == ScalarOp::kExpm1 && dtype != DType::kFloat64) {
    functions_.insert("kw_exp");
    return function("kw_expm1", dtype, {a});
  }
  if (const char* name = math_name(op)) return function(name, dtype, {a});
  switch (op) {
    case ScalarOp::kNeg:
      if (is_floating(dtype)) return fmt::format("(-{})", a);
      return fmt::format("static_cast<{}>(0 - static_cast<{}>({}))", type, unsigned_type(dtype), a);
    case ScalarOp::kAbs:
      if (is_floating(dtype)) return function("kw_abs", dtype, {a});
      return fmt::format("({0} < 0 ? static_cast<{1}>(0 - static_cast<{2}>({0})) : {0})", a, type,
                         unsigned_type(dtype));
    case ScalarOp::kSign:
      return function("kw_sign", dtype, {a});
    case ScalarOp::kSqrt:
      return fmt::format("std::sqrt({})", a);
    case ScalarOp::kRsqrt:
      return fmt::format("({}(1) / std::sqrt({}))", type, a);
    case ScalarOp::kReciprocal:
      return fmt::format("({}(1) / {})", type, a);
    case ScalarOp::kSigmoid:
      return fmt::format("({0}(1) / ({0}(1) + {1}))", type,
                         exponential(dtype, fmt::format("-{}", a)));
    case ScalarOp::kFloor:
      return fmt::format("std::floor({})", a);
    case ScalarOp::kCeil:
      return fmt::format("std::ceil({})", a);
    case ScalarOp::kRound:
      return fmt::format("std::nearbyint({})", a);
    case ScalarOp::kTrunc:
      return fmt::format("std::trunc({})", a);
    case ScalarOp::kIsNan:
      return fmt::format("({0} != {0})", a);
    case ScalarOp::kIsInf:
      return fmt::format("(std::abs({}) == std::numeric_limits<{}>::infinity())", a, type);
    case ScalarOp::kNot:
      return fmt::format("(!{})", a);
    case ScalarOp::kBitNot:
      if (dtype == DType::kBool) return fmt::format("(!{})", a);
      return fmt::format("static_cast<{}>(~{})", type, a);
    case ScalarOp::kLgamma:
      return fmt::format("std::lgamma({})", a);
    case ScalarOp::kFrexpFraction:
      return function("kw_frexp_fraction", dtype, {a});
    case ScalarOp::kFrexpExponent:
      return function("kw_frexp_exponent", dtype, {a});
    case ScalarOp::kErfinv:
      return function("kw_erfinv", dtype, {a});
    default:
      break;
  }
  KW_CHECK(false);
}

std::string ScalarText::binary(ScalarOp op, DType from, const std::string& a,
                               const std::string& b) {
  const std::string type(cpp_value_type(from));
  const bool floating = is_floating(from);
  if (const char* name = math_name(op)) {
    if (floating) return function(name, from, {a, b});
    return function("kw_integer_pow", from, {a, b});
  }
  switch (op) {
    case ScalarOp::kMin:
      return floating ? function("kw_min", from, {a, b})
                      : fmt::format("({0} < {1} ? {0} : {1})", a, b);
    case ScalarOp::kMax:
      return floating ? function("kw_max", from, {a, b})
                      : fmt::format("({0} > {1} ? {0} : {1})", a, b);
    case ScalarOp::kFmin:
      return fmt::format("std::fmin({}, {})", a, b);
    case ScalarOp::kFmax:
      return fmt::format("std::fmax({}, {})", a, b);
    case ScalarOp::kFmod:
      return floating ? fmt::format("std::fmod({}, {})", a, b) : fmt::format("({} % {})", a, b);
    case ScalarOp::kFloorDiv:
      return function("kw_floor_div", from, {a, b});
    case ScalarOp::kRemainder:
      return function("kw_remainder", from, {a, b});
    default:
      break;
  }
  const char* sign = operator_of(op);
  KW_CHECK(sign != nullptr);
  const bool wraps = !floating && from != DType::kBool &&
                     (op == ScalarOp::kAdd || op == ScalarOp::kSub || op == ScalarOp::kMul ||
                      op == ScalarOp::kShiftLeft);
  if (wraps) {
    // As torch's integers: modulo their width.
    return fmt::format("static_cast<{0}>(static_cast<{1}>({2}) {3} static_cast<{1}>({4}))", type,
                       unsigned_type(from), a, sign, b);
  }
  const bool is_test = from == DType::kBool && (op == ScalarOp::kAnd || op == ScalarOp::kOr);
  if (!floating && !is_comparison(op) && !is_test)
    return fmt::format("static_cast<{}>({} {} {})", type, a, sign, b);
  return fmt::format("({} {} {})", a, sign, b);
}

}  // namespace kw::writer
