#include "text/jinja/lexer.h"

#include <algorithm>
#include <array>

#include "base/text.h"
#include "text/jinja/value.h"
#include "text/utf8.h"

namespace kw::text::jinja {
namespace {

constexpr std::size_t kMaxTokens = 200000;

// \r\n and \r are \n; a single one at the end is dropped.
std::string normalised(std::string_view source) {
  std::string out;
  for (std::size_t at = 0; at < source.size(); ++at) {
    if (source[at] == '\r') {
      out += '\n';
      if (at + 1 < source.size() && source[at + 1] == '\n') ++at;
    } else {
      out += source[at];
    }
  }
  if (!out.empty() && out.back() == '\n') out.pop_back();
  return out;
}

bool is_name_start(char c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_';
}

class Lexer {
 public:
  explicit Lexer(std::string_view source) : source_(source) {}

  Result<std::vector<Token>> run() {
    while (at_ < source_.size()) {
      std::size_t tag = next_tag(at_);
      KW_TRY_STATUS(text_until(tag));
      if (tag == source_.size()) break;
      const char kind = source_[tag + 1];
      at_ = tag + 2;
      if (at_ < source_.size() && (source_[at_] == '-' || source_[at_] == '+')) ++at_;
      if (kind == '#') {
        KW_TRY_STATUS(comment());
      } else {
        add(kind == '{' ? TokenKind::kBeginOutput : TokenKind::kBeginBlock, "");
        KW_TRY_STATUS(tag_body(kind == '{' ? '}' : '%'));
      }
      if (out_.size() > kMaxTokens)
        return fail(ErrorCode::kUnsupported, "more than {} tokens", kMaxTokens);
    }
    add(TokenKind::kEnd, "");
    return std::move(out_);
  }

 private:
  tl::unexpected<Error> bad(std::string_view what) const {
    return fail(ErrorCode::kInvalidArgument, "line {}: {}", line_, what);
  }
  void add(TokenKind kind, std::string text) { out_.push_back({kind, std::move(text), line_}); }
  void count_lines(std::string_view text) {
    line_ += static_cast<std::size_t>(std::count(text.begin(), text.end(), '\n'));
  }
  char peek(std::size_t ahead = 0) const {
    return at_ + ahead < source_.size() ? source_[at_ + ahead] : '\0';
  }

  std::size_t next_tag(std::size_t from) const {
    for (std::size_t at = source_.find('{', from); at != std::string_view::npos;
         at = source_.find('{', at + 1)) {
      char next = at + 1 < source_.size() ? source_[at + 1] : '\0';
      if (next == '{' || next == '%' || next == '#') return at;
    }
    return source_.size();
  }

  // Text before the tag at `tag`, less what the tag takes of it.
  Status text_until(std::size_t tag) {
    std::string_view text = source_.substr(at_, tag - at_);
    count_lines(text);
    if (tag < source_.size()) {
      const char sign = tag + 2 < source_.size() ? source_[tag + 2] : '\0';
      if (sign == '-') {
        text = strip_right(text);
      } else if (sign != '+' && source_[tag + 1] != '{') {
        // A block or a comment that is the first on its line takes the indentation.
        const std::size_t line = text.rfind('\n') + 1;
        if ((line > 0 || line_starts_) && strip_left(text.substr(line)).empty())
          text = text.substr(0, line);
      }
    }
    if (!text.empty()) add(TokenKind::kText, std::string(text));
    return {};
  }

  // Behind a block or a comment: its sign has been read.
  void behind_block(char sign) {
    line_starts_ = false;
    const std::size_t begin = at_;
    if (sign == '-') {
      at_ = source_.size() - strip_left(source_.substr(at_)).size();
    } else if (sign != '+' && peek() == '\n') {
      ++at_;
    }
    if (at_ > begin) line_starts_ = source_[at_ - 1] == '\n';
    count_lines(source_.substr(begin, at_ - begin));
  }

  Status comment() {
    const std::size_t end = source_.find("#}", at_);
    if (end == std::string_view::npos) return bad("a comment has no end");
    const char last = end > at_ ? source_[end - 1] : '\0';
    count_lines(source_.substr(at_, end - at_));
    at_ = end + 2;
    behind_block(last == '-' || last == '+' ? last : '\0');
    return {};
  }

  // Up to and with "}}" or "%}".
  Status tag_body(char end) {
    std::string open;  // brackets that wait for their end
    while (true) {
      skip_space();
      if (at_ >= source_.size()) return bad("a tag has no end");
      if (open.empty()) {
        const std::size_t sign = peek() == '-' || (peek() == '+' && end == '%') ? 1 : 0;
        if (peek(sign) == end && peek(sign + 1) == '}') {
          const char mark = sign == 1 ? peek() : '\0';
          at_ += sign + 2;
          return end_tag(end, mark);
        }
      }
      const char c = peek();
      if (c == '"' || c == '\'') {
        KW_TRY_STATUS(string());
      } else if (is_digit(c)) {
        KW_TRY_STATUS(number());
      } else if (is_name_start(c)) {
        const std::size_t begin = at_;
        while (is_name_start(peek()) || is_digit(peek())) ++at_;
        add(TokenKind::kName, std::string(source_.substr(begin, at_ - begin)));
      } else {
        KW_TRY_STATUS(take_operator(open));
      }
    }
  }

