// IntExpr::parse.
#include <cctype>
#include <charconv>

#include "writer/graph/int_expr.h"

namespace kw::writer {
namespace {

constexpr std::size_t kMaxBytes = 4096;
constexpr int kMaxLevels = 64;
constexpr std::size_t kMaxTerms = 256;
constexpr std::int64_t kMaxPower = 8;

// Recursive descent: sum > product > unary minus > power > atom.
class Parser {
 public:
  explicit Parser(std::string_view text) : text_(text) {}

  Result<IntExpr> whole() {
    KW_TRY(IntExpr out, sum());
    if (at_ < text_.size()) return unexpected();
    return out;
  }

 private:
  Result<IntExpr> sum() {
    if (++levels_ > kMaxLevels) return fail_here("more than {} levels", kMaxLevels);
    KW_TRY(IntExpr out, product());
    for (;;) {
      if (take("+")) {
        KW_TRY(IntExpr right, product());
        out = out + right;
      } else if (take("-")) {
        KW_TRY(IntExpr right, product());
        out = out - right;
      } else {
        break;
      }
      if (out.terms() > kMaxTerms) return too_many_terms();
    }
    --levels_;
    return out;
  }

  Result<IntExpr> product() {
    KW_TRY(IntExpr out, signed_power());
    for (;;) {
      if (take("//")) {
        KW_TRY(IntExpr right, signed_power());
        KW_TRY(out, called(IntFunction::kFloorDiv, out, right));
      } else if (take("%")) {
        KW_TRY(IntExpr right, signed_power());
        KW_TRY(out, called(IntFunction::kMod, out, right));
      } else if (next_is("*") && !next_is("**")) {
        ++at_;
        KW_TRY(IntExpr right, signed_power());
        KW_TRY(out, multiplied(out, right));
      } else {
        return out;
      }
    }
  }

  Result<IntExpr> signed_power() {
    bool minus = false;
    while (next_is("-") || next_is("+")) minus ^= text_[at_++] == '-';
    KW_TRY(IntExpr out, power());
    return minus ? IntExpr() - out : out;
  }

  Result<IntExpr> power() {
    KW_TRY(IntExpr base, atom());
    if (!take("**")) return base;
    skip_blanks();
    KW_TRY(std::int64_t exponent, number());
    if (exponent > kMaxPower) return fail_here("a power over {}", kMaxPower);
    IntExpr out = 1;
    for (std::int64_t i = 0; i < exponent; ++i) {
      KW_TRY(out, multiplied(out, base));
    }
    return out;
  }

  Result<IntExpr> atom() {
    skip_blanks();
    if (at_ == text_.size()) return fail_here("the expression ends too early");
    const char c = text_[at_];
    if (c >= '0' && c <= '9') {
      KW_TRY(std::int64_t value, number());
      return IntExpr(value);
    }
    if (take("(")) {
      KW_TRY(IntExpr out, sum());
      if (!take(")")) return unexpected();
      return out;
    }
    const std::string name = word();
    if (name.empty()) return unexpected();
    return take("(") ? call(name) : IntExpr::symbol(name);
  }

  Result<IntExpr> call(const std::string& name) {
    IntFunction function = IntFunction::kFloorDiv;
    bool many = false;
    if (name == "min" || name == "Min") {
      function = IntFunction::kMin;
      many = true;
    } else if (name == "max" || name == "Max") {
      function = IntFunction::kMax;
      many = true;
    } else if (name == "Mod" || name == "PythonMod") {
      function = IntFunction::kMod;
    } else if (name != "FloorDiv" && name != "CleanDiv") {
      return fail_here("unknown function {}", name);
    }
    KW_TRY(IntExpr out, sum());
    for (int more = 0; take(","); ++more) {
      if (more > 0 && !many) return unexpected();
      KW_TRY(IntExpr right, sum());
      KW_TRY(out, called(function, out, right));
    }
    if (!take(")")) return unexpected();
    return out;
  }

  Result<IntExpr> called(IntFunction function, const IntExpr& a, const IntExpr& b) {
    if (b.constant() == 0 && (function == IntFunction::kFloorDiv || function == IntFunction::kMod))
      return fail_here("a division by 0");
    return IntExpr::call(function, a, b);
  }

  Result<IntExpr> multiplied(const IntExpr& a, const IntExpr& b) {
    if (a.terms() * b.terms() > kMaxTerms) return too_many_terms();
    return a * b;
  }

  Result<std::int64_t> number() {
    std::int64_t value = 0;
    const char* end = text_.data() + text_.size();
    auto [rest, error] = std::from_chars(text_.data() + at_, end, value);
    if (error == std::errc::invalid_argument) return unexpected();
    if (error != std::errc()) return fail_here("a number over 64 bits");
    at_ = static_cast<std::size_t>(rest - text_.data());
    return value;
  }

  std::string word() {
    const std::size_t start = at_;
    while (at_ < text_.size() &&
           (std::isalnum(static_cast<unsigned char>(text_[at_])) != 0 || text_[at_] == '_'))
      ++at_;
    return std::string(text_.substr(start, at_ - start));
  }

  void skip_blanks() {
    while (at_ < text_.size() && text_[at_] == ' ') ++at_;
  }
  bool next_is(std::string_view token) {
    skip_blanks();
    return text_.substr(at_).starts_with(token);
  }
  bool take(std::string_view token) {
    if (!next_is(token)) return false;
    at_ += token.size();
    return true;
  }

  template <typename... Args>
  tl::unexpected<Error> fail_here(fmt::format_string<Args...> format, Args&&... args) const {
    return fail(ErrorCode::kInvalidArgument, "column {}: {}", at_ + 1,
                fmt::format(format, std::forward<Args>(args)...));
  }
  tl::unexpected<Error> unexpected() const {
    if (at_ == text_.size()) return fail_here("the expression ends too early");
    return fail_here("unexpected \"{}\"", text_.substr(at_, 1));
  }
  tl::unexpected<Error> too_many_terms() const {
    return fail_here("a sum of more than {} terms", kMaxTerms);
  }

  std::string_view text_;
  std::size_t at_ = 0;
  int levels_ = 0;
};

}  // namespace

Result<IntExpr> IntExpr::parse(std::string_view text) {
  if (text.size() > kMaxBytes)
    return fail(ErrorCode::kInvalidArgument, "an expression of more than {} bytes", kMaxBytes);
  return Parser(text).whole();
}

}  // namespace kw::writer
