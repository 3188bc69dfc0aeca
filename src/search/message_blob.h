// The form in which a run's blobs hold the messages of a prompt: [{"role", "content"}].
#pragma once
#include <string>
#include <vector>

#include "base/result.h"
#include "text/chat_message.h"

namespace kw::search {

std::string messages_text(const std::vector<text::ChatMessage>& messages);
Result<std::vector<text::ChatMessage>> messages_from_text(const std::string& text);

}  // namespace kw::search
