// Statements.
#include "text/jinja/evaluator.h"

#include <fmt/format.h>

namespace kw::text::jinja {
namespace {

// An error gets the line of the innermost statement or expression that has one.
tl::unexpected<Error> at_line(Error error, std::size_t line) {
  if (error.message().starts_with("line ")) return tl::unexpected(std::move(error));
  return tl::unexpected(std::move(error).with_context(fmt::format("line {}", line)));
}

ScopePtr inner_scope(const ScopePtr& outer) {
  auto out = std::make_shared<Scope>();
  out->outer = outer;
  return out;
}

}  // namespace

Status Evaluator::count_step() {
  if (++steps_ > kMaxSteps)
    return fail(ErrorCode::kResourceExhausted, "the template takes more than {} steps", kMaxSteps);
  return {};
}

Result<Evaluator::Flow> Evaluator::run(const Block& block, const ScopePtr& scope,
                                       std::string& out) {
  for (const Statement& one : block) {
    KW_TRY_STATUS(count_step());
    if (out.size() > kMaxOutput)
      return fail(ErrorCode::kResourceExhausted, "the prompt has more than {} bytes", kMaxOutput);
    auto flow = statement(one, scope, out);
    if (!flow) return at_line(std::move(flow).error(), one.line);
    if (*flow != Flow::kGoOn) return flow;
  }
  return Flow::kGoOn;
}

Result<Evaluator::Flow> Evaluator::statement(const Statement& statement, const ScopePtr& scope,
                                             std::string& out) {
  switch (statement.kind) {
    case StatementKind::kText:
      out += statement.text;
      break;
    case StatementKind::kOutput: {
      KW_TRY(Value value, value_of(*statement.value, scope));
      KW_TRY(std::string text, to_text(value));
      out += text;
      break;
    }
    case StatementKind::kIf:
      return if_statement(statement, scope, out);
    case StatementKind::kFor:
      return for_statement(statement, scope, out);
    case StatementKind::kSet:
    case StatementKind::kSetBlock:
      KW_TRY_STATUS(set_statement(statement, scope));
      break;
    case StatementKind::kMacro: {
      Callable callable;
      callable.name = statement.macro->name;
      callable.macro = statement.macro.get();
      callable.scope = scope;
      scope->values[statement.macro->name] = Value::callable(std::move(callable));
      break;
    }
    case StatementKind::kGeneration:
      return run(statement.branches[0].second, inner_scope(scope), out);
    case StatementKind::kBreak:
      return Flow::kBreak;
    case StatementKind::kContinue:
      return Flow::kContinue;
  }
  return Flow::kGoOn;
}

Result<Evaluator::Flow> Evaluator::if_statement(const Statement& statement, const ScopePtr& scope,
                                                std::string& out) {
  for (const auto& [condition, block] : statement.branches) {
    if (condition) {
      KW_TRY(Value value, value_of(*condition, scope));
      if (!value.is_true()) continue;
    }
    return run(block, scope, out);
  }
  return Flow::kGoOn;
}

Result<List> Evaluator::loop_items(const Statement& statement, const ScopePtr& scope) {
  KW_TRY(Value sequence, value_of(*statement.value, scope));
  KW_TRY(List items, items_of(sequence));
  if (!statement.condition) return items;
  List out;
  for (Value& item : items) {
    ScopePtr inner = inner_scope(scope);
    KW_TRY_STATUS(assign(statement.targets, item, inner));
    KW_TRY(Value wanted, value_of(*statement.condition, inner));
    if (wanted.is_true()) out.push_back(std::move(item));
  }
  return out;
}

Result<Evaluator::Flow> Evaluator::for_statement(const Statement& statement, const ScopePtr& scope,
                                                 std::string& out) {
  KW_TRY(const List items, loop_items(statement, scope));
  bool completed = false;  // a round, without break or continue
  for (std::size_t at = 0; at < items.size(); ++at) {
    KW_TRY_STATUS(count_step());
    // Each round begins without what the one before has set.
    ScopePtr inner = inner_scope(scope);
    auto loop = std::make_shared<Loop>(Loop{&items, at});
    inner->values["loop"] = Value::loop(std::move(loop));
    KW_TRY_STATUS(assign(statement.targets, items[at], inner));
    KW_TRY(Flow flow, run(statement.branches[0].second, inner, out));
    if (flow == Flow::kBreak) break;
    completed = completed || flow == Flow::kGoOn;
  }
  // Jinja's else comes when no round was completed, even if there were some.
  if (!completed && statement.branches.size() > 1)
    return run(statement.branches[1].second, inner_scope(scope), out);
  return Flow::kGoOn;
}

Status Evaluator::assign(const std::vector<Target>& targets, const Value& value,
                         const ScopePtr& scope) {
  std::vector<Value> parts = {value};
  if (targets.size() > 1) {
    KW_TRY(parts, items_of(value));
    if (parts.size() != targets.size())
      return fail(ErrorCode::kInvalidArgument, "{} values for {} names", parts.size(),
                  targets.size());
  }
  for (std::size_t at = 0; at < targets.size(); ++at) {
    const Target& target = targets[at];
    if (target.attribute.empty()) {
      scope->values[target.name] = std::move(parts[at]);
      continue;
    }
    Namespace* space = name(target.name, scope).as_namespace();
    if (space == nullptr)
      return fail(ErrorCode::kInvalidArgument, "\"{}\" is no namespace", target.name);
    if (target.attribute.starts_with('_'))
      return fail(ErrorCode::kInvalidArgument, "a namespace has no \"{}\"", target.attribute);
    space->values[target.attribute] = std::move(parts[at]);
  }
  return {};
}

Status Evaluator::set_statement(const Statement& statement, const ScopePtr& scope) {
  if (statement.kind == StatementKind::kSet) {
    KW_TRY(Value value, value_of(*statement.value, scope));
    return assign(statement.targets, value, scope);
  }
  std::string text;
  KW_TRY(Flow flow, run(statement.branches[0].second, inner_scope(scope), text));
  if (flow != Flow::kGoOn)
    return fail(ErrorCode::kUnsupported, "leaving a loop from within a set is not read");
  return assign(statement.targets, Value(std::move(text)), scope);
}

}  // namespace kw::text::jinja
