// Launch descriptors of device-only candidates: which kernels run, with what grid, block, shared
// memory and arguments, as small integer expressions over the problem's axes. The grammar is part
// of the candidate's hash: docs/formats/solution.md.
#pragma once
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

#include "base/json.h"
#include "base/result.h"

namespace kw::task {

using AxisValues = std::vector<std::pair<std::string, std::int64_t>>;

// expression := term (("+" | "-") term)*        term := unary (("*" | "/" | "%") unary)*
// unary := "-" unary | primary                  primary := integer | name | "(" expression ")"
//                                                | ("ceil_div" | "min" | "max") "(" expression ","
//                                                expression ")"
// "/" rounds towards minus infinity and "%" takes the divisor's sign, as Python's // and % do.
// An immutable value; copies share the tree, so any thread may use any copy.
class LaunchExpression {
 public:
  static constexpr std::size_t kMaxLength = 1024;
  static constexpr int kMaxDepth = 32;

  // kInvalidArgument naming the column (from 1), or the limit that the text exceeds.
  static Result<LaunchExpression> parse(std::string_view text);

  // kInvalidArgument on an unknown name (with a suggestion), division by zero, or a value outside
  // int64.
  Result<std::int64_t> evaluate(const AxisValues& axes) const;
  // Fewest parentheses, one space around binary operators. parse(print()) prints the same again.
  std::string print() const;
  std::vector<std::string> names() const;  // each once, in order of appearance

 private:
  struct Node;
  class Parser;
  explicit LaunchExpression(std::shared_ptr<const Node> root) : root_(std::move(root)) {}
  std::shared_ptr<const Node> root_;
};

// The pointer of an input or output tensor, or a host scalar input by value.
struct TensorArgument {
  std::string name;
};
struct IntegerArgument {
  int bits = 32;  // 32 or 64
  LaunchExpression value;
};
using LaunchArgument = std::variant<TensorArgument, IntegerArgument>;

struct LaunchDescriptor {
  std::string kernel;                             // symbol in the device code
  std::vector<LaunchExpression> grid, block;      // 1 to 3 each; those left out are 1
  std::optional<LaunchExpression> shared_memory;  // dynamic, in bytes; none: 0
  std::vector<LaunchArgument> arguments;          // in the kernel's order
};

Json to_json(const LaunchDescriptor& launch);
// where: the field's path in messages.
Result<LaunchDescriptor> launch_from_json(const Json& value, const std::string& where);

}  // namespace kw::task
