// Recursive descent, checked arithmetic, printing.
#include "task/launch_expression.h"

#include <algorithm>
#include <array>
#include <optional>

#include "base/check.h"
#include "base/text.h"

namespace kw::task {

enum class Operation {
  kInteger,
  kName,
  kNegate,
  kAdd,
  kSubtract,
  kMultiply,
  kDivide,
  kModulo,
  kPower,
  kCeilDiv,
  kMin,
  kMax,
  kLess,
  kLessEqual,
  kGreater,
  kGreaterEqual,
  kEqual,
  kNotEqual,
  kChoose
};

struct LaunchExpression::Node {
  Operation operation = Operation::kInteger;
  std::int64_t integer = 0;
  std::string name;
  std::shared_ptr<const Node> left, right;
  std::shared_ptr<const Node> condition;  // of kChoose
};

namespace {

struct Function {
  std::string_view name;
  Operation operation;
};
constexpr std::array<Function, 4> kFunctions = {{{"ceil_div", Operation::kCeilDiv},
                                                 {"cdiv", Operation::kCeilDiv},
                                                 {"min", Operation::kMin},
                                                 {"max", Operation::kMax}}};

struct Operator {
  std::string_view symbol;
  Operation operation;
  int precedence;
};
// A symbol that begins another one stands behind it.
constexpr std::array<Operator, 12> kOperators = {{{"<=", Operation::kLessEqual, 1},
                                                  {"<", Operation::kLess, 1},
                                                  {">=", Operation::kGreaterEqual, 1},
                                                  {">", Operation::kGreater, 1},
                                                  {"==", Operation::kEqual, 1},
                                                  {"!=", Operation::kNotEqual, 1},
                                                  {"+", Operation::kAdd, 2},
                                                  {"-", Operation::kSubtract, 2},
                                                  {"**", Operation::kPower, 5},
                                                  {"*", Operation::kMultiply, 3},
                                                  {"/", Operation::kDivide, 3},
                                                  {"%", Operation::kModulo, 3}}};
constexpr int kChoice = 0, kComparison = 1, kTerm = 3, kUnary = 4, kPower = 5, kPrimary = 6;

bool starts_name(char c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_';
}

std::string_view symbol(Operation operation) {
  for (const Operator& one : kOperators)
    if (one.operation == operation) return one.symbol;
  for (const Function& function : kFunctions)
    if (function.operation == operation) return function.name;
  return "";
}

int precedence(Operation operation) {
  for (const Operator& one : kOperators)
    if (one.operation == operation) return one.precedence;
  if (operation == Operation::kChoose) return kChoice;
  return operation == Operation::kNegate ? kUnary : kPrimary;
}

bool is_binary(Operation operation) {
  return precedence(operation) >= kComparison && precedence(operation) <= kTerm;
}

Result<std::int64_t> floor_divide(std::int64_t a, std::int64_t b, bool want_remainder) {
  if (b == 0) return fail(ErrorCode::kInvalidArgument, "division by zero");
  if (b == -1) {  // INT64_MIN / -1 does not fit
    std::int64_t negated = 0;
    if (want_remainder) return 0;
    if (__builtin_sub_overflow(std::int64_t{0}, a, &negated)) {
      return fail(ErrorCode::kInvalidArgument, "{} / -1 does not fit 64 bits", a);
    }
    return negated;
  }
  std::int64_t quotient = a / b;
  std::int64_t remainder = a % b;
  if (remainder != 0 && (remainder < 0) != (b < 0)) {
    --quotient;
    remainder += b;
  }
  return want_remainder ? remainder : quotient;
}

Result<std::int64_t> power(std::int64_t base, std::int64_t exponent) {
  if (exponent < 0)
    return fail(ErrorCode::kInvalidArgument, "the exponent is {}, less than 0", exponent);
  // Other bases overflow within 63 steps.
  if (base >= -1 && base <= 1) exponent = exponent > 0 ? 2 - exponent % 2 : 0;
  std::int64_t out = 1;
  for (std::int64_t i = 0; i < exponent; ++i) {
    if (__builtin_mul_overflow(out, base, &out))
      return fail(ErrorCode::kInvalidArgument, "{} ** {} does not fit 64 bits", base, exponent);
  }
  return out;
}

Result<std::int64_t> apply(Operation operation, std::int64_t a, std::int64_t b) {
  std::int64_t out = 0;
  bool overflow = false;
  switch (operation) {
    case Operation::kAdd:
      overflow = __builtin_add_overflow(a, b, &out);
      break;
    case Operation::kSubtract:
      overflow = __builtin_sub_overflow(a, b, &out);
      break;
    case Operation::kMultiply:
      overflow = __builtin_mul_overflow(a, b, &out);
      break;
    case Operation::kDivide:
      return floor_divide(a, b, false);
    case Operation::kModulo:
      return floor_divide(a, b, true);
    case Operation::kPower:
      return power(a, b);
    case Operation::kCeilDiv: {
      KW_TRY(std::int64_t quotient, floor_divide(a, b, false));
      KW_TRY(std::int64_t remainder, floor_divide(a, b, true));
      return quotient + (remainder != 0 ? 1 : 0);
    }
    case Operation::kMin:
      return std::min(a, b);
    case Operation::kMax:
      return std::max(a, b);
    case Operation::kLess:
      return a < b;
    case Operation::kLessEqual:
      return a <= b;
    case Operation::kGreater:
      return a > b;
    case Operation::kGreaterEqual:
      return a >= b;
    case Operation::kEqual:
      return a == b;
    case Operation::kNotEqual:
      return a != b;
    default:
      KW_CHECK(false);
  }
  if (overflow) {
    return fail(ErrorCode::kInvalidArgument, "{} {} {} does not fit 64 bits", a, symbol(operation),
                b);
  }
  return out;
}

Result<std::int64_t> value_of(const std::string& name, const AxisValues& axes) {
  std::vector<std::string> known;
  for (const auto& [axis, value] : axes) {
    if (axis == name) return value;
    known.push_back(axis);
  }
  std::string hint = nearest(name, known);
  return fail(ErrorCode::kInvalidArgument, "\"{}\" is not an axis{}", printable(name, 80),
              hint.empty() ? "" : fmt::format(" (did you mean \"{}\"?)", hint));
}

}  // namespace

class LaunchExpression::Parser {
 public:
  explicit Parser(std::string_view text) : text_(text) {}

