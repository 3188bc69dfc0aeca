#include "writer/loops/scalar.h"

#include <cmath>
#include <unordered_set>

#include "base/check.h"

namespace kw::writer {
namespace {

using tensor::DType;

bool is_test(ScalarOp op) {
  switch (op) {
    case ScalarOp::kIsNan:
    case ScalarOp::kIsInf:
    case ScalarOp::kNot:
    case ScalarOp::kEqual:
    case ScalarOp::kNotEqual:
    case ScalarOp::kLess:
    case ScalarOp::kLessEqual:
    case ScalarOp::kGreater:
    case ScalarOp::kGreaterEqual:
    case ScalarOp::kAnd:
    case ScalarOp::kOr:
    case ScalarOp::kXor:
      return true;
    default:
      return false;
  }
}

ScalarRef make(DType dtype, Scalar::Node node) {
  return std::make_shared<const Scalar>(dtype, std::move(node));
}

void visit_new(const ScalarRef& root, const std::function<void(const Scalar&)>& see,
               std::unordered_set<const Scalar*>& seen) {
  if (!root || !seen.insert(root.get()).second) return;
  if (const auto* load = std::get_if<Scalar::Load>(&root->node)) {
    for (const ScalarRef& index : load->index) visit_new(index, see, seen);
  } else if (const auto* called = std::get_if<Scalar::Call>(&root->node)) {
    for (const ScalarRef& argument : called->arguments) visit_new(argument, see, seen);
  } else if (const auto* casted = std::get_if<Scalar::Cast>(&root->node)) {
    visit_new(casted->value, see, seen);
  }
  see(*root);
}

}  // namespace

DType opmath(DType dtype) {
  return dtype == DType::kFloat16 || dtype == DType::kBFloat16 ? DType::kFloat32 : dtype;
}

ScalarRef number(DType dtype, double value) {
  if (tensor::is_floating(dtype)) return make(dtype, Scalar::Constant{.number = value});
  if (dtype == DType::kBool) return boolean(value != 0);
  constexpr double kLimit = 9.2e18;
  const double whole =
      std::isnan(value) ? 0 : std::trunc(std::min(std::max(value, -kLimit), kLimit));
  return integer(dtype, static_cast<std::int64_t>(whole));
}

ScalarRef integer(DType dtype, std::int64_t value) {
  if (tensor::is_floating(dtype)) return number(dtype, static_cast<double>(value));
  if (dtype == DType::kBool) return boolean(value != 0);
  return make(dtype, Scalar::Constant{.integer = value});
}

ScalarRef boolean(bool value) {
  return make(DType::kBool, Scalar::Constant{.integer = value ? 1 : 0});
}

ScalarRef index_number(const IntExpr& expr) {
  if (const auto value = expr.constant()) return integer(DType::kInt64, *value);
  return make(DType::kInt64, Scalar::Index{expr});
}

ScalarRef load(BufferId buffer, DType dtype, std::vector<ScalarRef> index) {
  return make(dtype, Scalar::Load{buffer, std::move(index)});
}

ScalarRef reduced(DType dtype) {
  return make(dtype, Scalar::Reduced{});
}

ScalarRef cast(DType dtype, const ScalarRef& value) {
  if (value->dtype == dtype) return value;
  const auto* constant = std::get_if<Scalar::Constant>(&value->node);
  // A number that the narrower type lacks is cut where the program runs.
  if (constant != nullptr && opmath(dtype) == dtype) {
    if (tensor::is_floating(value->dtype)) return number(dtype, constant->number);
    if (tensor::is_floating(dtype) || dtype == DType::kInt64 || dtype == DType::kBool)
      return integer(dtype, constant->integer);
  }
  return make(dtype, Scalar::Cast{value});
}

ScalarRef call(ScalarOp op, DType dtype, std::vector<ScalarRef> arguments) {
  return make(dtype, Scalar::Call{op, std::move(arguments)});
}

ScalarRef unary(ScalarOp op, const ScalarRef& value) {
  return call(op, is_test(op) ? DType::kBool : value->dtype, {value});
}

ScalarRef binary(ScalarOp op, const ScalarRef& a, const ScalarRef& b) {
  return call(op, is_test(op) ? DType::kBool : a->dtype, {a, b});
}

ScalarRef binary(ScalarOp op, const ScalarRef& value, double other) {
  return binary(op, value, number(value->dtype, other));
}
ScalarRef binary(ScalarOp op, double other, const ScalarRef& value) {
  return binary(op, number(value->dtype, other), value);
}

ScalarRef select(const ScalarRef& condition, const ScalarRef& yes, const ScalarRef& no) {
  if (const auto known = constant_bool(condition)) return *known ? yes : no;
  return call(ScalarOp::kSelect, yes->dtype, {condition, yes, no});
}

ScalarRef logical_and(const ScalarRef& a, const ScalarRef& b) {
  if (const auto known = constant_bool(a)) return *known ? b : a;
  if (const auto known = constant_bool(b)) return *known ? a : b;
  return binary(ScalarOp::kAnd, a, b);
}

bool is_zero(const ScalarRef& value) {
  const auto* constant = std::get_if<Scalar::Constant>(&value->node);
  return constant != nullptr && constant->number == 0 && constant->integer == 0;
}

std::vector<ScalarRef> conjuncts(const ScalarRef& condition) {
  const auto* call = std::get_if<Scalar::Call>(&condition->node);
  if (call == nullptr || call->op != ScalarOp::kAnd) return {condition};
  std::vector<ScalarRef> out;
  for (const ScalarRef& each : call->arguments) {
    for (ScalarRef& term : conjuncts(each)) out.push_back(std::move(term));
  }
  return out;
}

std::optional<bool> constant_bool(const ScalarRef& value) {
  const auto* constant = std::get_if<Scalar::Constant>(&value->node);
  if (constant == nullptr || value->dtype != DType::kBool) return std::nullopt;
  return constant->integer != 0;
}

std::optional<IntExpr> index_of(const ScalarRef& value) {
  if (const auto* index = std::get_if<Scalar::Index>(&value->node)) return index->expr;
  const auto* constant = std::get_if<Scalar::Constant>(&value->node);
  return constant != nullptr ? std::optional(IntExpr(constant->integer)) : std::nullopt;
}

IntExpr known_index(const ScalarRef& value) {
  auto index = index_of(value);
  KW_CHECK(index.has_value());
  return *std::move(index);
}

std::vector<IntExpr> known_indices(const Scalar::Load& load) {
  std::vector<IntExpr> out;
  for (const ScalarRef& each : load.index) {
    if (auto index = index_of(each)) out.push_back(*std::move(index));
  }
  return out;
}

void visit(const ScalarRef& root, const std::function<void(const Scalar&)>& see) {
  std::unordered_set<const Scalar*> seen;
  visit_new(root, see, seen);
}

ScalarRef Rewriter::of(const ScalarRef& value) {
  if (!value) return value;
  if (auto found = done_.find(value.get()); found != done_.end()) return found->second;
  ScalarRef out = change_(value, *this);
  if (!out) out = with_parts(value);
  return done_[value.get()] = out;
}

ScalarRef Rewriter::with_parts(const ScalarRef& value) {
  Scalar copy = *value;
  bool changed = false;
  const auto change = [&](ScalarRef& part) {
    ScalarRef made = of(part);
    changed = changed || made != part;
    part = std::move(made);
  };
  if (auto* load = std::get_if<Scalar::Load>(&copy.node)) {
    for (ScalarRef& index : load->index) change(index);
  } else if (auto* call = std::get_if<Scalar::Call>(&copy.node)) {
    for (ScalarRef& argument : call->arguments) change(argument);
  } else if (auto* cast = std::get_if<Scalar::Cast>(&copy.node)) {
    change(cast->value);
  }
  return changed ? std::make_shared<const Scalar>(std::move(copy)) : value;
}

ScalarRef rewritten(const ScalarRef& value, const std::function<ScalarRef(const Scalar&)>& change) {
  return Rewriter([&](const ScalarRef& one, Rewriter&) { return change(*one); }).of(value);
}

ScalarRef rewritten_outside_selections(const ScalarRef& value,
                                       const std::function<ScalarRef(const ScalarRef&)>& change) {
  return Rewriter([&](const ScalarRef& one, Rewriter&) {
           const auto* call = std::get_if<Scalar::Call>(&one->node);
           return call != nullptr && call->op == ScalarOp::kSelect ? one : change(one);
         })
      .of(value);
}

ScalarRef simplified(const ScalarRef& value, const IntRanges& ranges) {
  return rewritten(value, [&](const Scalar& each) -> ScalarRef {
    const auto* index = std::get_if<Scalar::Index>(&each.node);
    if (index == nullptr) return nullptr;
    const IntExpr expr = ranges.simplify(index->expr);
    return each.dtype == DType::kInt64 ? index_number(expr) : make(each.dtype, Scalar::Index{expr});
  });
}

ScalarRef without_tests(const ScalarRef& value, const std::function<bool(const Scalar&)>& is_true) {
  Rewriter rewriter([&](const ScalarRef& one, Rewriter& parts) -> ScalarRef {
    if (is_true(*one)) return boolean(true);
    const auto* call = std::get_if<Scalar::Call>(&one->node);
    if (call == nullptr || (call->op != ScalarOp::kAnd && call->op != ScalarOp::kSelect))
      return nullptr;
    const ScalarRef made = parts.with_parts(one);
    const auto& arguments = std::get<Scalar::Call>(made->node).arguments;
    return call->op == ScalarOp::kAnd ? logical_and(arguments[0], arguments[1])
                                      : select(arguments[0], arguments[1], arguments[2]);
  });
  return rewriter.of(value);
}

ScalarRef without_known_tests(const ScalarRef& value, const IntRanges& ranges) {
  return without_tests(value, [&](const Scalar& one) {
    const auto* call = std::get_if<Scalar::Call>(&one.node);
    if (call == nullptr || (call->op != ScalarOp::kGreaterEqual && call->op != ScalarOp::kLess))
      return false;
    const auto a = index_of(call->arguments[0]), b = index_of(call->arguments[1]);
    if (!a || !b) return false;
    return call->op == ScalarOp::kLess ? ranges.less(*a, *b) : ranges.less_equal(*b, *a);
  });
}

std::set<std::string> variables_of(const ScalarRef& value) {
  std::set<std::string> out;
  visit(value, [&](const Scalar& each) {
    const auto* index = std::get_if<Scalar::Index>(&each.node);
    if (index != nullptr) out.merge(index->expr.symbols());
  });
  return out;
}

ScalarRef substitute(const ScalarRef& value, const std::map<std::string, IntExpr>& values) {
  return rewritten(value, [&](const Scalar& each) -> ScalarRef {
    const auto* index = std::get_if<Scalar::Index>(&each.node);
    if (index == nullptr) return nullptr;
    return make(each.dtype, Scalar::Index{index->expr.substitute(values)});
  });
}

bool is_equal(const ScalarRef& a, const ScalarRef& b, const std::map<std::string, IntExpr>& names) {
  if (a->dtype != b->dtype || a->node.index() != b->node.index()) return false;
  const auto all = [&](const std::vector<ScalarRef>& x, const std::vector<ScalarRef>& y) {
    if (x.size() != y.size()) return false;
    for (std::size_t i = 0; i < x.size(); ++i) {
      if (!is_equal(x[i], y[i], names)) return false;
    }
    return true;
  };
  if (const auto* x = std::get_if<Scalar::Constant>(&a->node)) {
    const auto& y = std::get<Scalar::Constant>(b->node);
    return x->number == y.number && x->integer == y.integer;
  }
  if (const auto* x = std::get_if<Scalar::Index>(&a->node))
    return x->expr.substitute(names) == std::get<Scalar::Index>(b->node).expr;
  if (const auto* x = std::get_if<Scalar::Load>(&a->node)) {
    const auto& y = std::get<Scalar::Load>(b->node);
    return x->buffer == y.buffer && all(x->index, y.index);
  }
  if (const auto* x = std::get_if<Scalar::Call>(&a->node)) {
    const auto& y = std::get<Scalar::Call>(b->node);
    return x->op == y.op && all(x->arguments, y.arguments);
  }
  if (const auto* x = std::get_if<Scalar::Cast>(&a->node))
    return is_equal(x->value, std::get<Scalar::Cast>(b->node).value, names);
  return true;
}

}  // namespace kw::writer
