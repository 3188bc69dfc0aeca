// JSON and fences.
#include "prompt/chat.h"

#include <algorithm>
#include <utility>

#include "base/text.h"

namespace kw::prompt {

Result<std::vector<text::ChatMessage>> messages_from_json(const Json& value,
                                                          text::OtherKeys others) {
  if (!value.is_array() || value.empty())
    return fail(ErrorCode::kInvalidArgument, "messages: expected a list with a message");
  KW_TRY(auto out, text::chat_messages_from_json(value, "messages", others));
  for (std::size_t i = 0; i < out.size(); ++i) {
    const std::string& role = out[i].role;
    if (role != "system" && role != "user" && role != "assistant")
      return fail(ErrorCode::kInvalidArgument,
                  "messages[{}].role: expected system, user or assistant, not \"{}\"", i,
                  printable(role, 40));
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
