#include "task/axis_expression.h"

#include <algorithm>
#include <array>
#include <string_view>

#include "base/text.h"

namespace kw::task {
namespace {

constexpr std::array<std::string_view, 7> kOtherSymbols = {"<<", ">>", "&", "|", "^", "~", "@"};
constexpr std::array<std::string_view, 5> kOtherWords = {"if", "else", "and", "or", "not"};

bool is_of_word(char c) {
  return is_digit(c) || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_' || c == '.';
}

// Python's operators and numbers that no size is computed with here, by their names.
Status refuse_other_operators(std::string_view text, const std::string& where) {
  constexpr std::string_view kThereAre =
      "there are + - * / // % **, comparisons, min, max and ceil_div";
  for (std::size_t i = 0; i < text.size(); ++i) {
    for (std::string_view symbol : kOtherSymbols) {
      if (text.substr(i).starts_with(symbol))
        return fail(ErrorCode::kUnsupported, "{}: the operator {} is not read; {}", where, symbol,
                    kThereAre);
    }
    const std::size_t begin = i;
    while (i < text.size() && is_of_word(text[i])) ++i;
    const std::string_view word = text.substr(begin, i - begin);
    if (std::ranges::find(kOtherWords, word) != kOtherWords.end())
      return fail(ErrorCode::kUnsupported, "{}: the operator {} is not read; {}", where, word,
                  kThereAre);
    if (word.find('.') != std::string_view::npos)
      return fail(ErrorCode::kUnsupported, "{}: \"{}\" is not read: {}", where, printable(word, 80),
                  is_digit(word.front()) ? "a size is a whole number" : kThereAre);
    if (!word.empty()) --i;
  }
  return {};
}

}  // namespace

Result<LaunchExpression> axis_expression(const std::string& text, const std::string& where) {
  KW_TRY_STATUS(refuse_other_operators(text, where));
  std::string ours;
  for (std::size_t i = 0; i < text.size(); ++i) {
    if (text[i] == '/' && i + 1 < text.size() && text[i + 1] == '/') ++i;
    ours += text[i];
  }
  auto parsed = LaunchExpression::parse(ours);
  if (!parsed) return tl::unexpected(std::move(parsed).error().with_context(where));
  return parsed;
}

Result<std::int64_t> axis_size(const LaunchExpression& expression, const AxisValues& values,
                               const std::string& where) {
  auto size = expression.evaluate(values);
  if (!size) return tl::unexpected(std::move(size).error().with_context(where));
  if (*size < 0)
    return fail(ErrorCode::kInvalidArgument, "{}: {} is {}, less than 0", where, expression.print(),
                *size);
  return size;
}

}  // namespace kw::task
