// Chat messages: what goes to a model's chat endpoint, and into whatever records a prompt.
#pragma once
#include <string>
#include <vector>

#include "base/json.h"
#include "base/result.h"

namespace kw::prompt {

struct Message {
  std::string role;  // system, user or assistant
  std::string content;
};

struct ChatPrompt {
  std::string template_id;  // "one_shot-1", "one_shot-1+refine-1": names with their versions
  std::vector<Message> messages;
};

// [{"role", "content"}, ...]
Json to_json(const std::vector<Message>& messages);
enum class OtherKeys { kRefused, kIgnored };  // of a message: other people's have names, ...
// kInvalidArgument names the place: no list, an empty one, an unknown role.
Result<std::vector<Message>> messages_from_json(const Json& value, OtherKeys others);

// {"template": ..., "messages": [{"role", "content"}, ...]}
Json to_json(const ChatPrompt& prompt);

// A Markdown block around any text: with as many backticks as it takes. Ends in a newline.
std::string fenced(std::string_view text, std::string_view tag);

}  // namespace kw::prompt
