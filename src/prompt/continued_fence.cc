// Looks at what stands before the first fence.
#include "prompt/continued_fence.h"

#include <algorithm>
#include <optional>

#include <fmt/core.h>

#include "base/text.h"
#include "prompt/blocks.h"
#include "prompt/extract.h"

namespace kw::prompt {
namespace {

// Where the code ends when the first fence of the answer has no tag, so that it may be a closing
// one: "```", or "return x```".
std::optional<std::size_t> end_before_bare_fence(std::string_view answer) {
  std::size_t at = answer.find("```");
  if (at == std::string_view::npos || answer.find("~~~") < at) return std::nullopt;
  std::size_t behind = std::min(answer.find_first_not_of('`', at), answer.size());
  std::string_view rest = answer.substr(behind, answer.find('\n', behind) - behind);
  rest = trim(rest);
  const bool bare = rest.empty() || rest.starts_with("</") || rest.starts_with("<|");
  return bare ? std::optional(at) : std::nullopt;
}

// A line of prose has no sign that code has.
bool can_be_code(std::string_view line) {
  return line.find_first_of("#;{}()=@<>/\"") != std::string_view::npos ||
         line.starts_with("import ") || line.starts_with("from ") || line.starts_with("class ");
}

std::size_t begin_behind_prose(std::string_view text) {
  for (std::size_t at = 0; at < text.size();) {
    std::string_view line = text.substr(at, text.find('\n', at) - at);
    if (can_be_code(line)) return at;
    at += line.size() + 1;
  }
  return text.size();
}

}  // namespace

std::string with_opening_fence(std::string_view answer, std::string_view entry,
                               task::Language language) {
  auto end = end_before_bare_fence(answer);
  if (!end) return std::string(answer);
  std::string_view before = answer.substr(0, *end);
  const bool no_reasoning = trim(answer_parts(before).prose) == trim(before);
  std::size_t begin = begin_behind_prose(before);
  if (!no_reasoning || !defines_entry(before.substr(begin), entry, language))
    return std::string(answer);
  return fmt::format("```{}\n{}", fence_tag(language), answer.substr(begin));
}

}  // namespace kw::prompt
