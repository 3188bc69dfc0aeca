// What the two parsers of Jinja's grammar share: private to parser.cc and expression_parser.cc.
#pragma once
#include <array>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "base/text.h"
#include "text/jinja/lexer.h"
#include "text/jinja/syntax.h"

namespace kw::text::jinja {

inline constexpr int kMaxNesting = 100;
// Of one expression: it bounds how deep its tree is.
inline constexpr int kMaxNodes = 1000;

class TokenStream {
 public:
  explicit TokenStream(std::vector<Token> tokens) : tokens_(std::move(tokens)) {}

  const Token& peek(std::size_t ahead = 0) const {
    return tokens_[std::min(at_ + ahead, tokens_.size() - 1)];
  }
  Token next() {
    Token out = peek();
    if (at_ + 1 < tokens_.size()) ++at_;
    return out;
  }
  bool is(TokenKind kind) const { return peek().kind == kind; }
  bool is_operator(std::string_view text) const {
    return is(TokenKind::kOperator) && peek().text == text;
  }
  bool is_name(std::string_view text, std::size_t ahead = 0) const {
    return peek(ahead).kind == TokenKind::kName && peek(ahead).text == text;
  }
  bool skip_operator(std::string_view text) {
    if (!is_operator(text)) return false;
    next();
    return true;
  }
  bool skip_name(std::string_view text) {
    if (!is_name(text)) return false;
    next();
    return true;
  }
  Status expect_operator(std::string_view text) {
    if (skip_operator(text)) return {};
    return bad(fmt::format("expected \"{}\"", text));
  }
  Status expect(TokenKind kind, std::string_view what) {
    if (!is(kind)) return bad(fmt::format("expected {}", what));
    next();
    return {};
  }
  Result<std::string> name() {
    if (!is(TokenKind::kName)) return bad("expected a name");
    return next().text;
  }
  tl::unexpected<Error> bad(std::string_view what) const {
    return fail(ErrorCode::kInvalidArgument, "line {}: {}, not {}", peek().line, what, shown());
  }
  tl::unexpected<Error> not_read(std::string_view what) const {
    return fail(ErrorCode::kUnsupported, "line {}: {} is not read", peek().line, what);
  }

 private:
  std::string shown() const {
    static constexpr std::array<std::string_view, 11> kNames = {
        "text", "\"{{\"", "\"}}\"", "\"{%\"", "\"%}\"", "", "a string", "", "", "", "the end"};
    std::string_view name = kNames[static_cast<std::size_t>(peek().kind)];
    return name.empty() ? fmt::format("\"{}\"", printable(peek().text, 40)) : std::string(name);
  }
  std::vector<Token> tokens_;
  std::size_t at_ = 0;
};

class ExpressionParser {
 public:
  explicit ExpressionParser(TokenStream& stream) : stream_(stream) {}

  Result<ExpressionPtr> expression(bool with_condition = true);
  // "a, b" without brackets is a list (Jinja's tuple).
  Result<ExpressionPtr> list_or_expression(bool with_condition = true);

 private:
  using Parse = Result<ExpressionPtr> (ExpressionParser::*)();
  ExpressionPtr make(ExpressionKind kind);
  Status check_size() const;
  Result<ExpressionPtr> binary(Parse operand, std::initializer_list<std::string_view> operators);
  Result<ExpressionPtr> disjunction();
  Result<ExpressionPtr> conjunction();
  Result<ExpressionPtr> negation();
  Result<ExpressionPtr> comparison();
  Result<ExpressionPtr> sum();
  Result<ExpressionPtr> concat();
  Result<ExpressionPtr> product();
  Result<ExpressionPtr> power();
  Result<ExpressionPtr> unary_with_filters() { return unary(true); }
  Result<ExpressionPtr> unary(bool with_filters);
  Result<ExpressionPtr> primary();
  Result<ExpressionPtr> in_brackets();
  Result<ExpressionPtr> list();
  Result<ExpressionPtr> dict();
  Result<ExpressionPtr> postfix(ExpressionPtr node);
  Result<ExpressionPtr> filters(ExpressionPtr node);
  Result<ExpressionPtr> subscript(ExpressionPtr node);
  Result<ExpressionPtr> call(ExpressionPtr callee);
  Result<ExpressionPtr> test(ExpressionPtr node);
  Status arguments(Expression& into);

  TokenStream& stream_;
  int depth_ = 0;
  int nodes_ = 0;  // of the outermost expression
};

}  // namespace kw::text::jinja
