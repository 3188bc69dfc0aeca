// The client's policy: what is sent, retried when, refused. Waits are the fake clock's.
#include "openai/chat_client.h"

#include <cstdlib>
#include <ctime>
#include <thread>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "openai/testing/client_setup.h"
#include "openai/testing/scripted_server.h"

namespace kw::openai {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;
using namespace testing;  // NOLINT(google-build-using-namespace): of these tests' own helpers
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::Not;

std::string error_json(const std::string& message) {
  return Json{{"error", {{"message", message}, {"type", "t"}, {"code", nullptr}}}}.dump();
}

TEST(ChatClient, WholeAndStreamed) {
  FakeClock clock;
  ScriptedServer server(
      {says(http(200, chat_json("whole"), "application/json", "x-request-id: r1\r\n")),
       says(streamed({"str", "eam", "ed"}))});
  ChatClient client = client_of(settings_for(server.url(), &clock));
  auto whole = client.complete(request_of("a"));
  ASSERT_TRUE(whole) << whole.error().message();
  EXPECT_EQ(whole->choices.at(0).text, "whole");
  EXPECT_EQ(whole->request_id, "r1");
  EXPECT_EQ(whole->model, "fake");
  EXPECT_EQ(whole->tries, 1);
  auto pieces = client.complete(request_of("b", true));
  ASSERT_TRUE(pieces) << pieces.error().message();
  EXPECT_EQ(pieces->choices.at(0).text, "streamed");
  EXPECT_EQ(pieces->choices.at(0).finish_reason, "stop");
  EXPECT_EQ(pieces->id, "chatcmpl-2");
  const auto received = server.received();
  ASSERT_EQ(received.size(), 2U);
  EXPECT_THAT(received[0].head, HasSubstr("POST /v1/chat/completions HTTP/1.1\r\n"));
  EXPECT_THAT(received[0].head, HasSubstr("Content-Type: application/json\r\n"));
  EXPECT_THAT(received[0].head, Not(HasSubstr("Authorization")));
  EXPECT_EQ(received[0].json()["messages"][0]["content"], "a");
  EXPECT_EQ(received[1].json()["stream"], true);
  EXPECT_TRUE(clock.waits().empty());
  const Counts counts = client.counts();
  EXPECT_EQ(counts.requests, 2);
  EXPECT_EQ(counts.answered, 2);
  EXPECT_EQ(counts.prompt_tokens, 20);
  EXPECT_EQ(counts.completion_tokens, 10);
  EXPECT_EQ(counts.estimated_prompt_tokens, 0);
  EXPECT_EQ(counts.all_attempts(), 2);
}

TEST(ChatClient, RetryAfterInSeconds) {
  FakeClock clock;
  ScriptedServer server(
      {says(http(429, error_json("slow"), "application/json", "Retry-After: 17\r\n")),
       says(answer("now"))});
  ChatClient client = client_of(settings_for(server.url(), &clock));
  const auto begin = clock.now();
  auto got = client.complete(request_of("a"));
  ASSERT_TRUE(got) << got.error().message();
  EXPECT_EQ(got->tries, 2);
  EXPECT_GE(clock.now() - begin, seconds(17));
  EXPECT_LE(clock.now() - begin, seconds(17) + milliseconds(500));
  EXPECT_GE(got->waited, seconds(17));
}

TEST(ChatClient, RetryAfterAsADate) {
  FakeClock clock;
  ScriptedServer server([](const Received& request) {
    if (request.number > 0) return says(answer("now"));
    const std::time_t then = std::time(nullptr) + 4000;
    std::tm parts{};
    ::gmtime_r(&then, &parts);
    std::string date(64, '\0');
    date.resize(std::strftime(date.data(), date.size(), "%a, %d %b %Y %H:%M:%S GMT", &parts));
    return says(http(503, "busy", "text/plain", "Retry-After: " + date + "\r\n"));
  });
  ChatClient client = client_of(settings_for(server.url(), &clock));
  const auto begin = clock.now();
  ASSERT_TRUE(client.complete(request_of("a")));
  // A date is read in real time, some of which has passed by then.
  EXPECT_GE(seconds_of(clock.now() - begin), 3600);
  EXPECT_LE(seconds_of(clock.now() - begin), 4000.6);
}

TEST(ChatClient, WithoutRetryAfterDelaysGrow) {
  FakeClock clock;
  ScriptedServer server({says(http(429, error_json("slow")))});
  ChatSettings settings = settings_for(server.url(), &clock);
  settings.retries.tries = 12;
  settings.retries.first_delay = seconds(1);
  settings.retries.max_delay = seconds(16);
  ChatClient client = client_of(settings);
  auto got = client.complete(request_of("a"));
  ASSERT_FALSE(got);
  EXPECT_EQ(got.error().code(), ErrorCode::kUnavailable);
  EXPECT_THAT(got.error().message(), HasSubstr("127.0.0.1:"));
  EXPECT_THAT(got.error().message(), HasSubstr("rate limited (HTTP 429), 12 tries: slow"));
  EXPECT_EQ(server.requests(), 12);
  const auto waits = clock.waits();
  ASSERT_LE(waits.size(), 11U);
  for (std::size_t i = 0; i < waits.size(); ++i) EXPECT_LE(waits[i], seconds(16));
  EXPECT_GT(seconds_of(clock.now() - FakeClock().now()), 16);
  EXPECT_EQ(client.counts().of(Outcome::kRateLimited), 12);
  EXPECT_EQ(client.counts().retries, 11);
  EXPECT_EQ(client.counts().failed, 1);
}

TEST(ChatClient, RetryAfterBeyondTheDeadlineIsNotWaitedFor) {
  FakeClock clock;
  ScriptedServer server(
      {says(http(429, error_json("come tomorrow"), "application/json", "Retry-After: 86400\r\n")),
       says(answer("back"))});
  ChatSettings settings = settings_for(server.url(), &clock);
  settings.timeouts.deadline = seconds(600);
  ChatClient client = client_of(settings);
  const auto begin = clock.now();
  auto got = client.complete(request_of("a"));
  ASSERT_FALSE(got);
  EXPECT_EQ(got.error().code(), ErrorCode::kDeadlineExceeded);
  EXPECT_THAT(got.error().message(), HasSubstr("come tomorrow"));
  EXPECT_THAT(got.error().message(), HasSubstr("after the deadline"));
  // Other requests know it too, and do not ask.
  ChatRequest hasty = request_of("b");
  hasty.deadline = seconds(60);
  auto other = client.complete(hasty);
  ASSERT_FALSE(other);
  EXPECT_THAT(other.error().message(), HasSubstr("Retry-After"));
  EXPECT_EQ(server.requests(), 1);
  EXPECT_EQ(clock.now(), begin);
  // After as long as a deadline the server is asked whether it meant it.
  clock.advance(seconds(601));
  EXPECT_TRUE(client.complete(request_of("c")));
}

TEST(ChatClient, ARetryAfterHoldsAllThreads) {
  FakeClock clock;
  ScriptedServer server(
      {says(http(429, "", "text/plain", "Retry-After: 100\r\n")), says(answer("x"))});
  ChatSettings settings = settings_for(server.url(), &clock);
  settings.retries.tries = 1;
  ChatClient client = client_of(settings);
  const auto begin = clock.now();
  EXPECT_FALSE(client.complete(request_of("a")));
  EXPECT_EQ(clock.now(), begin);
  ASSERT_TRUE(client.complete(request_of("b")));
  EXPECT_GE(clock.now() - begin, seconds(100));
}

TEST(ChatClient, WhatIsWrongStaysWrong) {
  struct Case {
    int status;
    ErrorCode code;
  };
  for (const Case& one : std::vector<Case>{{400, ErrorCode::kInvalidArgument},
                                           {401, ErrorCode::kPermissionDenied},
                                           {403, ErrorCode::kPermissionDenied},
                                           {404, ErrorCode::kNotFound},
                                           {408, ErrorCode::kInvalidArgument},
                                           {413, ErrorCode::kInvalidArgument},
                                           {422, ErrorCode::kInvalidArgument},
                                           {501, ErrorCode::kUnsupported}}) {
    FakeClock clock;
    ScriptedServer server(
        {says(http(one.status, error_json("because"), "application/json", "Retry-After: 3\r\n")),
         says(answer("x"))});
    ChatClient client = client_of(settings_for(server.url(), &clock));
    auto got = client.complete(request_of("a"));
    ASSERT_FALSE(got) << one.status;
    EXPECT_EQ(got.error().code(), one.code) << one.status;
    EXPECT_THAT(got.error().message(),
                HasSubstr("refused (HTTP " + std::to_string(one.status) + "): because"));
    EXPECT_EQ(server.requests(), 1) << one.status;
    EXPECT_TRUE(clock.waits().empty());
    EXPECT_EQ(client.counts().of(Outcome::kRefused), 1);
    EXPECT_EQ(client.counts().cost, 0);
    EXPECT_TRUE(client.complete(request_of("b"))) << "nobody else is held up";
  }
}

TEST(ChatClient, AQuotaThatIsUsedUpIsNotRetried) {
  FakeClock clock;
  ScriptedServer server({says(http(
      429, R"({"error": {"message": "You exceeded your quota", "code": "insufficient_quota"}})"))});
  ChatClient client = client_of(settings_for(server.url(), &clock));
  auto got = client.complete(request_of("a"));
  ASSERT_FALSE(got);
  EXPECT_EQ(got.error().code(), ErrorCode::kResourceExhausted);
  EXPECT_EQ(server.requests(), 1);
}

TEST(ChatClient, RedirectsAreNotFollowed) {
  FakeClock clock;
  ::setenv("KW_TEST_KEY", "sk-secret-0123456789", 1);
  ScriptedServer elsewhere({says(answer("stolen"))});
  ScriptedServer server(
      {says(http(307, "", "text/plain", "Location: " + elsewhere.url() + "/v1/chat?token=t\r\n"))});
  ChatSettings settings = settings_for(server.url(), &clock);
  settings.key_env = "KW_TEST_KEY";
  ChatClient client = client_of(settings);
  auto got = client.complete(request_of("a"));
  ASSERT_FALSE(got);
  EXPECT_EQ(got.error().code(), ErrorCode::kInvalidArgument);
  EXPECT_THAT(got.error().message(), HasSubstr("redirects to " + elsewhere.url() + "/v1/chat:"));
  EXPECT_EQ(elsewhere.requests(), 0);
  EXPECT_EQ(client.counts().of(Outcome::kRedirected), 1);
}

TEST(ChatClient, MalformedAnswersHaveABoundOfTheirOwn) {
  FakeClock clock;
  ScriptedServer server({says(http(200, "<html>Sign in</html>", "text/html"))});
  ChatSettings settings = settings_for(server.url(), &clock);
  settings.retries.tries = 10;
  settings.malformed_tries = 2;
  ChatClient client = client_of(settings);
  auto got = client.complete(request_of("a"));
  ASSERT_FALSE(got);
  EXPECT_EQ(got.error().code(), ErrorCode::kUnavailable);
  EXPECT_THAT(got.error().message(), HasSubstr("text/html"));
  EXPECT_THAT(got.error().message(), HasSubstr("Sign in"));
  EXPECT_EQ(server.requests(), 2);
}

TEST(ChatClient, ACutStreamsTextIsInTheError) {
  FakeClock clock;
  ScriptedServer server({says(stream_head() + chunk("int main() {") + chunk(" return 0"))});
  ChatSettings settings = settings_for(server.url(), &clock);
  settings.retries.tries = 2;
  std::vector<Attempt> attempts;
  settings.on_attempt = [&](const Attempt& attempt) { attempts.push_back(attempt); };
  ChatClient client = client_of(settings);
  auto got = client.complete(request_of("a", true));
  ASSERT_FALSE(got);
  EXPECT_EQ(got.error().code(), ErrorCode::kUnavailable);
  EXPECT_THAT(got.error().message(), HasSubstr("the answer was cut, 2 tries"));
  EXPECT_THAT(got.error().message(), HasSubstr("21 bytes of text had come"));
  EXPECT_THAT(got.error().message(), HasSubstr("int main() { return 0"));
  ASSERT_EQ(attempts.size(), 2U);
  EXPECT_EQ(attempts[1].partial, "int main() { return 0");
  EXPECT_EQ(attempts[1].number, 2);
  EXPECT_EQ(attempts[1].tag, "a");
  EXPECT_EQ(attempts[1].outcome, Outcome::kCut);
  EXPECT_TRUE(attempts[1].usage.estimated);
  EXPECT_EQ(attempts[1].usage.completion_tokens, 7);
}

TEST(ChatClient, NoServer) {
  FakeClock clock;
  std::uint16_t port = 0;
  {
    port = ScriptedServer({says("")}).port();
  }
  ChatSettings settings = settings_for("http://127.0.0.1:" + std::to_string(port), &clock);
  settings.retries.tries = 3;
  ChatClient client = client_of(settings);
  auto got = client.complete(request_of("a"));
  ASSERT_FALSE(got);
  EXPECT_EQ(got.error().code(), ErrorCode::kUnavailable);
  EXPECT_THAT(got.error().message(), HasSubstr("no connection, 3 tries: cannot connect"));
  EXPECT_EQ(client.counts().of(Outcome::kConnection), 3);
  EXPECT_EQ(client.counts().cost, 0);
  EXPECT_EQ(client.counts().prompt_tokens, 0);
}

TEST(ChatClient, AServerThatComesBackElsewhereIsFollowed) {
  FakeClock clock;
  std::string old;
  {
    old = ScriptedServer({says("")}).url();
  }
  ScriptedServer server({says(answer("x"))});
  int looks = 0;
  ChatSettings settings = settings_for(old, &clock);
  settings.retries.tries = 4;
  settings.find = [&]() -> Result<ServerPlace> {
    if (++looks == 1) return ServerPlace{old, ""};
    if (looks == 2) return fail(ErrorCode::kUnavailable, "no file");
    return ServerPlace{server.url(), ""};
  };
  ChatClient client = client_of(settings);
  auto got = client.complete(request_of("a"));
  ASSERT_TRUE(got) << got.error().message();
  EXPECT_EQ(looks, 3);
  EXPECT_EQ(client.counts().of(Outcome::kConnection), 3);
  ASSERT_TRUE(client.complete(request_of("a")));
  EXPECT_EQ(looks, 3) << "it is where it was found";
}

TEST(ChatClient, TheKeyDoesNotFollowAServerInTheClear) {
  ::setenv("KW_TEST_KEY", "sk-secret-0123456789", 1);
  FakeClock clock;
  std::string old;
  {
    old = ScriptedServer({says("")}).url();
  }
  ChatSettings settings = settings_for(old, &clock);
  settings.key_env = "KW_TEST_KEY";
  settings.retries.tries = 2;
  settings.find = [] { return Result<ServerPlace>(ServerPlace{"http://192.0.2.1:80", ""}); };
  ChatClient client = client_of(settings);
  auto got = client.complete(request_of("a"));
  ASSERT_FALSE(got);
  EXPECT_THAT(got.error().message(), HasSubstr("no connection, 2 tries"));
  EXPECT_EQ(client.counts().of(Outcome::kConnection), 2);
}

TEST(ChatClient, AttemptsThatHangEndAndAreRepeated) {
  FakeClock clock;
  for (bool stream : {false, true}) {
    ScriptedServer server(
        {Act{stream ? stream_head() + chunk("so far") : "", true}, says(answer("quick"))});
    ChatSettings settings = settings_for(server.url(), &clock);
    settings.timeouts.attempt = milliseconds(3000);  // the second is answered within it
    ChatClient client = client_of(settings);
    auto got = client.complete(request_of("a", stream));
    ASSERT_TRUE(got) << got.error().message();
    EXPECT_EQ(got->tries, 2);
    EXPECT_EQ(client.counts().of(Outcome::kTimeout), 1);
  }
}

TEST(ChatClient, TheDeadlineEndsAll) {
  ScriptedServer server({Act{"", true}});
  ChatSettings settings = settings_for(server.url(), nullptr);
  ChatClient client = client_of(settings);
  ChatRequest request = request_of("a");
  request.deadline = milliseconds(150);
  const auto begin = std::chrono::steady_clock::now();
  auto got = client.complete(request);
  ASSERT_FALSE(got);
  EXPECT_EQ(got.error().code(), ErrorCode::kDeadlineExceeded);
  EXPECT_LT(std::chrono::steady_clock::now() - begin, seconds(30));
  EXPECT_LE(server.requests(), 1);  // none where the deadline came before the server had read it
}

TEST(ChatClient, StopEndsARequestAndAWait) {
  ScriptedServer server({Act{"", true}});
  ChatClient client = client_of(settings_for(server.url(), nullptr));
  std::stop_source stop;
  std::jthread stopper([&] {
    while (server.requests() == 0) std::this_thread::yield();
    stop.request_stop();
  });
  auto got = client.complete(request_of("a"), stop.get_token());
  ASSERT_FALSE(got);
  EXPECT_EQ(got.error().code(), ErrorCode::kCancelled);
  EXPECT_EQ(client.counts().of(Outcome::kCancelled), 1);
  auto before = client.complete(request_of("b"), stop.get_token());
  ASSERT_FALSE(before);
  EXPECT_EQ(before.error().code(), ErrorCode::kCancelled);
  EXPECT_EQ(client.counts().all_attempts(), 1) << "nothing was sent";

  ScriptedServer busy({says(http(429, "", "text/plain", "Retry-After: 1000\r\n"))});
  std::stop_source later;
  ChatSettings settings = settings_for(busy.url(), nullptr);
  settings.on_attempt = [&](const Attempt&) { later.request_stop(); };
  auto waited = client_of(settings).complete(request_of("a"), later.get_token());
  ASSERT_FALSE(waited);
  EXPECT_EQ(waited.error().code(), ErrorCode::kCancelled);
}

TEST(ChatClient, ASlowOneIsHedged) {
  ScriptedServer server([](const Received& request) {
    return request.number == 0 ? Act{"", true} : says(answer("second"));
  });
  ChatSettings settings = settings_for(server.url(), nullptr);
  settings.hedge_after = milliseconds(1000);  // the server has the first by then
  ChatClient client = client_of(settings);
  auto got = client.complete(request_of("a"));
  ASSERT_TRUE(got) << got.error().message();
  EXPECT_EQ(got->choices.at(0).text, "second");
  EXPECT_EQ(got->tries, 1);
  EXPECT_FALSE(got->cost_known);
  const Counts counts = client.counts();
  EXPECT_EQ(counts.requests, 1);
  EXPECT_EQ(counts.answered, 1);
  EXPECT_EQ(counts.hedges, 1);
  EXPECT_EQ(counts.hedges_won, 1);
  EXPECT_EQ(counts.of(Outcome::kAnswered), 1);
  EXPECT_EQ(counts.of(Outcome::kCancelled), 1);
}

TEST(ChatClient, HedgingIsOff) {
  ScriptedServer server({Act{"", true, answer("slow")}});
  std::jthread releaser([&] {
    while (server.requests() == 0) std::this_thread::yield();
    std::this_thread::sleep_for(milliseconds(100));
    server.release();
  });
  ChatClient client = client_of(settings_for(server.url(), nullptr));
  EXPECT_TRUE(client.complete(request_of("a")));
  EXPECT_EQ(server.requests(), 1);
}

TEST(ChatClient, FewerAndMoreChoicesThanAskedFor) {
  FakeClock clock;
  const std::string three =
      R"({"choices": [{"message": {"content": "a"}}, {"message": {"content": "b"}}, {"message": {"content": "c"}}]})";
  ScriptedServer server({says(answer("one")), says(http(200, three))});
  ChatClient client = client_of(settings_for(server.url(), &clock));
  ChatRequest request = request_of("a");
  request.n = 2;
  EXPECT_EQ(client.complete(request)->choices.size(), 1U);
  EXPECT_EQ(client.complete(request)->choices.size(), 2U);
  EXPECT_EQ(client.counts().choices, 3);
  EXPECT_EQ(client.counts().missing_choices, 1);
}

TEST(ChatClient, TheKeyIsSentAndNeverShown) {
  const std::string key = "sk-secret-0123456789";
  ::setenv("KW_TEST_KEY", (key + "\n").c_str(), 1);
  std::vector<std::string> bodies = {
      http(401, error_json("Incorrect API key provided: " + key)),
      http(500, "Authorization: Bearer " + key, "text/plain"),
      http(200, "<html>" + std::string(290, 'x') + key + "</html>", "text/html; " + key),
      http(200, "{\"choices\": [{\"message\": {\"content\": \"" + key, "application/json"),
      http(302, "", "text/plain", "Location: http://example.com/" + key + "\r\n"),
      http(429, std::string(1990, 'y') + key, "text/plain", "x-request-id: " + key + "\r\n"),
      stream_head() + chunk("text with " + key),
      stream_head() + event(R"({"error": {"message": "key )" + key + R"( is wrong"}})"),
      "HTTP/1.1 200 " + key + "\r\n" + key + "\r\n\r\n",
  };
  for (const std::string& bytes : bodies) {
    FakeClock clock;
    ScriptedServer server({says(bytes)});
    ChatSettings settings = settings_for(server.url(), &clock);
    settings.key_env = "KW_TEST_KEY";
    settings.retries.tries = 2;
    std::string seen;
    settings.on_attempt = [&](const Attempt& a) {
      seen += a.tag + a.message + a.partial + a.answer_id;
    };
    ::testing::internal::CaptureStderr();
    ChatClient client = client_of(settings);
    auto got = client.complete(request_of("a", true));
    seen += ::testing::internal::GetCapturedStderr();
    ASSERT_FALSE(got) << bytes;
    seen += got.error().message() + to_json(client.counts()).dump();
    EXPECT_THAT(seen, Not(HasSubstr("0123456789"))) << bytes;
    EXPECT_THAT(server.received().at(0).head, HasSubstr("Authorization: Bearer " + key + "\r\n"));
  }
}

TEST(ChatClient, AKeyThatCannotBeUsed) {
  ChatSettings settings;
  settings.base_url = "https://example.com";
  settings.key_env = "KW_TEST_KEY";
  auto message = [&] {
    auto client = ChatClient::make(settings);
    EXPECT_FALSE(client);
    EXPECT_EQ(client.error().code(), ErrorCode::kInvalidArgument);
    return client.error().message();
  };
  ::unsetenv("KW_TEST_KEY");
  EXPECT_EQ(message(), "the environment has no KW_TEST_KEY with the key of example.com:443");
  ::setenv("KW_TEST_KEY", "a\r\nEvil: b", 1);
  EXPECT_EQ(message(), "the key in KW_TEST_KEY cannot be sent");
  ::setenv("KW_TEST_KEY", "sk-1", 1);
  settings.base_url = "http://example.com";
  EXPECT_THAT(message(), HasSubstr("in the clear"));
  settings.allow_plaintext_key = true;
  EXPECT_TRUE(ChatClient::make(settings));
}

TEST(ChatClient, SettingsThatMakeNoSense) {
  auto message = [](auto change) {
    ChatSettings settings;
    settings.base_url = "http://127.0.0.1:1";
    change(settings);
    auto client = ChatClient::make(settings);
    return client ? std::string("taken") : client.error().message();
  };
  EXPECT_EQ(message([](ChatSettings&) {}), "taken");
  EXPECT_THAT(message([](ChatSettings& s) { s.base_url = "host"; }), HasSubstr("URL"));
  EXPECT_THAT(message([](ChatSettings& s) { s.concurrency = 0; }), HasSubstr("concurrency"));
  EXPECT_THAT(message([](ChatSettings& s) { s.retries.tries = 0; }), HasSubstr("tries"));
  EXPECT_THAT(message([](ChatSettings& s) { s.prices.prompt = -1; }), HasSubstr("prices.prompt"));
  EXPECT_THAT(message([](ChatSettings& s) { s.budget.cost = std::nan(""); }),
              HasSubstr("budget.cost"));
  EXPECT_THAT(message([](ChatSettings& s) { s.timeouts.idle = seconds(0); }),
              HasSubstr("timeouts.idle"));
  EXPECT_THAT(message([](ChatSettings& s) { s.ca_file = "/nowhere.pem"; }),
              HasSubstr("/nowhere.pem"));
}

TEST(ChatClient, Models) {
  ScriptedServer server(
      {says(http(200, R"({"object": "list", "data": [{"id": "a"}, {"id": "b"}]})")),
       says(http(404, R"({"detail": "Not Found"})"))});
  ChatClient client = client_of(settings_for(server.url() + "/v1", nullptr));
  auto names = client.models();
  ASSERT_TRUE(names) << names.error().message();
  EXPECT_THAT(*names, ElementsAre("a", "b"));
  EXPECT_THAT(server.received().at(0).head, HasSubstr("GET /v1/models HTTP/1.1"));
  auto none = client.models();
  ASSERT_FALSE(none);
  EXPECT_EQ(none.error().code(), ErrorCode::kNotFound);
  EXPECT_THAT(none.error().message(), HasSubstr("/v1/models: HTTP 404: Not Found"));
}

}  // namespace
}  // namespace kw::openai
