// PCRE2 in UTF mode with Unicode properties and its JIT compiler.
#include "lm/tokenizer/regex_splitter.h"

#include <algorithm>

#include "base/text.h"

#define PCRE2_CODE_UNIT_WIDTH 8
#include <pcre2.h>

namespace kw::lm {
namespace {

constexpr std::size_t kMaxRegex = 4096;
constexpr std::uint32_t kMatchLimit = 1000000;  // steps for one match without the JIT compiler
constexpr std::size_t kStackBytes = 1U << 20U;

// White_Space without U+180E, which PCRE2 has in \s.
constexpr std::string_view kSpaces =
    R"(\t-\r \x{85}\x{A0}\x{1680}\x{2000}-\x{200A}\x{2028}\x{2029}\x{202F}\x{205F}\x{3000})";

struct Deleter {
  void operator()(pcre2_code* code) const { pcre2_code_free(code); }
  void operator()(pcre2_match_data* data) const { pcre2_match_data_free(data); }
  void operator()(pcre2_match_context* context) const { pcre2_match_context_free(context); }
  void operator()(pcre2_jit_stack* stack) const { pcre2_jit_stack_free(stack); }
};
template <typename T>
using Owned = std::unique_ptr<T, Deleter>;

// The expression for PCRE2. Escapes are those that mean the same to both, white space aside.
class Translation {
 public:
  explicit Translation(std::string_view regex) : rest_(regex) {}

  Result<std::string> run() {
    while (!rest_.empty()) {
      char c = rest_[0];
      if (c == '\\') {
        KW_TRY_STATUS(escape());
      } else if (in_class_) {
        KW_TRY_STATUS(in_class(c));
      } else if (rest_.starts_with("(?") && !known_group()) {
        return fail(ErrorCode::kUnsupported, "group \"{}\" is not read",
                    printable(rest_.substr(0, 4), 20));
      } else if (c == '^' || c == '$' || rest_.starts_with("}+")) {
        return fail(ErrorCode::kUnsupported, "\"{}\" is not read: it has two meanings",
                    c == '}' ? "}+" : std::string(1, c));
      } else {
        if (c == '[') KW_TRY_STATUS(begin_class());
        take(1);
      }
    }
    return std::move(out_);
  }

 private:
  void take(std::size_t count) {
    out_ += rest_.substr(0, count);
    rest_.remove_prefix(count);
  }

  bool known_group() const {
    for (std::string_view opening : {"(?:", "(?i:", "(?=", "(?!", "(?<=", "(?<!", "(?>"}) {
      if (rest_.starts_with(opening)) return true;
    }
    return false;
  }

  Status begin_class() {
    in_class_ = true;
    if (rest_.substr(1).starts_with("^")) take(1);
    if (rest_.substr(1).starts_with("]"))
      return fail(ErrorCode::kUnsupported, "a class that begins with \"]\" is not read");
    return {};
  }

  Status in_class(char c) {
    if (c == '[' || rest_.starts_with("&&"))
      return fail(ErrorCode::kUnsupported, "a class within a class is not read");
    if (c == ']') in_class_ = false;
    take(1);
    return {};
  }

  Status escape() {
    char c = rest_.size() > 1 ? rest_[1] : '\0';
    if (c == 's' || (c == 'S' && !in_class_)) {
      out_ += c == 'S' ? "[^" : in_class_ ? "" : "[";
      out_ += kSpaces;
      out_ += in_class_ ? "" : "]";
      rest_.remove_prefix(2);
      return {};
    }
    bool punctuation =
        c > ' ' && c < 0x7F && !is_digit(c) && (c < 'A' || (c > 'Z' && c < 'a') || c > 'z');
    if (!punctuation && std::string_view("rntfvpPdx").find(c) == std::string_view::npos)
      return fail(ErrorCode::kUnsupported, "escape \"{}\" is not read",
                  printable(rest_.substr(0, 2), 20));
    // As a whole: the "}" of \p{L} is no quantifier's.
    bool braces = std::string_view("pPx").find(c) != std::string_view::npos &&
                  rest_.substr(2).starts_with("{");
    take(braces ? std::min(rest_.find('}'), rest_.size() - 1) + 1 : 2);
    return {};
  }

