// For tests: settings that wait for nothing, and a request.
#pragma once
#include <string>

#include "openai/chat_client.h"
#include "openai/testing/fake_clock.h"

namespace kw::openai::testing {

inline ChatSettings settings_for(const std::string& url, Clock* clock) {
  ChatSettings out;
  out.base_url = url;
  out.clock = clock;
  out.timeouts.deadline = std::chrono::hours(1000);
  return out;
}

inline ChatRequest request_of(const std::string& text, bool stream = false) {
  ChatRequest out;
  out.tag = text;
  out.model = "fake";
  out.messages = {{"user", text}};
  out.max_tokens = 100;
  out.stream = stream;
  return out;
}

inline ChatClient client_of(ChatSettings settings) {
  return std::move(ChatClient::make(std::move(settings)).value());
}

}  // namespace kw::openai::testing
