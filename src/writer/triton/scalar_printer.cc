#include "writer/triton/scalar_printer.h"

#include <algorithm>

#include <fmt/ranges.h>

#include "base/check.h"
#include "writer/loops/scalar.h"

namespace kw::writer::triton {

using tensor::DType;

namespace {

constexpr std::size_t kLongest = 64;  // of an expression that stands where it is used

template <typename Visit>
void for_each_part(const Scalar& value, Visit visit) {
  if (const auto* load = std::get_if<Scalar::Load>(&value.node)) {
    for (const ScalarRef& index : load->index) visit(index);
  } else if (const auto* cast = std::get_if<Scalar::Cast>(&value.node)) {
    visit(cast->value);
  } else if (const auto* call = std::get_if<Scalar::Call>(&value.node)) {
    for (const ScalarRef& argument : call->arguments) visit(argument);
  }
}

bool is_narrow_float(DType dtype) {
  return tensor::is_floating(dtype) && tensor::size_of(dtype) < sizeof(float);
}

const Scalar::Constant* constant_of(const ScalarRef& value) {
  return std::get_if<Scalar::Constant>(&value->node);
}

std::string constant_text(const Scalar::Constant& constant, DType dtype) {
  if (dtype == DType::kBool) return constant.integer != 0 ? "True" : "False";
  if (tensor::is_floating(dtype)) return number_text(constant.number);
  return fmt::format("{}", constant.integer);
}

// Functions of tl, and those of CUDA's libdevice.
const char* language_function(ScalarOp op) {
  switch (op) {
    case ScalarOp::kAbs:
      return "tl.abs";
    case ScalarOp::kExp:
      return "tl.exp";
    case ScalarOp::kExp2:
      return "tl.exp2";
    case ScalarOp::kLog:
      return "tl.log";
    case ScalarOp::kLog2:
      return "tl.log2";
    case ScalarOp::kSqrt:
      return "tl.sqrt";
    case ScalarOp::kRsqrt:
      return "tl.rsqrt";
    case ScalarOp::kSin:
      return "tl.sin";
    case ScalarOp::kCos:
      return "tl.cos";
    case ScalarOp::kErf:
      return "tl.erf";
    case ScalarOp::kSigmoid:
      return "tl.sigmoid";
    case ScalarOp::kFloor:
      return "tl.floor";
    case ScalarOp::kCeil:
      return "tl.ceil";
    default:
      return nullptr;
  }
}

const char* library_function(ScalarOp op) {
  switch (op) {
    case ScalarOp::kExpm1:
      return "expm1";
    case ScalarOp::kLog10:
      return "log10";
    case ScalarOp::kLog1p:
      return "log1p";
    case ScalarOp::kTan:
      return "tan";
    case ScalarOp::kAsin:
      return "asin";
    case ScalarOp::kAcos:
      return "acos";
    case ScalarOp::kAtan:
      return "atan";
    case ScalarOp::kSinh:
      return "sinh";
    case ScalarOp::kCosh:
      return "cosh";
    case ScalarOp::kTanh:
      return "tanh";
    case ScalarOp::kAsinh:
      return "asinh";
    case ScalarOp::kAcosh:
      return "acosh";
    case ScalarOp::kAtanh:
      return "atanh";
    case ScalarOp::kErfc:
      return "erfc";
    case ScalarOp::kErfinv:
      return "erfinv";
    case ScalarOp::kRound:
      return "rint";
    case ScalarOp::kTrunc:
      return "trunc";
    case ScalarOp::kLgamma:
      return "lgamma";
    case ScalarOp::kPow:
      return "pow";
    case ScalarOp::kAtan2:
      return "atan2";
    case ScalarOp::kHypot:
      return "hypot";
    case ScalarOp::kFmod:
      return "fmod";
    default:
      return nullptr;
  }
}

std::pair<const char*, int> sign_of(ScalarOp op) {
  switch (op) {
    case ScalarOp::kAdd:
      return {"+", kSum};
    case ScalarOp::kSub:
      return {"-", kSum};
    case ScalarOp::kMul:
      return {"*", kProduct};
    case ScalarOp::kEqual:
      return {"==", kComparison};
    case ScalarOp::kNotEqual:
      return {"!=", kComparison};
    case ScalarOp::kLess:
      return {"<", kComparison};
    case ScalarOp::kLessEqual:
      return {"<=", kComparison};
    case ScalarOp::kGreater:
      return {">", kComparison};
    case ScalarOp::kGreaterEqual:
      return {">=", kComparison};
    case ScalarOp::kAnd:
    case ScalarOp::kBitAnd:
      return {"&", kBitAnd};
    case ScalarOp::kOr:
    case ScalarOp::kBitOr:
      return {"|", kBitOr};
    case ScalarOp::kXor:
    case ScalarOp::kBitXor:
      return {"^", kBitXor};
    case ScalarOp::kShiftLeft:
      return {"<<", kShift};
    case ScalarOp::kShiftRight:
      return {">>", kShift};
    default:
      return {nullptr, 0};
  }
}

Text joined(const Text& a, const Text& b, std::string text, int level) {
  return {std::move(text), a.axes | b.axes, level, std::max(a.scope, b.scope)};
}

Text with_sign(const Text& a, const char* sign, const Text& b, int level) {
  // Comparisons chain in Python: neither side may be one without parentheses.
  const int left = level == kComparison ? kBitOr : level;
  return joined(a, b, fmt::format("{} {} {}", wrapped(a, left), sign, wrapped(b, level - 1)),
                level);
}

}  // namespace

// Whether it loads what may be out of bounds where a condition around it is false.
bool ScalarPrinter::needs_condition(const ScalarRef& value) {
  if (auto found = guarded_.find(value.get()); found != guarded_.end()) return found->second;
  bool out = false;
  if (const auto* load = std::get_if<Scalar::Load>(&value->node)) {
    const Shape& shape = kernel_.buffer(load->buffer).type.shape;
    for (std::size_t d = 0; d < load->index.size(); ++d) {
      const auto* index = std::get_if<Scalar::Index>(&load->index[d]->node);
      const auto* constant = constant_of(load->index[d]);
      out =
          out || (index == nullptr && constant == nullptr) ||
          !kernel_.in_bounds(index != nullptr ? index->expr : IntExpr(constant->integer), shape[d]);
    }
  }
  for_each_part(*value, [&](const ScalarRef& part) { out = needs_condition(part) || out; });
  return guarded_[value.get()] = out;
}

void ScalarPrinter::count(const ScalarRef& value) {
  if (++uses_[value.get()] > 1) return;
  for_each_part(*value, [&](const ScalarRef& part) { count(part); });
}

Text ScalarPrinter::named(const Text& text, const std::string& wish) {
  Text out = text;
  out.level = kAtom;
  // The same line for another expression of the same form.
  const KernelText::Key key{nullptr, text.text};
  if (const Text* known = kernel_.known(key)) return *known;
  out.text = kernel_.fresh(wish);
  kernel_.remember(key, out);
  kernel_.line_at(text.scope, fmt::format("{} = {}", out.text, text.text));
  return out;
}

Text ScalarPrinter::print(const ScalarRef& value, const Text* condition) {
  if (const auto* constant = constant_of(value)) {
    std::string text = constant_text(*constant, value->dtype);
    return {text, 0, text.starts_with('-') ? static_cast<int>(kUnary) : static_cast<int>(kAtom)};
  }
  if (uses_.find(value.get()) == uses_.end()) count(value);
  const bool guarded = condition != nullptr && needs_condition(value);
  const KernelText::Key key{value.get(), guarded ? condition->text : ""};
  if (const Text* known = kernel_.known(key)) return *known;
  const std::optional<Text> outer =
      std::exchange(condition_, guarded ? std::optional(*condition) : std::nullopt);
  Text out = make(*value);
  condition_ = outer;
  const auto* load = std::get_if<Scalar::Load>(&value->node);
  const bool is_name = std::all_of(out.text.begin(), out.text.end(), [](unsigned char c) {
    return std::isalnum(c) != 0 || c == '_';
  });
  if (load != nullptr && !is_name)
    out = named(out, kernel_.buffer(load->buffer).name);
  else if (!is_name && (uses_[value.get()] > 1 || out.text.size() > kLongest))
    out = named(out, "v");
  kernel_.remember(key, out);
  return out;
}

Text ScalarPrinter::tensor(const ScalarRef& value, const Text* condition) {
  Text out = print(value, condition);
  const auto* index = std::get_if<Scalar::Index>(&value->node);
  if (constant_of(value) == nullptr && (index == nullptr || out.axes != 0)) return out;
  if (index != nullptr) return out;
  return {fmt::format("tl.full([], {}, {})", out.text, value_type(value->dtype)), 0, kAtom,
          out.scope};
}

Text ScalarPrinter::variable(const ScalarRef& value, const std::string& wish) {
  const Text out = tensor(value);
  const bool is_name = std::all_of(out.text.begin(), out.text.end(), [](unsigned char c) {
    return std::isalnum(c) != 0 || c == '_';
  });
  return is_name ? out : named(out, wish);
}

Text ScalarPrinter::make(const Scalar& value) {
  if (const auto* index = std::get_if<Scalar::Index>(&value.node)) {
    Text number = kernel_.integer(index->expr);
    if (value.dtype == DType::kInt64 && number.axes != 0) return number;
    return {fmt::format("tl.cast({}, {})", number.text, value_type(value.dtype)), number.axes,
            kAtom, number.scope};
  }
  if (std::holds_alternative<Scalar::Reduced>(value.node)) {
    KW_CHECK(!reduced_.text.empty());
    return reduced_;
  }
  if (const auto* one = std::get_if<Scalar::Load>(&value.node)) return load(value, *one);
  if (const auto* one = std::get_if<Scalar::Cast>(&value.node)) return cast(value, *one);
  const auto& call = std::get<Scalar::Call>(value.node);
  if (call.op == ScalarOp::kSelect) return select(call);
  if (call.arguments.size() == 1)
    return unary(call.op, call.arguments[0]->dtype, call.arguments[0]);
  return binary(call);
}

// The element's place from the buffer's start.
Text ScalarPrinter::offset(const Scalar::Load& load) {
  const Shape& shape = kernel_.buffer(load.buffer).type.shape;
  IntExpr known;
  Text data;
  IntExpr stride = 1;
  for (std::size_t d = load.index.size(); d-- > 0; stride = stride * shape[d]) {
    const ScalarRef& one = load.index[d];
    if (const auto* index = std::get_if<Scalar::Index>(&one->node)) {
      known = known + index->expr * stride;
      continue;
    }
    if (const auto* constant = constant_of(one)) {
      known = known + IntExpr(constant->integer) * stride;
      continue;
    }
    const std::optional<Text> condition = condition_;
    Text text = print(one, condition ? &*condition : nullptr);
    if (stride != IntExpr(1)) {
      text.text = fmt::format("{} * {}", wrapped(text, kProduct), kernel_.size(stride));
      text.level = kProduct;
    }
    data = data.text.empty() ? text : with_sign(data, "+", text, kSum);
  }
  if (data.text.empty()) return kernel_.integer(known);
  if (known == IntExpr()) return data;
  return with_sign(data, "+", kernel_.integer(known), kSum);
}

Text ScalarPrinter::load(const Scalar& value, const Scalar::Load& load) {
  const Buffer& buffer = kernel_.buffer(load.buffer);
  const std::string_view type = value_type(value.dtype);
  if (buffer.kind == Buffer::Kind::kScalar)
    return {fmt::format("tl.cast({}, {})", kernel_.host_scalar(load.buffer), type)};
  if (auto held = held_.find(load.buffer); held != held_.end()) return held->second;
  Text at = offset(load);
  const Text* condition = condition_ ? &*condition_ : nullptr;
  const unsigned axes = at.axes | (condition != nullptr ? condition->axes : 0U);
  const Text mask = kernel_.mask(at.axes, condition);
  if (at.axes == 0 && axes != 0)
    at = {fmt::format("tl.zeros({}, tl.int64) + {}", kernel_.shape(axes), wrapped(at, kProduct)),
          axes, kSum, at.scope};
  const std::string pointer = kernel_.pointer(load.buffer);
  std::string place =
      at.text == "0" ? pointer : fmt::format("{} + {}", pointer, wrapped(at, kProduct));
  std::string out = fmt::format("tl.load({}", place);
  if (!mask.text.empty())
    out += fmt::format(", mask={}, other={}", mask.text,
                       tensor::is_floating(value.dtype) ? "0.0" : "0");
  out += ")";
  if (is_narrow_float(value.dtype)) out += ".to(tl.float32)";
  return {out, axes | mask.axes, kUnary, std::max(at.scope, mask.scope)};
}

Text ScalarPrinter::cast(const Scalar& value, const Scalar::Cast& cast) {
  const std::optional<Text> condition = condition_;
  const Text inner = tensor(cast.value, condition ? &*condition : nullptr);
  const DType from = cast.value->dtype, to = value.dtype;
  if (to == DType::kBool)
    return with_sign(inner, "!=", {tensor::is_floating(from) ? "0.0" : "0"}, kComparison);
  Text out = inner;
  out.level = kAtom;
  if (is_narrow_float(to)) {
    out.text = fmt::format("{}.to({}).to(tl.float32)", wrapped(inner, kAtom), triton_type(to));
  } else if (value_type(from) != value_type(to)) {
    out.text = fmt::format("{}.to({})", wrapped(inner, kAtom), value_type(to));
  } else {
    out.level = inner.level;  // a 16-bit value is held in float32 already
  }
  return out;
}

// Where the condition is false that it is printed under: a load is masked by that.
bool ScalarPrinter::is_zero_outside(const ScalarRef& value) {
  if (const auto* load = std::get_if<Scalar::Load>(&value->node))
    return needs_condition(value) && !held_.contains(load->buffer) &&
           kernel_.buffer(load->buffer).kind != Buffer::Kind::kScalar;
  const auto* call = std::get_if<Scalar::Call>(&value->node);
  return call != nullptr && call->op == ScalarOp::kSelect && is_zero(call->arguments[2]) &&
         is_zero_outside(call->arguments[1]);
}

Text ScalarPrinter::select(const Scalar::Call& call) {
  const std::optional<Text> outer = condition_;
  const Text* around = outer ? &*outer : nullptr;
  Text condition = tensor(call.arguments[0], around);
  const bool loads = needs_condition(call.arguments[1]) || needs_condition(call.arguments[2]);
  if (loads && condition.level != kAtom) {
    condition = named(condition, "inside");
    kernel_.remember(
        {call.arguments[0].get(), needs_condition(call.arguments[0]) && around ? around->text : ""},
        condition);
  }
  const auto side = [&](const ScalarRef& value, bool yes) {
    Text mine = condition;
    if (!yes) mine = {"~" + wrapped(condition, kAtom), condition.axes, kUnary, condition.scope};
    if (around != nullptr) mine = with_sign(*around, "&", mine, kBitAnd);
    return print(value, &mine);
  };
  Text yes = side(call.arguments[1], true), no = side(call.arguments[2], false);
  if (constant_of(call.arguments[1]) != nullptr && constant_of(call.arguments[2]) != nullptr)
    yes = tensor(call.arguments[1]);
  if (is_zero(call.arguments[2]) && is_zero_outside(call.arguments[1])) return yes;
  return {fmt::format("tl.where({}, {}, {})", condition.text, yes.text, no.text),
          condition.axes | yes.axes | no.axes, kAtom,
          std::max({condition.scope, yes.scope, no.scope})};
}

Text ScalarPrinter::unary(ScalarOp op, DType dtype, const ScalarRef& argument) {
  const std::optional<Text> condition = condition_;
  Text a = tensor(argument, condition ? &*condition : nullptr);
  const auto made = [&](std::string text, int level = kAtom) {
    return Text{std::move(text), a.axes, level, a.scope};
  };
  if (const char* name = language_function(op)) return made(fmt::format("{}({})", name, a.text));
  if (const char* name = library_function(op))
    return made(fmt::format("{}({})", library(name), a.text));
  switch (op) {
    case ScalarOp::kNeg:
      return made("-" + wrapped(a, kUnary), kUnary);
    case ScalarOp::kSign: {
      const std::string_view type = value_type(dtype);
      return made(fmt::format("({0} > 0).to({1}) - ({0} < 0).to({1})", wrapped(a, kBitOr), type),
                  kSum);
    }
    case ScalarOp::kReciprocal:
      return made("1.0 / " + wrapped(a, kUnary), kProduct);
    case ScalarOp::kIsNan:
      return made(fmt::format("{0} != {0}", wrapped(a, kBitOr)), kComparison);
    case ScalarOp::kIsInf:
      return made(fmt::format("tl.abs({}) == float(\"inf\")", a.text), kComparison);
    case ScalarOp::kNot:
      return made(wrapped(a, kBitOr) + " == 0", kComparison);
    case ScalarOp::kBitNot:
      if (dtype == DType::kBool) return made(wrapped(a, kBitOr) + " == 0", kComparison);
      return made("~" + wrapped(a, kUnary), kUnary);
    case ScalarOp::kFrexpFraction:
      return made(fmt::format("{}({})", function("frexp_fraction"), a.text));
    case ScalarOp::kFrexpExponent:
      return made(fmt::format("{}({})", function("frexp_exponent"), a.text));
    default:
      break;
  }
  missing_.insert(std::string(to_string(op)));
  return a;
}

Text ScalarPrinter::binary(const Scalar::Call& call) {
  const std::optional<Text> condition = condition_;
  const Text* around = condition ? &*condition : nullptr;
  const ScalarRef &left = call.arguments[0], &right = call.arguments[1];
  const DType dtype = left->dtype;
  const bool floating = tensor::is_floating(dtype);
  const auto [sign, level] = sign_of(call.op);
  const auto of_functions = [&](const std::string& name, const char* more = "") {
    const Text a = tensor(left, around), b = tensor(right, around);
    return joined(a, b, fmt::format("{}({}, {}{})", name, a.text, b.text, more), kAtom);
  };
  const bool both = constant_of(left) != nullptr && constant_of(right) != nullptr;
  const auto operand = [&](const ScalarRef& value) {
    return both ? tensor(value, around) : print(value, around);
  };
  const auto with = [&](const char* text, int at) {
    const Text a = operand(left), b = operand(right);
    return with_sign(a, text, b, at);
  };
  if (sign != nullptr) return with(sign, level);
  switch (call.op) {
    case ScalarOp::kDiv:
      return with(floating ? "/" : "//", kProduct);
    case ScalarOp::kFloorDiv:
      if (!floating) return of_functions(function("floor_div"));
      {
        const Text quotient = with("/", kProduct);
        return joined(quotient, quotient, fmt::format("tl.floor({})", quotient.text), kAtom);
      }
    case ScalarOp::kRemainder:
      if (floating) libdevice_ = true;
      return of_functions(function(floating ? "remainder" : "integer_remainder"));
    case ScalarOp::kFmod:
      if (!floating) return with("%", kProduct);
      return of_functions(library("fmod"));
    case ScalarOp::kPow:
      if (!floating) return of_functions(function("integer_power"));
      return of_functions(library("pow"));
    case ScalarOp::kAtan2:
    case ScalarOp::kHypot:
      return of_functions(library(library_function(call.op)));
    case ScalarOp::kMin:
    case ScalarOp::kMax: {
      const char* name = call.op == ScalarOp::kMin ? "tl.minimum" : "tl.maximum";
      return of_functions(name, floating ? ", propagate_nan=tl.PropagateNan.ALL" : "");
    }
    case ScalarOp::kFmin:
      return of_functions("tl.minimum");
    case ScalarOp::kFmax:
      return of_functions("tl.maximum");
    default:
      break;
  }
  missing_.insert(std::string(to_string(call.op)));
  return operand(left);
}

}  // namespace kw::writer::triton
