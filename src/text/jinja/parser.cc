#include "text/jinja/parser.h"

#include "text/jinja/parser_stream.h"

namespace kw::text::jinja {
namespace {

class Parser {
 public:
  explicit Parser(std::vector<Token> tokens) : stream_(std::move(tokens)), expressions_(stream_) {}

  Result<Block> run() {
    KW_TRY(Block out, block({}));
    KW_TRY_STATUS(stream_.expect(TokenKind::kEnd, "the end"));
    return out;
  }

 private:
  // Statements up to "{% NAME" with one of the names, which is left to be read; with none of them,
  // up to the end.
  Result<Block> block(std::initializer_list<std::string_view> ends) {
    if (++depth_ > kMaxNesting) return stream_.not_read("nesting this deep");
    Block out;
    while (!stream_.is(TokenKind::kEnd)) {
      if (stream_.is(TokenKind::kBeginBlock)) {
        bool ended = false;
        for (std::string_view end : ends) ended = ended || stream_.is_name(end, 1);
        if (ended) break;
      }
      Statement made;
      made.line = stream_.peek().line;
      KW_TRY_STATUS(statement(made));
      out.push_back(std::move(made));
    }
    --depth_;
    return out;
  }

  Status statement(Statement& out) {
    if (stream_.is(TokenKind::kText)) {
      out.text = stream_.next().text;
      return {};
    }
    if (stream_.is(TokenKind::kBeginOutput)) {
      stream_.next();
      out.kind = StatementKind::kOutput;
      KW_TRY(out.value, expressions_.list_or_expression());
      return stream_.expect(TokenKind::kEndOutput, "\"}}\"");
    }
    KW_TRY_STATUS(stream_.expect(TokenKind::kBeginBlock, "a tag"));
    KW_TRY(std::string name, stream_.name());
    if (name == "if") return if_statement(out);
    if (name == "for") return for_statement(out);
    if (name == "set") return set_statement(out);
    if (name == "macro") return macro_statement(out);
    if (name == "generation") {
      out.kind = StatementKind::kGeneration;
      return body(out, "endgeneration");
    }
    if (name == "break" || name == "continue") {
      if (loops_ == 0) return stream_.bad(fmt::format("\"{}\" is outside of a loop", name));
      out.kind = name == "break" ? StatementKind::kBreak : StatementKind::kContinue;
      return end_of_tag();
    }
    return stream_.not_read(fmt::format("\"{}\"", printable(name, 40)));
  }

  Status end_of_tag() { return stream_.expect(TokenKind::kEndBlock, "\"%}\""); }

  // "{% NAME %}"
  Status end_tag(std::string_view name) {
    KW_TRY_STATUS(stream_.expect(TokenKind::kBeginBlock, fmt::format("\"{{% {}\"", name)));
    if (!stream_.skip_name(name)) return stream_.bad(fmt::format("expected \"{}\"", name));
    return end_of_tag();
  }

  Status body(Statement& out, std::string_view end) {
    KW_TRY_STATUS(end_of_tag());
    KW_TRY(Block inner, block({end}));
    out.branches.emplace_back(nullptr, std::move(inner));
    return end_tag(end);
  }

  Status if_statement(Statement& out) {
    out.kind = StatementKind::kIf;
    while (true) {
      KW_TRY(ExpressionPtr condition, expressions_.list_or_expression(false));
      KW_TRY_STATUS(end_of_tag());
      KW_TRY(Block inner, block({"elif", "else", "endif"}));
      out.branches.emplace_back(std::move(condition), std::move(inner));
      KW_TRY_STATUS(stream_.expect(TokenKind::kBeginBlock, "\"{% endif\""));
      if (stream_.skip_name("elif")) continue;
      if (stream_.skip_name("else")) return body(out, "endif");
      if (!stream_.skip_name("endif")) return stream_.bad("expected \"endif\"");
      return end_of_tag();
    }
  }

  Result<std::vector<Target>> targets(bool with_attributes) {
    std::vector<Target> out;
    const bool brackets = stream_.skip_operator("(");
    do {
      if (!out.empty() && !stream_.is(TokenKind::kName)) break;
      Target target;
      KW_TRY(target.name, stream_.name());
      for (std::string_view kept : {"true", "false", "none", "True", "False", "None", "loop"}) {
        if (target.name == kept) return stream_.not_read(fmt::format("assigning to \"{}\"", kept));
      }
      if (with_attributes && stream_.skip_operator(".")) {
        KW_TRY(target.attribute, stream_.name());
      }
      out.push_back(std::move(target));
    } while (stream_.skip_operator(","));
    if (brackets) KW_TRY_STATUS(stream_.expect_operator(")"));
    return out;
  }

  Status for_statement(Statement& out) {
    out.kind = StatementKind::kFor;
    KW_TRY(out.targets, targets(false));
    if (!stream_.skip_name("in")) return stream_.bad("expected \"in\"");
    KW_TRY(out.value, expressions_.list_or_expression(false));
    if (stream_.skip_name("if")) {
      KW_TRY(out.condition, expressions_.expression());
    }
    if (stream_.is_name("recursive")) return stream_.not_read("\"recursive\"");
    KW_TRY_STATUS(end_of_tag());
    ++loops_;
    KW_TRY(Block inner, block({"else", "endfor"}));
    --loops_;
    out.branches.emplace_back(nullptr, std::move(inner));
    if (stream_.is_name("else", 1)) {
      stream_.next();
      stream_.next();
      return body(out, "endfor");
    }
    return end_tag("endfor");
  }

  Status set_statement(Statement& out) {
    KW_TRY(out.targets, targets(true));
    if (stream_.skip_operator("=")) {
      out.kind = StatementKind::kSet;
      KW_TRY(out.value, expressions_.list_or_expression());
      return end_of_tag();
    }
    if (stream_.is_operator("|")) return stream_.not_read("a filter of a block");
    out.kind = StatementKind::kSetBlock;
    if (out.targets.size() != 1) return stream_.bad("expected one name");
    return body(out, "endset");
  }

  Status macro_statement(Statement& out) {
    out.kind = StatementKind::kMacro;
    out.macro = std::make_shared<Macro>();
    KW_TRY(out.macro->name, stream_.name());
    KW_TRY_STATUS(stream_.expect_operator("("));
    while (!stream_.skip_operator(")")) {
      if (!out.macro->parameters.empty()) KW_TRY_STATUS(stream_.expect_operator(","));
      KW_TRY(std::string name, stream_.name());
      ExpressionPtr value;
      if (stream_.skip_operator("=")) {
        KW_TRY(value, expressions_.expression());
      } else if (!out.macro->parameters.empty() && out.macro->parameters.back().second) {
        return stream_.bad("expected a default");
      }
      out.macro->parameters.emplace_back(std::move(name), std::move(value));
    }
    KW_TRY_STATUS(end_of_tag());
    const int loops = std::exchange(loops_, 0);
    KW_TRY(out.macro->body, block({"endmacro"}));
    loops_ = loops;
    return end_tag("endmacro");
  }

  TokenStream stream_;
  ExpressionParser expressions_;
  int depth_ = 0;
  int loops_ = 0;
};

}  // namespace

Result<Block> parse(std::string_view source) {
  KW_TRY(std::vector<Token> tokens, tokenize(source));
  return Parser(std::move(tokens)).run();
}

}  // namespace kw::text::jinja
