// Renders the tree of a template: private to template.cc, evaluator.cc and expressions.cc.
#pragma once
#include <map>
#include <memory>
#include <string>

#include "base/result.h"
#include "text/jinja/operations.h"
#include "text/jinja/syntax.h"

namespace kw::text::jinja {

// Names of a block that has its own: a loop's body, a macro, {% generation %}.
struct Scope {
  std::map<std::string, Value> values;
  std::shared_ptr<Scope> outer;
};
using ScopePtr = std::shared_ptr<Scope>;

class Evaluator {
 public:
  static constexpr std::size_t kMaxSteps = 1000000;
  static constexpr std::size_t kMaxOutput = 64U << 20U;
  static constexpr int kMaxDepth = 60;  // of macros within macros

  enum class Flow { kGoOn, kBreak, kContinue };
  Result<Flow> run(const Block& block, const ScopePtr& scope, std::string& out);

 private:
  Result<Flow> statement(const Statement& statement, const ScopePtr& scope, std::string& out);
  Result<Flow> if_statement(const Statement& statement, const ScopePtr& scope, std::string& out);
  Result<Flow> for_statement(const Statement& statement, const ScopePtr& scope, std::string& out);
  Status set_statement(const Statement& statement, const ScopePtr& scope);
  Status assign(const std::vector<Target>& targets, const Value& value, const ScopePtr& scope);
  Result<List> loop_items(const Statement& statement, const ScopePtr& scope);

  // expressions.cc
  Result<Value> value_of(const Expression& expression, const ScopePtr& scope);
  Result<Value> kind_of_value(const Expression& expression, const ScopePtr& scope);
  Result<Value> child(const Expression& expression, std::size_t at, const ScopePtr& scope);
  Value name(const std::string& name, const ScopePtr& scope) const;
  Result<Value> attribute(const Expression& expression, const ScopePtr& scope);
  Result<Value> item(const Expression& expression, const ScopePtr& scope);
  Result<Value> slice(const Expression& expression, const ScopePtr& scope);
  Result<Value> dict(const Expression& expression, const ScopePtr& scope);
  Result<Value> compare(const Expression& expression, const ScopePtr& scope);
  Result<Value> junction(const Expression& expression, const ScopePtr& scope);
  Result<Value> conditional(const Expression& expression, const ScopePtr& scope);
  Result<Value> concat(const Expression& expression, const ScopePtr& scope);
  Result<Value> negate(const Expression& expression, const ScopePtr& scope);
  Result<Value> call(const Expression& expression, const ScopePtr& scope);
  Result<Value> call_macro(const Callable& callable, const Arguments& arguments);
  Result<Arguments> arguments(const Expression& expression, const ScopePtr& scope);
  Status count_step();

  std::size_t steps_ = 0;
  int depth_ = 0;
};

// The attribute of a value as Jinja finds it: a method first, then an entry.
Result<Value> attribute_of(const Value& value, const std::string& name);

}  // namespace kw::text::jinja
