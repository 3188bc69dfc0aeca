#include "text/chat_message.h"

#include <utility>

namespace kw::text {

Json to_json(const std::vector<ChatMessage>& messages) {
  Json out = Json::array();
  for (const ChatMessage& message : messages)
    out.push_back({{"role", message.role}, {"content", message.content}});
  return out;
}

Result<std::vector<ChatMessage>> chat_messages_from_json(const Json& value,
                                                         const std::string& where,
                                                         OtherKeys others) {
  if (!value.is_array())
    return fail(ErrorCode::kInvalidArgument, "{}: expected a list of messages", where);
  std::vector<ChatMessage> out;
  for (const Json& item : value) {
    KW_TRY(ObjectReader reader, ObjectReader::make(item, fmt::format("{}[{}]", where, out.size())));
    ChatMessage message;
    KW_TRY(message.role, reader.string("role"));
    KW_TRY(message.content, reader.string("content"));
    if (others == OtherKeys::kRefused) KW_TRY_STATUS(reader.no_other_keys());
    out.push_back(std::move(message));
  }
  return out;
}

}  // namespace kw::text