  std::string_view rest_;
  std::string out_;
  bool in_class_ = false;
};

std::string message_of(int code) {
  std::string text(256, '\0');
  int length =
      pcre2_get_error_message(code, reinterpret_cast<PCRE2_UCHAR*>(text.data()), text.size());
  text.resize(length < 0 ? 0 : static_cast<std::size_t>(length));
  return text;
}

PCRE2_SPTR units(std::string_view text) {
  return reinterpret_cast<PCRE2_SPTR>(text.data());
}

}  // namespace

struct RegexSplitter::Compiled {
  Owned<pcre2_code> code;
  bool jit = false;
};

RegexSplitter::RegexSplitter(std::unique_ptr<Compiled> compiled) : compiled_(std::move(compiled)) {}
RegexSplitter::RegexSplitter(RegexSplitter&&) noexcept = default;
RegexSplitter& RegexSplitter::operator=(RegexSplitter&&) noexcept = default;
RegexSplitter::~RegexSplitter() = default;

Result<RegexSplitter> RegexSplitter::make(std::string_view regex) {
  if (regex.size() > kMaxRegex)
    return fail(ErrorCode::kInvalidArgument, "longer than {} bytes", kMaxRegex);
  KW_TRY(std::string translated, Translation(regex).run());
  int error = 0;
  PCRE2_SIZE offset = 0;
  auto compiled = std::make_unique<Compiled>();
  compiled->code.reset(pcre2_compile(units(translated), translated.size(), PCRE2_UTF | PCRE2_UCP,
                                     &error, &offset, nullptr));
  if (!compiled->code)
    return fail(ErrorCode::kInvalidArgument, "no regular expression: {}", message_of(error));
  std::uint32_t matches_empty = 0;
  pcre2_pattern_info(compiled->code.get(), PCRE2_INFO_MATCHEMPTY, &matches_empty);
  if (matches_empty != 0) return fail(ErrorCode::kInvalidArgument, "may match nothing");
  compiled->jit = pcre2_jit_compile(compiled->code.get(), PCRE2_JIT_COMPLETE) == 0;
  return RegexSplitter(std::move(compiled));
}

Status RegexSplitter::split(std::string_view text, const Piece& piece) const {
  Owned<pcre2_match_data> data(
      pcre2_match_data_create_from_pattern(compiled_->code.get(), nullptr));
  Owned<pcre2_match_context> context(pcre2_match_context_create(nullptr));
  Owned<pcre2_jit_stack> stack(
      compiled_->jit ? pcre2_jit_stack_create(32U << 10U, kStackBytes, nullptr) : nullptr);
  if (!data || !context) return fail(ErrorCode::kResourceExhausted, "no memory for PCRE2");
  pcre2_set_match_limit(context.get(), kMatchLimit);
  if (stack) pcre2_jit_stack_assign(context.get(), nullptr, stack.get());
  std::size_t done = 0;
  while (done < text.size()) {
    int found = pcre2_match(compiled_->code.get(), units(text), text.size(), done,
                            PCRE2_NO_UTF_CHECK, data.get(), context.get());
    if (found == PCRE2_ERROR_NOMATCH) break;
    if (found < 0)
      return fail(ErrorCode::kResourceExhausted,
                  "the pre-tokenizer's regular expression gives up at byte {}: {}", done,
                  message_of(found));
    const PCRE2_SIZE* ends = pcre2_get_ovector_pointer(data.get());
    // \K and lookbehinds can move a match to where the scan would not go on.
    if (ends[0] < done || ends[1] <= ends[0])
      return fail(ErrorCode::kInvalidArgument,
                  "the pre-tokenizer's regular expression matches nothing at byte {}", done);
    if (ends[0] > done) piece(text.substr(done, ends[0] - done), false);
    piece(text.substr(ends[0], ends[1] - ends[0]), true);
    done = ends[1];
  }
  if (done < text.size()) piece(text.substr(done), false);
  return {};
}

}  // namespace kw::lm
