#include "service/tokens.h"

#include <gtest/gtest.h>

#include "base/hash.h"

namespace kw::service {
namespace {

using std::chrono::sys_days;

net::Request bearing(const std::string& token) {
  net::Request out;
  if (!token.empty()) out.headers.add("Authorization", "Bearer " + token);
  return out;
}

const Tokens::Time kNoon = sys_days(std::chrono::year(2027) / 6 / 15) + std::chrono::hours(12);

TEST(Tokens, SayWhoCallsAndWhatFor) {
  const std::string secret = "a-secret-of-twenty-chars";
  const auto tokens =
      Tokens::parse("# workers\nsha256:" + sha256_hex(secret) +
                    "  scopes=work expires=2027-06-15\n\n"
                    "another-secret-0001 tenant=t scopes=submit,read most_open=5 weight=3 "
                    "most_bytes=4096 most_seconds=3600\n"
                    "plain-secret-000001\n");
  ASSERT_TRUE(tokens.has_value()) << tokens.error().message();
  const auto worker = tokens->identity(bearing(secret), kNoon);
  ASSERT_TRUE(worker.has_value());
  EXPECT_TRUE(worker->may(Scope::kWork) && !worker->may(Scope::kRead));
  EXPECT_EQ(worker->token, sha256_hex(secret).substr(0, 8));
  const auto of_t = tokens->identity(bearing("another-secret-0001"), kNoon);
  ASSERT_TRUE(of_t.has_value());
  EXPECT_EQ(std::tuple(of_t->tenant, of_t->most_open, of_t->weight), std::tuple("t", 5U, 3));
  EXPECT_EQ(std::tuple(of_t->most_bytes, of_t->most_seconds), std::tuple(4096U, 3600));
  EXPECT_TRUE(of_t->may(Scope::kSubmit) && of_t->may(Scope::kRead) && !of_t->may(Scope::kWork));
  EXPECT_TRUE(tokens->identity(bearing("plain-secret-000001"), kNoon)->may(Scope::kWork));
}

TEST(Tokens, EndWithTheirDayAndAreRefusedWhenUnknown) {
  const auto tokens = Tokens::parse("plain-secret-000001 expires=2027-06-15").value();
  const auto says = [&](const std::string& token, Tokens::Time now) {
    const auto out = tokens.identity(bearing(token), now);
    return out ? "fine" : out.error().message();
  };
  const Tokens::Time end = sys_days(std::chrono::year(2027) / 6 / 16);
  EXPECT_EQ(says("plain-secret-000001", end - std::chrono::seconds(1)), "fine");
  EXPECT_EQ(says("plain-secret-000001", end), "the token has expired");
  EXPECT_EQ(says("plain-secret-000002", kNoon), "the token is not known here");
  EXPECT_EQ(says("", kNoon), "this server wants Authorization: Bearer TOKEN");
}

TEST(Tokens, MistakesNameTheLine) {
  const auto says = [](const std::string& text) {
    const auto out = Tokens::parse(text);
    return out ? "fine" : out.error().message();
  };
  EXPECT_EQ(says(""), "no token in it");
  EXPECT_NE(says("short").find("line 1: expected sha256:"), std::string::npos);
  EXPECT_NE(says("#\nsha256:00 scopes=read").find("line 2: expected sha256:"), std::string::npos);
  const std::string good = "plain-secret-000001 ";
  EXPECT_EQ(says(good + "scopes=read,all"),
            "line 1: unknown scope \"all\"; there are submit, read and work");
  EXPECT_EQ(says(good + "expires=2027-02-30"), "line 1: \"2027-02-30\" is no day like 2027-12-31");
  EXPECT_EQ(says(good + "weight=0"), "line 1: \"0\" is no whole number from 1 to 1000");
  EXPECT_NE(says(good + "tenant=a/b").find("line 1: \"tenant\""), std::string::npos);
  EXPECT_EQ(says(good + "\n" + good), "line 2: the same token again");
}

}  // namespace
}  // namespace kw::service
