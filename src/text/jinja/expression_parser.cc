#include <charconv>

#include "text/jinja/parser_stream.h"

namespace kw::text::jinja {

ExpressionPtr ExpressionParser::make(ExpressionKind kind) {
  ++nodes_;
  auto out = std::make_unique<Expression>();
  out->kind = kind;
  out->line = stream_.peek().line;
  return out;
}

Status ExpressionParser::check_size() const {
  if (depth_ > kMaxNesting || nodes_ > kMaxNodes)
    return stream_.not_read("an expression this large");
  return {};
}

Result<ExpressionPtr> ExpressionParser::expression(bool with_condition) {
  if (depth_ == 0) nodes_ = 0;
  ++depth_;
  KW_TRY_STATUS(check_size());
  KW_TRY(ExpressionPtr out, disjunction());
  while (with_condition && stream_.skip_name("if")) {
    ExpressionPtr node = make(ExpressionKind::kConditional);
    node->children.push_back(std::move(out));
    KW_TRY(ExpressionPtr condition, disjunction());
    node->children.push_back(std::move(condition));
    ExpressionPtr otherwise;
    if (stream_.skip_name("else")) {
      KW_TRY(otherwise, expression());
    }
    node->children.push_back(std::move(otherwise));
    out = std::move(node);
  }
  --depth_;
  return out;
}

Result<ExpressionPtr> ExpressionParser::list_or_expression(bool with_condition) {
  KW_TRY(ExpressionPtr first, expression(with_condition));
  if (!stream_.is_operator(",")) return first;
  ExpressionPtr out = make(ExpressionKind::kList);
  out->children.push_back(std::move(first));
  while (stream_.skip_operator(",")) {
    if (stream_.is(TokenKind::kEndOutput) || stream_.is(TokenKind::kEndBlock) ||
        stream_.is_operator(")"))
      break;
    KW_TRY(ExpressionPtr item, expression(with_condition));
    out->children.push_back(std::move(item));
  }
  return out;
}

Result<ExpressionPtr> ExpressionParser::disjunction() {
  KW_TRY(ExpressionPtr left, conjunction());
  while (stream_.skip_name("or")) {
    ExpressionPtr node = make(ExpressionKind::kOr);
    node->children.push_back(std::move(left));
    KW_TRY(ExpressionPtr right, conjunction());
    node->children.push_back(std::move(right));
    left = std::move(node);
  }
  return left;
}

Result<ExpressionPtr> ExpressionParser::conjunction() {
  KW_TRY(ExpressionPtr left, negation());
  while (stream_.skip_name("and")) {
    ExpressionPtr node = make(ExpressionKind::kAnd);
    node->children.push_back(std::move(left));
    KW_TRY(ExpressionPtr right, negation());
    node->children.push_back(std::move(right));
    left = std::move(node);
  }
  return left;
}

Result<ExpressionPtr> ExpressionParser::negation() {
  if (!stream_.skip_name("not")) return comparison();
  ++depth_;
  KW_TRY_STATUS(check_size());
  ExpressionPtr node = make(ExpressionKind::kNot);
  KW_TRY(ExpressionPtr inner, negation());
  --depth_;
  node->children.push_back(std::move(inner));
  return node;
}

Result<ExpressionPtr> ExpressionParser::comparison() {
  KW_TRY(ExpressionPtr first, sum());
  ExpressionPtr node = make(ExpressionKind::kCompare);
  node->children.push_back(std::move(first));
  while (true) {
    std::string found;
    for (std::string_view one : {"==", "!=", ">=", "<=", ">", "<"}) {
      if (found.empty() && stream_.skip_operator(one)) found = one;
    }
    if (found.empty() && stream_.skip_name("in")) found = "in";
    if (found.empty() && stream_.is_name("not") && stream_.is_name("in", 1)) {
      stream_.next();
      stream_.next();
      found = "not in";
    }
    if (found.empty()) break;
    node->operators.push_back(std::move(found));
    KW_TRY(ExpressionPtr operand, sum());
    node->children.push_back(std::move(operand));
  }
  return node->operators.empty() ? std::move(node->children[0]) : std::move(node);
}

Result<ExpressionPtr> ExpressionParser::binary(Parse operand,
                                               std::initializer_list<std::string_view> operators) {
  KW_TRY(ExpressionPtr left, (this->*operand)());
  while (true) {
    std::string found;
    for (std::string_view one : operators) {
      if (found.empty() && stream_.skip_operator(one)) found = one;
    }
    if (found.empty()) return left;
    ExpressionPtr node = make(ExpressionKind::kArithmetic);
    node->name = std::move(found);
    node->children.push_back(std::move(left));
    KW_TRY(ExpressionPtr right, (this->*operand)());
    node->children.push_back(std::move(right));
    left = std::move(node);
  }
}

Result<ExpressionPtr> ExpressionParser::sum() {
  return binary(&ExpressionParser::concat, {"+", "-"});
}

Result<ExpressionPtr> ExpressionParser::concat() {
  KW_TRY(ExpressionPtr first, product());
  if (!stream_.is_operator("~")) return first;
  ExpressionPtr node = make(ExpressionKind::kConcat);
  node->children.push_back(std::move(first));
  while (stream_.skip_operator("~")) {
    KW_TRY(ExpressionPtr part, product());
    node->children.push_back(std::move(part));
  }
  return node;
}

Result<ExpressionPtr> ExpressionParser::product() {
  return binary(&ExpressionParser::power, {"*", "//", "/", "%"});
}

Result<ExpressionPtr> ExpressionParser::power() {
  return binary(&ExpressionParser::unary_with_filters, {"**"});
}

Result<ExpressionPtr> ExpressionParser::unary(bool with_filters) {
  ++depth_;
  KW_TRY_STATUS(check_size());
  ExpressionPtr node;
  if (stream_.is_operator("-") || stream_.is_operator("+")) {
    node = make(stream_.is_operator("-") ? ExpressionKind::kNegate : ExpressionKind::kPlus);
    stream_.next();
    KW_TRY(ExpressionPtr inner, unary(false));
    node->children.push_back(std::move(inner));
  } else {
    KW_TRY(node, primary());
  }
  KW_TRY(node, postfix(std::move(node)));
  if (with_filters) {
    KW_TRY(node, filters(std::move(node)));
  }
  --depth_;
  return node;
}

Result<ExpressionPtr> ExpressionParser::primary() {
  ExpressionPtr node = make(ExpressionKind::kConstant);
  if (stream_.is(TokenKind::kName)) {
    std::string name = stream_.next().text;
    if (name == "true" || name == "True" || name == "false" || name == "False") {
      node->constant = Value(name == "true" || name == "True");
    } else if (name == "varargs" || name == "kwargs" || name == "caller" || name == "self" ||
               name == "super") {
      return stream_.not_read(fmt::format("\"{}\"", name));
    } else if (name != "none" && name != "None") {
      node->kind = ExpressionKind::kName;
      node->name = std::move(name);
    }
    return node;
  }
  if (stream_.is(TokenKind::kString)) {
    std::string text;
    while (stream_.is(TokenKind::kString)) text += stream_.next().text;
    node->constant = Value(std::move(text));
    return node;
  }
  if (stream_.is(TokenKind::kInteger) || stream_.is(TokenKind::kFloat)) {
    const bool whole = stream_.is(TokenKind::kInteger);
    const std::string text = stream_.peek().text;
    std::int64_t integer = 0;
    double real = 0;
    const char* end = text.data() + text.size();
    const auto read = whole ? std::from_chars(text.data(), end, integer)
                            : std::from_chars(text.data(), end, real);
    if (read.ec != std::errc() || read.ptr != end) return stream_.not_read("a number this large");
    stream_.next();
    node->constant = whole ? Value(integer) : Value(real);
    return node;
  }
  if (stream_.is_operator("(")) return in_brackets();
  if (stream_.is_operator("[")) return list();
  if (stream_.is_operator("{")) return dict();
  return stream_.bad("expected an expression");
}

Result<ExpressionPtr> ExpressionParser::in_brackets() {
  KW_TRY_STATUS(stream_.expect_operator("("));
  if (stream_.skip_operator(")")) return make(ExpressionKind::kList);
  KW_TRY(ExpressionPtr node, list_or_expression());
  KW_TRY_STATUS(stream_.expect_operator(")"));
  return node;
}

Result<ExpressionPtr> ExpressionParser::list() {
  ExpressionPtr node = make(ExpressionKind::kList);
  KW_TRY_STATUS(stream_.expect_operator("["));
  while (!stream_.skip_operator("]")) {
    if (!node->children.empty()) {
      KW_TRY_STATUS(stream_.expect_operator(","));
      if (stream_.skip_operator("]")) break;
    }
    KW_TRY(ExpressionPtr item, expression());
    node->children.push_back(std::move(item));
  }
  return node;
}

Result<ExpressionPtr> ExpressionParser::dict() {
  ExpressionPtr node = make(ExpressionKind::kDict);
  KW_TRY_STATUS(stream_.expect_operator("{"));
  while (!stream_.skip_operator("}")) {
    if (!node->children.empty()) {
      KW_TRY_STATUS(stream_.expect_operator(","));
      if (stream_.skip_operator("}")) break;
    }
    KW_TRY(ExpressionPtr key, expression());
    node->children.push_back(std::move(key));
    KW_TRY_STATUS(stream_.expect_operator(":"));
    KW_TRY(ExpressionPtr value, expression());
    node->children.push_back(std::move(value));
  }
  return node;
}

Result<ExpressionPtr> ExpressionParser::postfix(ExpressionPtr node) {
  while (true) {
    KW_TRY_STATUS(check_size());
    if (stream_.is_operator(".") || stream_.is_operator("[")) {
      KW_TRY(node, subscript(std::move(node)));
    } else if (stream_.is_operator("(")) {
      KW_TRY(node, call(std::move(node)));
    } else {
      return node;
    }
  }
}

Result<ExpressionPtr> ExpressionParser::filters(ExpressionPtr node) {
  while (true) {
    KW_TRY_STATUS(check_size());
    if (stream_.skip_operator("|")) {
      ExpressionPtr filter = make(ExpressionKind::kFilter);
      KW_TRY(filter->name, stream_.name());
      filter->children.push_back(std::move(node));
      if (stream_.is_operator("(")) KW_TRY_STATUS(arguments(*filter));
      node = std::move(filter);
    } else if (stream_.skip_name("is")) {
      KW_TRY(node, test(std::move(node)));
    } else if (stream_.is_operator("(")) {
      KW_TRY(node, call(std::move(node)));
    } else {
      return node;
    }
  }
}

Result<ExpressionPtr> ExpressionParser::subscript(ExpressionPtr node) {
  if (stream_.skip_operator(".")) {
    ExpressionPtr out = make(ExpressionKind::kAttribute);
    KW_TRY(out->name, stream_.name());
    out->children.push_back(std::move(node));
    return out;
  }
  KW_TRY_STATUS(stream_.expect_operator("["));
  ExpressionPtr out = make(ExpressionKind::kItem);
  out->children.push_back(std::move(node));
  ExpressionPtr first;
  if (!stream_.is_operator(":")) {
    KW_TRY(first, expression());
  }
  out->children.push_back(std::move(first));
  if (stream_.is_operator(":")) {
    out->kind = ExpressionKind::kSlice;
    for (int part = 0; part < 2; ++part) {
      ExpressionPtr bound;
      if (stream_.skip_operator(":") && !stream_.is_operator("]") && !stream_.is_operator(":")) {
        KW_TRY(bound, expression());
      }
      out->children.push_back(std::move(bound));
    }
  }
  KW_TRY_STATUS(stream_.expect_operator("]"));
  return out;
}

Result<ExpressionPtr> ExpressionParser::call(ExpressionPtr callee) {
  ExpressionPtr node = make(ExpressionKind::kCall);
  node->children.push_back(std::move(callee));
  KW_TRY_STATUS(arguments(*node));
  return node;
}

Status ExpressionParser::arguments(Expression& into) {
  KW_TRY_STATUS(stream_.expect_operator("("));
  bool first = true;
  while (!stream_.skip_operator(")")) {
    if (!first) {
      KW_TRY_STATUS(stream_.expect_operator(","));
      if (stream_.skip_operator(")")) break;
    }
    first = false;
    if (stream_.is_operator("*") || stream_.is_operator("**"))
      return stream_.not_read("\"*\" before an argument");
    const bool named = stream_.is(TokenKind::kName) &&
                       stream_.peek(1).kind == TokenKind::kOperator && stream_.peek(1).text == "=";
    std::string name;
    if (named) {
      name = stream_.next().text;
      stream_.next();
    } else if (!into.named.empty()) {
      return stream_.bad("expected a named argument");
    }
    KW_TRY(ExpressionPtr value, expression());
    if (named)
      into.named.emplace_back(std::move(name), std::move(value));
    else
      into.positional.push_back(std::move(value));
  }
  return {};
}

// The argument of a test may stand without brackets: "is divisibleby 3".
Result<ExpressionPtr> ExpressionParser::test(ExpressionPtr node) {
  const bool negated = stream_.skip_name("not");
  ExpressionPtr out = make(ExpressionKind::kTest);
  KW_TRY(out->name, stream_.name());
  out->children.push_back(std::move(node));
  const Token& next = stream_.peek();
  const bool is_argument = (next.kind == TokenKind::kName && next.text != "else" &&
                            next.text != "or" && next.text != "and") ||
                           next.kind == TokenKind::kString || next.kind == TokenKind::kInteger ||
                           next.kind == TokenKind::kFloat || stream_.is_operator("[") ||
                           stream_.is_operator("{");
  if (stream_.is_operator("(")) {
    KW_TRY_STATUS(arguments(*out));
  } else if (is_argument) {
    if (stream_.is_name("is")) return stream_.bad("expected an operator between two tests");
    KW_TRY(ExpressionPtr argument, primary());
    KW_TRY(argument, postfix(std::move(argument)));
    out->positional.push_back(std::move(argument));
  }
  if (!negated) return out;
  ExpressionPtr node_not = make(ExpressionKind::kNot);
  node_not->children.push_back(std::move(out));
  return node_not;
}

}  // namespace kw::text::jinja