  using Tree = std::shared_ptr<const Node>;

  Result<Tree> whole() {
    KW_TRY(Tree tree, choice(0));
    skip_space();
    if (at_ < text_.size()) return unexpected("an operator or the end");
    return tree;
  }

 private:
  void skip_space() {
    while (at_ < text_.size() && (text_[at_] == ' ' || text_[at_] == '\t')) ++at_;
  }
  bool take(char c) {
    skip_space();
    if (at_ >= text_.size() || text_[at_] != c) return false;
    ++at_;
    return true;
  }
  bool next_is(char c) {
    skip_space();
    return at_ < text_.size() && text_[at_] == c;
  }
  tl::unexpected<Error> unexpected(std::string_view wanted) {
    skip_space();
    std::string found =
        at_ < text_.size() ? fmt::format("\"{}\"", printable(text_.substr(at_, 1), 8)) : "the end";
    return fail(ErrorCode::kInvalidArgument, "column {}: expected {}, found {}", at_ + 1, wanted,
                found);
  }
  static Tree make(Operation operation, Tree left, Tree right, Tree condition = nullptr) {
    return std::make_shared<const Node>(
        Node{operation, 0, {}, std::move(left), std::move(right), std::move(condition)});
  }

  std::optional<Operation> operator_of(int level) {
    skip_space();
    for (const Operator& one : kOperators) {
      if (one.precedence != level || !text_.substr(at_).starts_with(one.symbol)) continue;
      at_ += one.symbol.size();
      return one.operation;
    }
    return std::nullopt;
  }

  Result<Tree> choice(int depth) {
    if (depth > kMaxDepth)
      return fail(ErrorCode::kInvalidArgument, "nested deeper than {} levels", kMaxDepth);
    KW_TRY(Tree condition, comparison(depth));
    if (!take('?')) return condition;
    KW_TRY(Tree yes, choice(depth + 1));
    if (!take(':')) return unexpected("\":\"");
    KW_TRY(Tree no, choice(depth + 1));
    return make(Operation::kChoose, std::move(yes), std::move(no), std::move(condition));
  }

