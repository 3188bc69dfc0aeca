// Whether a choice's text looks like the work of a wrong chat template rather than of a model.
#pragma once
#include <string>
#include <vector>

#include "openai/chat.h"

namespace kw::openai {

// kPromptEcho: a message's beginning (kEchoBytes of it, or all of one that has at least
// kMinEchoBytes) stands within the first kEchoWithin bytes of the text: a base model, or a server
// that returns the prompt with the answer. kTemplateTokens: a special token of a known template is
// in the text and in no message. The text itself is left as it is: the caller judges it.
Suspicion suspect(const std::string& text, const std::vector<text::ChatMessage>& messages);
inline constexpr std::size_t kEchoBytes = 200, kMinEchoBytes = 40, kEchoWithin = 64;

}  // namespace kw::openai
