// JSON and fences.
#include "prompt/chat.h"

#include <algorithm>

#include "base/text.h"

namespace kw::prompt {

Json to_json(const ChatPrompt& prompt) {
  Json messages = Json::array();
  for (const Message& message : prompt.messages)
    messages.push_back({{"role", message.role}, {"content", message.content}});
  return {{"template", prompt.template_id}, {"messages", messages}};
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
