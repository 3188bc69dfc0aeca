// Expressions.
#include <fmt/format.h>

#include "text/jinja/evaluator.h"

namespace kw::text::jinja {
namespace {

Result<Value> loop_attribute(const Loop& loop, const std::string& name) {
  const auto index = static_cast<std::int64_t>(loop.index);
  const auto length = static_cast<std::int64_t>(loop.items->size());
  if (name == "index") return Value(index + 1);
  if (name == "index0") return Value(index);
  if (name == "revindex") return Value(length - index);
  if (name == "revindex0") return Value(length - index - 1);
  if (name == "first") return Value(index == 0);
  if (name == "last") return Value(index + 1 == length);
  if (name == "length") return Value(length);
  if (name == "previtem")
    return index == 0 ? Value::undefined(name) : (*loop.items)[loop.index - 1];
  if (name == "nextitem")
    return index + 1 == length ? Value::undefined(name) : (*loop.items)[loop.index + 1];
  return fail(ErrorCode::kUnsupported, "loop.{} is not read", name);
}

}  // namespace

Result<Value> attribute_of(const Value& value, const std::string& name) {
  if (name.starts_with('_'))
    return fail(ErrorCode::kUnsupported, "the attribute \"{}\" is not read", name);
  if (value.is_undefined())
    return fail(ErrorCode::kInvalidArgument, "\"{}\" is undefined", value.undefined_name());
  if (is_method(value, name)) {
    Callable method;
    method.name = name;
    method.self = std::make_shared<const Value>(value);
    return Value::callable(std::move(method));
  }
  if (const Loop* loop = value.as_loop()) return loop_attribute(*loop, name);
  if (Namespace* space = value.as_namespace()) {
    auto found = space->values.find(name);
    return found == space->values.end() ? Value::undefined(name) : found->second;
  }
  if (value.as_callable() != nullptr)
    return fail(ErrorCode::kUnsupported, "attributes of a function are not read");
  double number = 0;
  if (value.as_number(number))
    return fail(ErrorCode::kUnsupported, "attributes of {} are not read", value.type());
  return item_of(value, Value(name));
}

Result<Value> Evaluator::value_of(const Expression& expression, const ScopePtr& scope) {
  KW_TRY_STATUS(count_step());
  auto out = kind_of_value(expression, scope);
  if (out || out.error().message().starts_with("line ")) return out;
  return tl::unexpected(
      std::move(out).error().with_context(fmt::format("line {}", expression.line)));
}

Result<Value> Evaluator::child(const Expression& expression, std::size_t at,
                               const ScopePtr& scope) {
  return value_of(*expression.children[at], scope);
}

Result<Value> Evaluator::kind_of_value(const Expression& expression, const ScopePtr& scope) {
  switch (expression.kind) {
    case ExpressionKind::kConstant:
      return expression.constant;
    case ExpressionKind::kName:
      return name(expression.name, scope);
    case ExpressionKind::kList: {
      List items;
      for (const ExpressionPtr& one : expression.children) {
        KW_TRY(Value item, value_of(*one, scope));
        items.push_back(std::move(item));
      }
      return Value::list(std::move(items));
    }
    case ExpressionKind::kDict:
      return dict(expression, scope);
    case ExpressionKind::kAttribute:
      return attribute(expression, scope);
    case ExpressionKind::kItem:
      return item(expression, scope);
    case ExpressionKind::kSlice:
      return slice(expression, scope);
    case ExpressionKind::kCall:
      return call(expression, scope);
    case ExpressionKind::kFilter: {
      KW_TRY(Value value, child(expression, 0, scope));
      KW_TRY(Arguments given, arguments(expression, scope));
      return apply_filter(expression.name, value, given);
    }
    case ExpressionKind::kTest: {
      KW_TRY(Value value, child(expression, 0, scope));
      KW_TRY(Arguments given, arguments(expression, scope));
      KW_TRY(bool holds, apply_test(expression.name, value, given));
      return Value(holds);
    }
    case ExpressionKind::kNot: {
      KW_TRY(Value value, child(expression, 0, scope));
      return Value(!value.is_true());
    }
    case ExpressionKind::kNegate:
    case ExpressionKind::kPlus:
      return negate(expression, scope);
    case ExpressionKind::kAnd:
    case ExpressionKind::kOr:
      return junction(expression, scope);
    case ExpressionKind::kConcat:
      return concat(expression, scope);
    case ExpressionKind::kArithmetic: {
      KW_TRY(Value left, child(expression, 0, scope));
      KW_TRY(Value right, child(expression, 1, scope));
      return arithmetic(expression.name, left, right);
    }
    case ExpressionKind::kCompare:
      return compare(expression, scope);
    case ExpressionKind::kConditional:
      return conditional(expression, scope);
  }
  return Value();
}

Value Evaluator::name(const std::string& name, const ScopePtr& scope) const {
  for (const Scope* at = scope.get(); at != nullptr; at = at->outer.get()) {
    auto found = at->values.find(name);
    if (found != at->values.end()) return found->second;
  }
  if (!is_function(name)) return Value::undefined(name);
  Callable function;
  function.name = name;
  return Value::callable(std::move(function));
}

Result<Value> Evaluator::attribute(const Expression& expression, const ScopePtr& scope) {
  KW_TRY(Value value, child(expression, 0, scope));
  return attribute_of(value, expression.name);
}

// An entry first, then an attribute.
Result<Value> Evaluator::item(const Expression& expression, const ScopePtr& scope) {
  KW_TRY(Value value, child(expression, 0, scope));
  KW_TRY(Value key, child(expression, 1, scope));
  KW_TRY(Value found, item_of(value, key));
  if (!found.is_undefined() || key.string() == nullptr || value.is_none()) return found;
  return value.entries() != nullptr && !is_method(value, *key.string())
             ? found
             : attribute_of(value, *key.string());
}

Result<Value> Evaluator::slice(const Expression& expression, const ScopePtr& scope) {
  KW_TRY(Value value, child(expression, 0, scope));
  std::optional<std::int64_t> bounds[3];
  for (std::size_t at = 0; at < 3; ++at) {
    if (!expression.children[at + 1]) continue;
    KW_TRY(Value bound, child(expression, at + 1, scope));
    if (bound.is_none()) continue;
    std::int64_t number = 0;
    if (!bound.as_integer(number))
      return fail(ErrorCode::kInvalidArgument, "a slice up to {}", bound.type());
    bounds[at] = number;
  }
  return slice_of(value, bounds[0], bounds[1], bounds[2].value_or(1));
}

Result<Value> Evaluator::dict(const Expression& expression, const ScopePtr& scope) {
  Dict entries;
  for (std::size_t at = 0; at + 1 < expression.children.size(); at += 2) {
    KW_TRY(Value key, child(expression, at, scope));
    KW_TRY(Value value, child(expression, at + 1, scope));
    if (key.string() == nullptr)
      return fail(ErrorCode::kUnsupported, "a dictionary's key is {}", key.type());
    auto known = std::find_if(entries.begin(), entries.end(),
                              [&](const auto& entry) { return entry.first == *key.string(); });
    if (known != entries.end())
      known->second = std::move(value);
    else
      entries.emplace_back(*key.string(), std::move(value));
  }
  return Value::dict(std::move(entries));
}

Result<Value> Evaluator::compare(const Expression& expression, const ScopePtr& scope) {
  KW_TRY(Value left, child(expression, 0, scope));
  for (std::size_t at = 0; at < expression.operators.size(); ++at) {
    const std::string& op = expression.operators[at];
    KW_TRY(Value right, child(expression, at + 1, scope));
    bool holds = false;
    if (op == "==" || op == "!=") {
      KW_TRY(bool same, equal(left, right));
      holds = same == (op == "==");
    } else if (op == "in" || op == "not in") {
      KW_TRY(bool inside, contains(right, left));
      holds = inside == (op == "in");
    } else if (op == "<" || op == ">=") {
      KW_TRY(bool lower, less(left, right));
      holds = lower == (op == "<");
    } else {
      KW_TRY(bool higher, less(right, left));
      holds = higher == (op == ">");
    }
    if (!holds) return Value(false);
    left = std::move(right);
  }
  return Value(true);
}

Result<Value> Evaluator::junction(const Expression& expression, const ScopePtr& scope) {
  KW_TRY(Value left, child(expression, 0, scope));
  if (left.is_true() == (expression.kind == ExpressionKind::kOr)) return left;
  return child(expression, 1, scope);
}

Result<Value> Evaluator::conditional(const Expression& expression, const ScopePtr& scope) {
  KW_TRY(Value condition, child(expression, 1, scope));
  if (condition.is_true()) return child(expression, 0, scope);
  if (expression.children[2]) return child(expression, 2, scope);
  return Value::undefined("an if without else");
}

Result<Value> Evaluator::concat(const Expression& expression, const ScopePtr& scope) {
  std::string out;
  for (std::size_t at = 0; at < expression.children.size(); ++at) {
    KW_TRY(Value part, child(expression, at, scope));
    KW_TRY(std::string text, to_text(part));
    out += text;
  }
  return Value(std::move(out));
}

Result<Value> Evaluator::negate(const Expression& expression, const ScopePtr& scope) {
  KW_TRY(Value value, child(expression, 0, scope));
  if (expression.kind == ExpressionKind::kNegate)
    return arithmetic("*", value, Value(std::int64_t{-1}));
  double number = 0;
  if (!value.as_number(number)) return fail(ErrorCode::kInvalidArgument, "+ {}", value.type());
  return arithmetic("*", value, Value(std::int64_t{1}));
}

Result<Arguments> Evaluator::arguments(const Expression& expression, const ScopePtr& scope) {
  Arguments out;
  for (const ExpressionPtr& one : expression.positional) {
    KW_TRY(Value value, value_of(*one, scope));
    out.positional.push_back(std::move(value));
  }
  for (const auto& [name, one] : expression.named) {
    KW_TRY(Value value, value_of(*one, scope));
    out.named.emplace_back(name, std::move(value));
  }
  return out;
}

Result<Value> Evaluator::call(const Expression& expression, const ScopePtr& scope) {
  KW_TRY(Value callee, child(expression, 0, scope));
  const Callable* callable = callee.as_callable();
  if (callable == nullptr) {
    if (callee.is_undefined())
      return fail(ErrorCode::kInvalidArgument, "\"{}\" is undefined", callee.undefined_name());
    return fail(ErrorCode::kInvalidArgument, "{} is called", callee.type());
  }
  KW_TRY(Arguments given, arguments(expression, scope));
  if (callable->macro != nullptr) return call_macro(*callable, given);
  if (callable->self) return call_method(callable->name, *callable->self, given);
  return call_function(callable->name, given);
}

Result<Value> Evaluator::call_macro(const Callable& callable, const Arguments& given) {
  const Macro& macro = *callable.macro;
  ScopePtr outer = callable.scope.lock();
  if (!outer)
    return fail(ErrorCode::kUnsupported, "\"{}\" is called outside of its block", macro.name);
  std::size_t used = given.positional.size();
  if (used > macro.parameters.size())
    return fail(ErrorCode::kInvalidArgument, "\"{}\" takes {} arguments", macro.name,
                macro.parameters.size());
  if (++depth_ > kMaxDepth)
    return fail(ErrorCode::kResourceExhausted, "macros call each other too deeply");
  auto scope = std::make_shared<Scope>();
  scope->outer = outer;
  for (std::size_t at = 0; at < macro.parameters.size(); ++at) {
    const auto& [name, otherwise] = macro.parameters[at];
    const Value* value = given.find(at, name);
    if (value != nullptr && at >= given.positional.size()) ++used;
    Value taken = Value::undefined(name);
    if (value != nullptr)
      taken = *value;
    else if (otherwise) {
      KW_TRY(taken, value_of(*otherwise, scope));
    }
    scope->values[name] = std::move(taken);
  }
  if (used != given.positional.size() + given.named.size())
    return fail(ErrorCode::kInvalidArgument, "\"{}\" has no such argument", macro.name);
  std::string out;
  KW_TRY([[maybe_unused]] Flow flow, run(macro.body, scope, out));
  --depth_;
  return Value(std::move(out));
}

}  // namespace kw::text::jinja
