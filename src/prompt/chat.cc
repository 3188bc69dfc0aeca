// JSON and fences.
#include "prompt/chat.h"

#include <algorithm>
#include <utility>

#include "base/text.h"

namespace kw::prompt {

Json to_json(const std::vector<Message>& messages) {
  Json out = Json::array();
  for (const Message& message : messages)
    out.push_back({{"role", message.role}, {"content", message.content}});
  return out;
}

Result<std::vector<Message>> messages_from_json(const Json& value, OtherKeys others) {
  if (!value.is_array() || value.empty())
    return fail(ErrorCode::kInvalidArgument, "messages: expected a list with a message");
  std::vector<Message> out;
  for (std::size_t i = 0; i < value.size(); ++i) {
    KW_TRY(ObjectReader one, ObjectReader::make(value[i], fmt::format("messages[{}]", i)));
    Message message;
    KW_TRY(message.role, one.string("role"));
    KW_TRY(message.content, one.string("content"));
    if (others == OtherKeys::kRefused) KW_TRY_STATUS(one.no_other_keys());
    if (message.role != "system" && message.role != "user" && message.role != "assistant")
      return fail(ErrorCode::kInvalidArgument,
                  "{}.role: expected system, user or assistant, not \"{}\"", one.where(),
                  printable(message.role, 40));
    out.push_back(std::move(message));
  }
  return out;
}

Json to_json(const ChatPrompt& prompt) {
  return {{"template", prompt.template_id}, {"messages", to_json(prompt.messages)}};
}

std::string fenced(std::string_view text, std::string_view tag) {
  std::size_t marks = 2, run = 0;
  for (char c : text) {
    run = c == '`' ? run + 1 : 0;
    marks = std::max(marks, run);
  }
  std::string fence(marks + 1, '`');
  return fmt::format("{}{}\n{}\n{}\n", fence, tag, text, fence);
}

}  // namespace kw::prompt