  Result<Tree> comparison(int depth) {
    KW_TRY(Tree left, binary(kComparison + 1, depth));
    auto operation = operator_of(kComparison);
    if (!operation) return left;
    KW_TRY(Tree right, binary(kComparison + 1, depth));
    return make(*operation, std::move(left), std::move(right));
  }

  Result<Tree> binary(int level, int depth) {
    auto operand = [&] { return level < kTerm ? binary(level + 1, depth) : unary(depth); };
    KW_TRY(Tree left, operand());
    int terms = 0;
    while (auto operation = operator_of(level)) {
      // A long chain leans to the left and is as deep as it is long when it is walked.
      if (++terms > kMaxTerms)
        return fail(ErrorCode::kInvalidArgument, "more than {} terms", kMaxTerms);
      KW_TRY(Tree right, operand());
      left = make(*operation, std::move(left), std::move(right));
    }
    return left;
  }

  Result<Tree> unary(int depth) {
    if (take('+')) return deeper_unary(depth);
    if (!take('-')) return power(depth);
    KW_TRY(Tree operand, deeper_unary(depth));
    return make(Operation::kNegate, std::move(operand), nullptr);
  }

  Result<Tree> deeper_unary(int depth) {
    if (depth >= kMaxDepth)
      return fail(ErrorCode::kInvalidArgument, "nested deeper than {} levels", kMaxDepth);
    return unary(depth + 1);
  }

  Result<Tree> power(int depth) {
    KW_TRY(Tree base, primary(depth));
    if (!operator_of(kPower)) return base;
    KW_TRY(Tree exponent, deeper_unary(depth));
    return make(Operation::kPower, std::move(base), std::move(exponent));
  }

  Result<Tree> primary(int depth) {
    if (take('(')) {
      KW_TRY(Tree inner, choice(depth + 1));
      if (!take(')')) return unexpected("\")\"");
      return inner;
    }
    skip_space();
    if (at_ < text_.size() && is_digit(text_[at_])) return integer();
    if (at_ < text_.size() && starts_name(text_[at_])) return name_or_call(depth);
    return unexpected("a number, a name or \"(\"");
  }

  Result<Tree> integer() {
    std::int64_t value = 0;
    std::size_t begin = at_;
    for (; at_ < text_.size() && is_digit(text_[at_]); ++at_) {
      if (__builtin_mul_overflow(value, 10, &value) ||
          __builtin_add_overflow(value, text_[at_] - '0', &value)) {
        return fail(ErrorCode::kInvalidArgument, "column {}: the number does not fit 64 bits",
                    begin + 1);
      }
    }
    return std::make_shared<const Node>(Node{Operation::kInteger, value, {}, {}, {}, {}});
  }

  Result<Tree> name_or_call(int depth) {
    std::size_t begin = at_;
    while (at_ < text_.size() && (starts_name(text_[at_]) || is_digit(text_[at_]))) ++at_;
    std::string name(text_.substr(begin, at_ - begin));
    auto function = std::find_if(kFunctions.begin(), kFunctions.end(),
                                 [&](const Function& f) { return f.name == name; });
    if (!take('(')) {
      if (function != kFunctions.end()) return unexpected(fmt::format("\"(\" after {}", name));
      return std::make_shared<const Node>(Node{Operation::kName, 0, std::move(name), {}, {}, {}});
    }
    if (function == kFunctions.end()) {
      return fail(ErrorCode::kInvalidArgument,
                  "column {}: \"{}\" is no function; there are ceil_div (cdiv), min and max",
                  begin + 1, printable(name, 80));
    }
    KW_TRY(Tree tree, choice(depth + 1));
    const bool is_of_many = function->operation != Operation::kCeilDiv;
    int arguments = 1;
    do {
      if (!take(',')) return unexpected("\",\"");
      // As a chain of operators, it is as deep as it is long.
      if (++arguments > kMaxTerms)
        return fail(ErrorCode::kInvalidArgument, "more than {} terms", kMaxTerms);
      KW_TRY(Tree next, choice(depth + 1));
      tree = make(function->operation, std::move(tree), std::move(next));
    } while (is_of_many && next_is(','));
    if (!take(')')) return unexpected("\")\"");
    return tree;
  }

