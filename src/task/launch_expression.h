// LaunchExpression: whole numbers computed from a problem's axes, for grids, sizes and arguments of
// kernels. Total: every evaluation ends, with a number or with an error that names its place. The
// grammar is part of a candidate's hash: docs/formats/solution.md.
#pragma once
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/json.h"
#include "base/result.h"

namespace kw::task {

using AxisValues = std::vector<std::pair<std::string, std::int64_t>>;

// expression := comparison ("?" expression ":" expression)?
// comparison := sum (("<" | "<=" | ">" | ">=" | "==" | "!=") sum)?
// sum        := term (("+" | "-") term)*
// term       := unary (("*" | "/" | "%") unary)*
// unary      := ("-" | "+") unary | power
// power      := primary ("**" unary)?
// primary    := integer | name | "(" expression ")"
//             | ("ceil_div" | "cdiv") "(" expression "," expression ")"
//             | ("min" | "max") "(" expression ("," expression)+ ")"
// "/" rounds towards minus infinity and "%" takes the divisor's sign, as Python's // and % do. A
// comparison is 1 or 0; what "?" does not choose is not evaluated. "cdiv" is "ceil_div". "**" has
// Python's precedence, and an exponent of at least 0.
// An immutable value; copies share the tree, so any thread may use any copy.
class LaunchExpression {
 public:
  static constexpr std::size_t kMaxLength = 1024;
  static constexpr int kMaxDepth = 32;

  LaunchExpression() : LaunchExpression(0) {}
  explicit LaunchExpression(std::int64_t value);  // one number, not negative

  // kInvalidArgument naming the column (from 1), or the limit that the text exceeds.
  static Result<LaunchExpression> parse(std::string_view text);

  // kInvalidArgument on an unknown name (with a suggestion), division by zero, a negative exponent,
  // or a value outside int64; the message quotes the part of the expression that fails.
  Result<std::int64_t> evaluate(const AxisValues& axes) const;
  // Fewest parentheses, one space around binary operators. parse(print()) prints the same again.
  std::string print() const;
  std::vector<std::string> names() const;  // each once, in order of appearance

 private:
  struct Node;
  class Parser;
  static Result<std::int64_t> evaluate(const Node& node, const AxisValues& axes);
  static std::string print(const Node& node, int least);
  explicit LaunchExpression(std::shared_ptr<const Node> root) : root_(std::move(root)) {}
  std::shared_ptr<const Node> root_;
};

// Text in canonical form; a plain integer may stand for it where it is read. where: the field's
// path in messages.
Json to_json(const LaunchExpression& expression);
Result<LaunchExpression> expression_from_json(const Json& value, const std::string& where);

// A list of `least` to `most` expressions.
Json to_json(const std::vector<LaunchExpression>& expressions);
Result<std::vector<LaunchExpression>> expressions_from_json(const Json& value,
                                                            const std::string& where,
                                                            std::size_t least, std::size_t most);

}  // namespace kw::task
