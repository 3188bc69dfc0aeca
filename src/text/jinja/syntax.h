// The tree of a Jinja template.
#pragma once
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "text/jinja/value.h"

namespace kw::text::jinja {

enum class ExpressionKind {
  kConstant,   // constant
  kName,       // name
  kList,       // children
  kDict,       // children: key, value, key, value ...
  kAttribute,  // children[0].name
  kItem,       // children[0][children[1]]
  kSlice,      // children[0][children[1]:children[2]:children[3]]; a child may be null
  kCall,       // children[0](arguments)
  kFilter,     // children[0] | name(arguments)
  kTest,       // children[0] is name(arguments)
  kNot,
  kNegate,
  kPlus,
  kAnd,
  kOr,
  kConcat,      // children, ~
  kArithmetic,  // children[0] name children[1]: + - * / // % **
  kCompare,     // children[0] operators[0] children[1] operators[1] children[2] ...
  kConditional  // children[0] if children[1] else children[2]; the last may be null
};

struct Expression;
using ExpressionPtr = std::unique_ptr<Expression>;

struct Expression {
  ExpressionKind kind = ExpressionKind::kConstant;
  std::size_t line = 1;
  std::string name;
  Value constant;
  std::vector<ExpressionPtr> children;
  std::vector<std::string> operators;  // of kCompare: "==", ..., "in", "not in"
  // Of calls, filters and tests: by position, then by name.
  std::vector<ExpressionPtr> positional;
  std::vector<std::pair<std::string, ExpressionPtr>> named;
};

struct Statement;
using Block = std::vector<Statement>;

struct Macro {
  std::string name;
  std::vector<std::pair<std::string, ExpressionPtr>> parameters;  // with defaults, or null
  Block body;
};

enum class StatementKind {
  kText,      // text
  kOutput,    // value
  kIf,        // branches: a condition (null: else) and its block
  kFor,       // targets, value, condition, branches[0]: the body, branches[1]: else
  kSet,       // targets = value
  kSetBlock,  // targets[0] = what the block writes
  kMacro,
  kGeneration,  // a block in a scope of its own: transformers' {% generation %}
  kBreak,
  kContinue
};

// A name that is assigned, or an attribute of a namespace.
struct Target {
  std::string name;
  std::string attribute;  // "" for a name
};

struct Statement {
  StatementKind kind = StatementKind::kText;
  std::size_t line = 1;
  std::string text;
  ExpressionPtr value;
  ExpressionPtr condition;  // of kFor: its `if`
  std::vector<Target> targets;
  std::vector<std::pair<ExpressionPtr, Block>> branches;
  std::shared_ptr<Macro> macro;
};

}  // namespace kw::text::jinja
