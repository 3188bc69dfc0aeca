// ChatMessage: a turn of a conversation with a language model, and its JSON.
#pragma once
#include <string>
#include <vector>

#include "base/json.h"
#include "base/result.h"

namespace kw::text {

struct ChatMessage {
  std::string role;     // "system", "user" or "assistant"
  std::string content;  // UTF-8
  bool operator==(const ChatMessage&) const = default;
};

// [{"role": ..., "content": ...}, ...]
Json to_json(const std::vector<ChatMessage>& messages);

enum class OtherKeys { kRefused, kIgnored };  // other people's messages have names and more
// Roles are not checked, and the list may be empty. kInvalidArgument begins with `where`.
Result<std::vector<ChatMessage>> chat_messages_from_json(const Json& value,
                                                         const std::string& where,
                                                         OtherKeys others);

}  // namespace kw::text