  Status end_tag(char end, char mark) {
    if (end == '%') {
      add(TokenKind::kEndBlock, "");
      behind_block(mark);
      return {};
    }
    add(TokenKind::kEndOutput, "");
    line_starts_ = false;
    if (mark == '-') behind_block(mark);
    return {};
  }

  void skip_space() {
    const std::size_t begin = at_;
    at_ = source_.size() - strip_left(source_.substr(at_)).size();
    count_lines(source_.substr(begin, at_ - begin));
  }

  Status take_operator(std::string& open) {
    static constexpr std::array<std::string_view, 6> kLong = {"//", "**", "==", "!=", ">=", "<="};
    std::string_view rest = source_.substr(at_);
    for (std::string_view text : kLong) {
      if (rest.starts_with(text)) {
        at_ += 2;
        add(TokenKind::kOperator, std::string(text));
        return {};
      }
    }
    const char c = rest[0];
    if (std::string_view("+-*/%~[](){}<>=.:|,;").find(c) == std::string_view::npos)
      return bad(fmt::format("\"{}\" is no operator", printable(rest.substr(0, 1), 10)));
    if (c == '(' || c == '[' || c == '{') open += c;
    if (c == ')' || c == ']' || c == '}') {
      const char begin = c == ')' ? '(' : c == ']' ? '[' : '{';
      if (open.empty() || open.back() != begin) return bad(fmt::format("unexpected \"{}\"", c));
      open.pop_back();
    }
    ++at_;
    add(TokenKind::kOperator, std::string(1, c));
    return {};
  }

  // Digits and "_" between them; a float has digits on both sides of its dot, or an exponent.
  Status number() {
    const std::size_t begin = at_;
    auto digits = [&] {
      while (is_digit(peek()) || (peek() == '_' && is_digit(peek(1)))) ++at_;
    };
    digits();
    bool whole = true;
    if (peek() == '.' && is_digit(peek(1))) {
      whole = false;
      ++at_;
      digits();
    }
    if (is_name_start(peek())) return bad("a number of this form is not read");
    std::string text(source_.substr(begin, at_ - begin));
    std::erase(text, '_');
    add(whole ? TokenKind::kInteger : TokenKind::kFloat, std::move(text));
    return {};
  }

  Status string() {
    const char quote = peek();
    ++at_;
    std::string text;
    while (true) {
      if (at_ >= source_.size()) return bad("a string has no end");
      const char c = source_[at_++];
      if (c == quote) break;
      if (c == '\n') ++line_;
      if (c == '\\')
        KW_TRY_STATUS(escape(text));
      else
        text += c;
    }
    add(TokenKind::kString, std::move(text));
    return {};
  }

  // Those of Python's strings; an unknown one stays as it is.
  Status escape(std::string& out) {
    static constexpr std::string_view kLetters = "nrtabfv\\'\"", kMeant = "\n\r\t\a\b\f\v\\'\"";
    if (at_ >= source_.size()) return bad("a string has no end");
    const char c = source_[at_++];
    if (auto known = kLetters.find(c); known != std::string_view::npos) {
      out += kMeant[known];
      return {};
    }
    if (c == '\n') {
      ++line_;
      return {};
    }
    std::size_t count = c == 'x' ? 2 : c == 'u' ? 4 : c == 'U' ? 8 : 0;
    if (c == 'N' || is_digit(c)) return bad(fmt::format("the escape \"\\{}\" is not read", c));
    if (count == 0) {
      out += '\\';
      out += c;
      return {};
    }
    std::uint32_t code = 0;
    for (; count > 0; --count, ++at_) {
      const char digit = peek();
      const std::size_t value =
          std::string_view("0123456789abcdef")
              .find(digit >= 'A' && digit <= 'F' ? static_cast<char>(digit + 32) : digit);
      if (digit == '\0' || value == std::string_view::npos) return bad("an escape is cut");
      code = code * 16 + static_cast<std::uint32_t>(value);
    }
    if (code > 0x10FFFF || (code >= 0xD800 && code <= 0xDFFF))
      return bad("an escape is no character");
    append_utf8(out, code);
    return {};
  }

  std::string_view source_;
  std::size_t at_ = 0;
  std::size_t line_ = 1;
  bool line_starts_ = true;  // the last token ended with a line end, or is none
  std::vector<Token> out_;
};

}  // namespace

Result<std::vector<Token>> tokenize(std::string_view source) {
  const std::string text = normalised(source);
  return Lexer(text).run();
}

}  // namespace kw::text::jinja
