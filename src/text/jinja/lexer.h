// A Jinja template as tokens, with the white space that its tags take.
#pragma once
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"

namespace kw::text::jinja {

enum class TokenKind {
  kText,         // between tags
  kBeginOutput,  // {{
  kEndOutput,    // }}
  kBeginBlock,   // {%
  kEndBlock,     // %}
  kName,
  kString,  // with its escapes undone
  kInteger,
  kFloat,
  kOperator,
  kEnd
};

struct Token {
  TokenKind kind = TokenKind::kEnd;
  std::string text;
  std::size_t line = 1;
};

// With the settings of transformers: trim_blocks and lstrip_blocks, one line end at the very end
// left out. The last token is kEnd. source is UTF-8; kInvalidArgument names the line, kUnsupported
// what is not read ("raw").
Result<std::vector<Token>> tokenize(std::string_view source);

}  // namespace kw::text::jinja