  static constexpr int kMaxTerms = 256;
  std::string_view text_;
  std::size_t at_ = 0;
};

Result<LaunchExpression> LaunchExpression::parse(std::string_view text) {
  if (text.size() > kMaxLength) {
    return fail(ErrorCode::kInvalidArgument, "longer than {} characters", kMaxLength);
  }
  KW_TRY(auto root, Parser(text).whole());
  LaunchExpression expression(std::move(root));
  if (expression.print().size() > kMaxLength) {
    return fail(ErrorCode::kInvalidArgument, "longer than {} characters with spaces between them",
                kMaxLength);
  }
  return expression;
}

LaunchExpression::LaunchExpression(std::int64_t value)
    : root_(std::make_shared<const Node>(Node{Operation::kInteger, value, {}, {}, {}, {}})) {
  KW_CHECK(value >= 0);  // a negative number is written as a negated one
}

Result<std::int64_t> LaunchExpression::evaluate(const AxisValues& axes) const {
  return evaluate(*root_, axes);
}

Result<std::int64_t> LaunchExpression::evaluate(const Node& node, const AxisValues& axes) {
  if (node.operation == Operation::kInteger) return node.integer;
  if (node.operation == Operation::kName) return value_of(node.name, axes);
  if (node.operation == Operation::kChoose) {
    KW_TRY(std::int64_t chosen, evaluate(*node.condition, axes));
    return evaluate(chosen != 0 ? *node.left : *node.right, axes);
  }
  KW_TRY(std::int64_t left, evaluate(*node.left, axes));
  std::int64_t right = 0;
  if (node.right) {
    KW_TRY(right, evaluate(*node.right, axes));
  }
  auto value = node.operation == Operation::kNegate ? apply(Operation::kSubtract, 0, left)
                                                    : apply(node.operation, left, right);
  if (value) return value;
  return tl::unexpected(std::move(value).error().with_context(
      fmt::format("\"{}\"", printable(print(node, kChoice), 120))));
}

std::string LaunchExpression::print() const {
  return print(*root_, kChoice);
}

// What binds less tightly than `least` stands in parentheses.
std::string LaunchExpression::print(const Node& node, int least) {
  std::string out;
  const int own = precedence(node.operation);
  if (node.operation == Operation::kName) return node.name;
  if (node.operation == Operation::kInteger) return std::to_string(node.integer);
  if (node.operation == Operation::kNegate) {
    out = "-" + print(*node.left, own);
  } else if (node.operation == Operation::kChoose) {
    out = fmt::format("{} ? {} : {}", print(*node.condition, kComparison),
                      print(*node.left, kChoice), print(*node.right, kChoice));
  } else if (node.operation == Operation::kPower) {
    out = fmt::format("{} ** {}", print(*node.left, kPrimary), print(*node.right, kUnary));
  } else if (is_binary(node.operation)) {
    // Comparisons do not stand in a row.
    const int left = own == kComparison ? own + 1 : own;
    out = fmt::format("{} {} {}", print(*node.left, left), symbol(node.operation),
                      print(*node.right, own + 1));
  } else {
    return fmt::format("{}({}, {})", symbol(node.operation), print(*node.left, kChoice),
                       print(*node.right, kChoice));
  }
  return own < least ? "(" + out + ")" : out;
}

std::vector<std::string> LaunchExpression::names() const {
  struct Walk {
    std::vector<std::string> found;
    void operator()(const Node& node) {
      if (node.operation == Operation::kName &&
          std::find(found.begin(), found.end(), node.name) == found.end()) {
        found.push_back(node.name);
      }
      if (node.condition) (*this)(*node.condition);
      if (node.left) (*this)(*node.left);
      if (node.right) (*this)(*node.right);
    }
  };
  Walk walk;
  walk(*root_);
  return walk.found;
}

}  // namespace kw::task
