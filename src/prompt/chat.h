// Chat messages: what goes to a model's chat endpoint, and into whatever records a prompt.
#pragma once
#include <string>
#include <vector>

#include "base/json.h"
#include "base/result.h"
#include "text/chat_message.h"

namespace kw::prompt {

struct ChatPrompt {
  std::string template_id;  // "one_shot-2", "one_shot-2+refine-1": names with their versions
  std::vector<text::ChatMessage> messages;
};

// kInvalidArgument names the place: no list, an empty one, an unknown role.
Result<std::vector<text::ChatMessage>> messages_from_json(const Json& value,
                                                          text::OtherKeys others);

// {"template": ..., "messages": [{"role", "content"}, ...]}
Json to_json(const ChatPrompt& prompt);

// A Markdown block around any text: with as many backticks as it takes. Ends in a newline.
std::string fenced(std::string_view text, std::string_view tag);

}  // namespace kw::prompt
