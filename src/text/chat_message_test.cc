#include "text/chat_message.h"

#include <gtest/gtest.h>

#include "base/testing/values.h"

namespace kw::text {
namespace {

TEST(ChatMessage, IsReadAsItWasWritten) {
  const std::vector<ChatMessage> messages = {{"system", "be \"kind\""}, {"user", "caf\xc3\xa9\n"}};
  EXPECT_EQ(chat_messages_from_json(to_json(messages), "m", OtherKeys::kRefused).value(), messages);
  EXPECT_EQ(chat_messages_from_json(Json::array(), "m", OtherKeys::kRefused)->size(), 0U);
}

TEST(ChatMessage, ErrorsNameThePlace) {
  const auto error = [](const char* text, OtherKeys others) {
    return message_of(chat_messages_from_json(json_of(text), "m", others));
  };
  EXPECT_EQ(error("{}", OtherKeys::kIgnored), "m: expected a list of messages");
  EXPECT_NE(error(R"([{"role": "user", "content": "a"}, {"role": "user"}])", OtherKeys::kIgnored)
                .find("m[1]"),
            std::string::npos);
  const char* named = R"([{"role": "user", "content": "a", "name": "b"}])";
  EXPECT_EQ(error(named, OtherKeys::kIgnored), "no error");
  EXPECT_NE(error(named, OtherKeys::kRefused).find("name"), std::string::npos);
}

}  // namespace
}  // namespace kw::text
