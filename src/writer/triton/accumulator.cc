#include "writer/triton/accumulator.h"

#include <limits>

#include "base/check.h"

namespace kw::writer::triton {

using tensor::DType;

namespace {

std::pair<std::int64_t, std::int64_t> range_of(DType dtype) {
  switch (dtype) {
    case DType::kBool:
      return {0, 1};
    case DType::kUInt8:
      return {0, 255};
    case DType::kInt8:
      return {-128, 127};
    case DType::kInt16:
      return {-32768, 32767};
    case DType::kInt32:
      return {std::numeric_limits<std::int32_t>::min(), std::numeric_limits<std::int32_t>::max()};
    default:
      return {std::numeric_limits<std::int64_t>::min(), std::numeric_limits<std::int64_t>::max()};
  }
}

}  // namespace

std::string identity_text(ReduceOp op, DType dtype) {
  const bool floating = tensor::is_floating(dtype);
  switch (op) {
    case ReduceOp::kSum:
      return floating ? "0.0" : "0";
    case ReduceOp::kProd:
      return floating ? "1.0" : "1";
    case ReduceOp::kMin:
    case ReduceOp::kArgMin:
      return floating ? "float(\"inf\")" : fmt::format("{}", range_of(dtype).second);
    case ReduceOp::kMax:
    case ReduceOp::kArgMax:
      return floating ? "float(\"-inf\")" : fmt::format("{}", range_of(dtype).first);
    case ReduceOp::kAny:
      return "False";
    case ReduceOp::kAll:
      return "True";
    case ReduceOp::kLogAddExp:
      return "float(\"-inf\")";
  }
  KW_CHECK(false);
}

std::string combined_text(ScalarPrinter& printer, ReduceOp op, DType dtype, const std::string& a,
                          const std::string& b) {
  const char* nan = tensor::is_floating(dtype) ? ", propagate_nan=tl.PropagateNan.ALL" : "";
  switch (op) {
    case ReduceOp::kSum:
      return fmt::format("{} + {}", a, b);
    case ReduceOp::kProd:
      return fmt::format("{} * {}", a, b);
    case ReduceOp::kMin:
      return fmt::format("tl.minimum({}, {}{})", a, b, nan);
    case ReduceOp::kMax:
      return fmt::format("tl.maximum({}, {}{})", a, b, nan);
    case ReduceOp::kAny:
      return fmt::format("{} | {}", a, b);
    case ReduceOp::kAll:
      return fmt::format("{} & {}", a, b);
    case ReduceOp::kLogAddExp:
      return fmt::format("{}({}, {})", printer.function("log_add_exp"), a, b);
    case ReduceOp::kArgMin:
    case ReduceOp::kArgMax:
      break;
  }
  KW_CHECK(false);
}

Accumulator::Accumulator(KernelText& kernel, ScalarPrinter& printer, const Collected& of)
    : kernel_(kernel), printer_(printer), of_(of), scope_(kernel.scope()) {
  const std::string shape = of.axes == 0 ? "[]" : kernel.shape(of.axes);
  name_ = kernel.fresh(of_places() ? "best" : "acc");
  kernel.format("{} = tl.full({}, {}, {})", name_, shape, identity_text(of.op, of.dtype),
                value_type(of.dtype));
  if (!of_places()) return;
  place_ = kernel.fresh("place");
  kernel.format("{} = tl.full({}, 0, tl.int64)", place_, shape);
}

Accumulator::Accumulator(KernelText& kernel, ScalarPrinter& printer, const Collected& of,
                         const Text& value, const Text& mask, const Text& position)
    : kernel_(kernel), printer_(printer), of_(of), scope_(kernel.scope()), place_(position.text) {
  std::string text = value.text;
  if (!mask.text.empty())
    text = fmt::format("tl.where({}, {}, {})", mask.text, text, identity_text(of.op, of.dtype));
  name_ = kernel.fresh(of_places() ? "values" : "block");
  kernel.format("{} = {}", name_, text);
}

void Accumulator::step(const Text& value, const Text& mask, const Text& position) {
  std::string text = value.text;
  if (!mask.text.empty())
    text = fmt::format("tl.where({}, {}, {})", mask.text, text, identity_text(of_.op, of_.dtype));
  else if (!of_places() && of_.op != ReduceOp::kMin && of_.op != ReduceOp::kMax)
    text = wrapped(
        value, of_.op == ReduceOp::kSum ? static_cast<int>(kProduct) : static_cast<int>(kUnary));
  if (!of_places()) {
    kernel_.format("{} = {}", name_, combined_text(printer_, of_.op, of_.dtype, name_, text));
    return;
  }
  const std::string v = kernel_.fresh("v"), better = kernel_.fresh("better");
  kernel_.format("{} = {}", v, text);
  const char* sign =
      of_.op == ReduceOp::kArgMax ? (of_.last ? ">=" : ">") : (of_.last ? "<=" : "<");
  std::string condition = fmt::format("{} {} {}", v, sign, name_);
  if (tensor::is_floating(of_.dtype)) {
    // NaN beats every number.
    condition = of_.last
                    ? fmt::format("({}) | ({} != {})", condition, v, v)
                    : fmt::format("({0}) | (({1} != {1}) & ({2} == {2}))", condition, v, name_);
  }
  kernel_.format("{} = {}", better, condition);
  kernel_.format("{0} = tl.where({1}, {2}, {0})", name_, better, v);
  kernel_.format("{0} = tl.where({1}, {2}, {0})", place_, better, position.text);
}

Text Accumulator::lanes() const {
  return {of_places() ? place_ : name_, of_.axes, kAtom, scope_};
}

Text Accumulator::over_axis(unsigned axis, int number) {
  const bool floating = tensor::is_floating(of_.dtype);
  std::string text;
  const std::string at = fmt::format("axis={}", number);
  const std::string keep = kernel_.expand(axis).empty() ? "" : ", keep_dims=True";
  switch (of_.op) {
    case ReduceOp::kSum:
      text = fmt::format("tl.sum({}, {}{})", name_, at, keep);
      break;
    case ReduceOp::kMin:
    case ReduceOp::kMax: {
      const char* word = of_.op == ReduceOp::kMin ? "min" : "max";
      if (floating)
        text = fmt::format("{}({}, {}, {})", printer_.function(fmt::format("{}_with_nan", word)),
                           name_, number, keep.empty() ? "False" : "True");
      else
        text = fmt::format("tl.{}({}, {}{})", word, name_, at, keep);
      break;
    }
    case ReduceOp::kAny:
    case ReduceOp::kAll:
      text = fmt::format("tl.{}({}.to(tl.int32), {}{}) != 0",
                         of_.op == ReduceOp::kAny ? "max" : "min", name_, at, keep);
      break;
    case ReduceOp::kProd:
    case ReduceOp::kLogAddExp:
      text = fmt::format("tl.reduce({}, {}, {}{})", name_, number,
                         printer_.function(of_.op == ReduceOp::kProd ? "multiply" : "log_add_exp"),
                         keep);
      break;
    case ReduceOp::kArgMin:
    case ReduceOp::kArgMax: {
      const char* word = of_.op == ReduceOp::kArgMin ? "min" : "max";
      const std::string best = kernel_.fresh("extreme");
      std::string equal = fmt::format("{} == {}", name_, best);
      if (floating) {
        kernel_.format("{} = {}({}, {}, {})", best,
                       printer_.function(fmt::format("{}_with_nan", word)), name_, number,
                       keep.empty() ? "False" : "True");
        equal = fmt::format("({0}) | (({1} != {1}) & ({2} != {2}))", equal, name_, best);
      } else {
        kernel_.format("{} = tl.{}({}, {}{})", best, word, name_, at, keep);
      }
      text = fmt::format("tl.min(tl.where({}, {}, {}), {}{})", equal, place_,
                         identity_text(ReduceOp::kMin, DType::kInt64), at, keep);
    }
  }
  Text out{kernel_.fresh("total"), of_.axes & ~axis, kAtom, kernel_.scope()};
  kernel_.format("{} = {}", out.text, text);
  return out;
}

}  // namespace kw::writer::triton
