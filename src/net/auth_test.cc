// API keys and ready-made answers.
#include "net/auth.h"

#include <filesystem>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "net/replies.h"
#include "os/file.h"

namespace kw::net {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;

const std::string kKey = "sk-0123456789abcdef";

Request with(std::string_view name, std::string_view value) {
  Request request;
  request.headers.add(name, value);
  return request;
}

TEST(ApiKeys, AcceptsOnlyItsKeys) {
  auto keys = ApiKeys::make({"another-key-of-ours", kKey});
  ASSERT_TRUE(keys);
  EXPECT_EQ(keys->refuse(with("Authorization", "Bearer " + kKey)), std::nullopt);
  EXPECT_EQ(keys->refuse(with("authorization", "bearer  " + kKey)), std::nullopt);
  EXPECT_EQ(keys->refuse(with("X-Api-Key", kKey)), std::nullopt);
  for (const Request& bad :
       {Request(), with("Authorization", kKey), with("Authorization", "Basic " + kKey),
        with("Authorization", "Bearer"), with("Authorization", "Bearer "),
        with("Authorization", "Bearer " + kKey + "x"),
        with("Authorization", "Bearer " + kKey.substr(1)), with("X-Api-Key", "")}) {
    auto refused = keys->refuse(bad);
    ASSERT_TRUE(refused);
    EXPECT_EQ(refused->status, 401);
    EXPECT_TRUE(refused->headers.has("WWW-Authenticate"));
    EXPECT_THAT(refused->body, Not(HasSubstr(kKey.substr(1))));
  }
}

TEST(ApiKeys, WeakKeysAreRefusedWithoutRepeatingThem) {
  EXPECT_FALSE(ApiKeys::make({}));
  auto weak = ApiKeys::make({kKey, "hunter2"});
  ASSERT_FALSE(weak);
  EXPECT_THAT(weak.error().message(), HasSubstr("API key 2 of 2"));
  EXPECT_THAT(weak.error().message(), Not(HasSubstr("hunter2")));
}

TEST(ApiKeys, File) {
  auto folder = os::TempDir::make("kw-keys");
  ASSERT_TRUE(folder);
  auto path = folder->path() / "keys";
  ASSERT_TRUE(os::write_file_atomic(path, "# ours\n\n" + kKey + "\n"));
  std::filesystem::permissions(path, std::filesystem::perms(0600));
  auto keys = ApiKeys::from_file(path);
  ASSERT_TRUE(keys) << keys.error().message();
  EXPECT_TRUE(keys->accepts(kKey));
  std::filesystem::permissions(path, std::filesystem::perms(0644));
  keys = ApiKeys::from_file(path);
  ASSERT_FALSE(keys);
  EXPECT_EQ(keys.error().code(), ErrorCode::kPermissionDenied);
}

TEST(ConstantTimeEqual, Compares) {
  EXPECT_TRUE(constant_time_equal("", ""));
  EXPECT_TRUE(constant_time_equal("abc", "abc"));
  EXPECT_FALSE(constant_time_equal("abc", "abd"));
  EXPECT_FALSE(constant_time_equal("bbc", "abc"));
  EXPECT_FALSE(constant_time_equal("abc", "ab"));
}

TEST(JsonBody, TypeAndPosition) {
  Request request = with("Content-Type", "Application/JSON; charset=utf-8");
  request.body = R"({"a": 1})";
  auto body = json_body(request);
  ASSERT_TRUE(body);
  EXPECT_EQ((*body)["a"], 1);
  request.body = "{\n  \"a\": ]}";
  body = json_body(request);
  ASSERT_FALSE(body);
  EXPECT_EQ(body.error().status, 400);
  EXPECT_THAT(body.error().body,
              HasSubstr("request body: not valid JSON: parse error at line 2, column 8"));
  body = json_body(with("Content-Type", "text/plain"));
  ASSERT_FALSE(body);
  EXPECT_EQ(body.error().status, 415);
}

TEST(Replies, Errors) {
  EXPECT_EQ(error_response(404, "no\xff").body,
            R"({"error":{"message":"no)"
            "\xef\xbf\xbd"
            R"(","type":"not_found_error","param":null,"code":null}})");
  Response internal = error_response(Error(ErrorCode::kInternal, "secret detail"));
  EXPECT_EQ(internal.status, 500);
  EXPECT_THAT(internal.body, Not(HasSubstr("secret")));
  EXPECT_THAT(error_response(Error(ErrorCode::kNotFound, "model x")).body, HasSubstr("model x"));
  Response later = retry_later(std::chrono::milliseconds(1200), "slow down");
  EXPECT_EQ(later.status, 429);
  EXPECT_EQ(*later.headers.find("Retry-After"), "2");
}

}  // namespace
}  // namespace kw::net
