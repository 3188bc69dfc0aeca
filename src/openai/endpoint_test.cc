// What people write as a base URL.
#include "openai/endpoint.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace kw::openai {
namespace {

using ::testing::HasSubstr;

std::string chat_of(const std::string& base) {
  auto endpoint = read_endpoint(base);
  return endpoint ? endpoint->chat_url : endpoint.error().message();
}

TEST(Endpoint, WithAndWithoutV1) {
  const std::string local = "http://127.0.0.1:8000/v1/chat/completions";
  for (const char* base :
       {"", "/", "/v1", "/v1/", "/v1//", "/v1/chat/completions", "/v1/chat/completions/"})
    EXPECT_EQ(chat_of("http://127.0.0.1:8000" + std::string(base)), local) << base;
  EXPECT_EQ(chat_of("https://openrouter.ai/api/v1"),
            "https://openrouter.ai:443/api/v1/chat/completions");
  EXPECT_EQ(chat_of("https://host/v1beta/openai/"),
            "https://host:443/v1beta/openai/chat/completions");
  EXPECT_EQ(chat_of("https://host/proxy"), "https://host:443/proxy/v1/chat/completions");
  EXPECT_EQ(chat_of("https://host/vllm"), "https://host:443/vllm/v1/chat/completions");
  EXPECT_EQ(read_endpoint("http://h/v1/chat/completions")->models_url, "http://h:80/v1/models");
}

TEST(Endpoint, WhereAKeyMayGo) {
  for (const char* base : {"https://example.com", "http://127.0.0.1:1", "http://127.8.9.1",
                           "http://localhost:8000", "http://[::1]:8000"})
    EXPECT_TRUE(read_endpoint(base)->private_path) << base;
  for (const char* base : {"http://example.com", "http://127.example.com", "http://10.0.0.1:8000",
                           "http://localhost.example.com"})
    EXPECT_FALSE(read_endpoint(base)->private_path) << base;
}

TEST(Endpoint, WhatIsNone) {
  for (const char* base : {"", "127.0.0.1:8000", "ftp://host", "http://", "http://host:99999",
                           "http://user:secret@host"}) {
    auto endpoint = read_endpoint(base);
    ASSERT_FALSE(endpoint) << base;
    EXPECT_EQ(endpoint.error().code(), ErrorCode::kInvalidArgument);
    EXPECT_THAT(endpoint.error().message(), Not(HasSubstr("secret")));
  }
  EXPECT_EQ(chat_of("https://host/v1?api-key=secret"), "the base URL of host:443 has a query");
}

}  // namespace
}  // namespace kw::openai
