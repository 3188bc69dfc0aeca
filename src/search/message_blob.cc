#include "search/message_blob.h"

#include "base/json.h"

namespace kw::search {

std::string messages_text(const std::vector<text::ChatMessage>& messages) {
  return to_json(messages).dump(-1, ' ', false, Json::error_handler_t::replace);
}

Result<std::vector<text::ChatMessage>> messages_from_text(const std::string& text) {
  KW_TRY(Json value, parse_json(text));
  return text::chat_messages_from_json(value, "messages", text::OtherKeys::kIgnored);
}

}  // namespace kw::search
