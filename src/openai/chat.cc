#include "openai/chat.h"

namespace kw::openai {
namespace {

constexpr std::int64_t kTemplateTokensAMessage = 8;

}  // namespace

std::string_view to_string(Suspicion suspicion) {
  switch (suspicion) {
    case Suspicion::kNone:
      return "none";
    case Suspicion::kEmpty:
      return "empty";
    case Suspicion::kPromptEcho:
      return "prompt_echo";
    case Suspicion::kTemplateTokens:
      return "template_tokens";
  }
  return "none";
}

std::int64_t estimate_tokens(std::size_t bytes) {
  return static_cast<std::int64_t>((bytes + 2) / 3);
}

std::int64_t estimate_prompt_tokens(const std::vector<text::ChatMessage>& messages) {
  std::int64_t out = kTemplateTokensAMessage;  // the answer's own beginning
  for (const text::ChatMessage& message : messages)
    out += kTemplateTokensAMessage + estimate_tokens(message.content.size());
  return out;
}

}  // namespace kw::openai
