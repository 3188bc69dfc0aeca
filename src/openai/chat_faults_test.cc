// Servers that misbehave in every way that is known: which class a failure is counted in, and that
// no request is lost or answered twice.
#include <atomic>
#include <cstdio>
#include <cstdlib>
#include <map>
#include <thread>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/random.h"
#include "net/server.h"
#include "net/testing/self_signed.h"
#include "net/testing/test_server.h"
#include "openai/testing/client_setup.h"
#include "openai/testing/scripted_server.h"
#include "os/file.h"

namespace kw::openai {
namespace {

using std::chrono::milliseconds;
using namespace testing;  // NOLINT(google-build-using-namespace): of these tests' own helpers
using ::testing::HasSubstr;

struct Fault {
  std::string name;
  Act act;
  Outcome outcome;
};

Act reset_after(std::string bytes) {
  Act out(std::move(bytes));
  out.reset = true;
  return out;
}

std::string chunked(const std::string& data) {
  char size[32];
  std::snprintf(size, sizeof(size), "%zx\r\n", data.size());
  return size + data + "\r\n";
}

const std::string kChunkedHead =
    "HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\nConnection: close\r\n"
    "Transfer-Encoding: chunked\r\n\r\n";

// What may pass, so a second try answers.
std::vector<Fault> passing_faults() {
  const std::string whole = answer("half of it is not enough");
  return {
      {"429", http(429, R"({"error": {"message": "slow"}})"), Outcome::kRateLimited},
      {"429 with Retry-After", http(429, "", "text/plain", "Retry-After: 2\r\n"),
       Outcome::kRateLimited},
      {"429 with Retry-After that is none", http(429, "", "text/plain", "Retry-After: soon\r\n"),
       Outcome::kRateLimited},
      {"429 in a body with 200", http(200, R"({"error": {"message": "slow", "code": 429}})"),
       Outcome::kRateLimited},
      {"500", http(500, "Internal Server Error", "text/plain"), Outcome::kServerError},
      {"502", http(502, "<html>Bad Gateway</html>", "text/html"), Outcome::kServerError},
      {"503", http(503, R"({"detail": "loading"})"), Outcome::kServerError},
      {"504", http(504, ""), Outcome::kServerError},
      {"error with 200", http(200, R"({"error": "engine is dead"})"), Outcome::kServerError},
      {"error in a stream",
       stream_head() + chunk("x") + event(R"({"error": {"message": "died", "code": 500}})"),
       Outcome::kServerError},
      {"500 whose body is cut", "HTTP/1.1 500 X\r\nContent-Length: 1000\r\n\r\n{\"error\"",
       Outcome::kServerError},
      {"closed without a byte", Act(""), Outcome::kConnection},
      {"reset without a byte", reset_after(""), Outcome::kConnection},
      {"closed in the header", "HTTP/1.1 200 OK\r\nContent-Ty", Outcome::kConnection},
      {"body cut", whole.substr(0, whole.size() - 20), Outcome::kCut},
      {"body reset", reset_after(whole.substr(0, whole.size() - 20)), Outcome::kCut},
      {"stream that ends early", stream_head() + chunk("half"), Outcome::kCut},
      {"stream without an event", stream_head(), Outcome::kCut},
      {"stream cut in an event", stream_head() + chunk("half").substr(0, 30), Outcome::kCut},
      {"chunked stream cut", kChunkedHead + chunked(chunk("half")), Outcome::kCut},
      {"chunked stream reset", reset_after(kChunkedHead + chunked(chunk("half"))), Outcome::kCut},
      {"chunked stream that ends early", kChunkedHead + chunked(chunk("half")) + "0\r\n\r\n",
       Outcome::kCut},
      {"hangs", Act("", true), Outcome::kTimeout},
      {"hangs in a stream", Act(stream_head() + chunk("half"), true), Outcome::kTimeout},
      {"hangs in a body", Act(whole.substr(0, whole.size() - 20), true), Outcome::kTimeout},
      {"empty body", http(200, ""), Outcome::kMalformed},
      {"JSON cut", http(200, chat_json("x").substr(0, 40)), Outcome::kMalformed},
      {"page", http(200, "<html>Sign in</html>", "text/html"), Outcome::kMalformed},
      {"stream as text/plain", http(200, chunk("x", "stop"), "text/plain"), Outcome::kMalformed},
      {"no choices", http(200, R"({"choices": []})"), Outcome::kMalformed},
      {"204", "HTTP/1.1 204 No Content\r\nConnection: close\r\n\r\n", Outcome::kMalformed},
      {"malformed event", stream_head() + chunk("x") + event("{") + chunk("", "stop"),
       Outcome::kMalformed},
      {"[DONE] alone", stream_head() + event("[DONE]"), Outcome::kMalformed},
      {"no HTTP", "SSH-2.0-OpenSSH_9.2\r\n", Outcome::kMalformed},
      {"no HTTP but bytes", std::string("\x15\x03\x01\x00\x02\x02\x46\r\n\r\n", 11),
       Outcome::kMalformed},
  };
}

TEST(ChatFaults, EachIsCountedAsWhatItIsAndRepeated) {
  for (const Fault& fault : passing_faults()) {
    SCOPED_TRACE(fault.name);
    FakeClock clock;
    ScriptedServer server({fault.act, streamed({"go", "od"})});
    ChatSettings settings = settings_for(server.url(), &clock);
    settings.timeouts.attempt = milliseconds(fault.act.hang ? 3000 : 20000);
    ChatClient client = client_of(settings);
    auto got = client.complete(request_of("a", true));
    ASSERT_TRUE(got) << got.error().message();
    EXPECT_EQ(got->choices.at(0).text, "good");
    EXPECT_EQ(got->tries, 2);
    const Counts counts = client.counts();
    EXPECT_EQ(counts.of(fault.outcome), 1) << to_json(counts);
    EXPECT_EQ(counts.of(Outcome::kAnswered), 1);
    EXPECT_EQ(counts.all_attempts(), 2);
    EXPECT_EQ(counts.answered, 1);
    EXPECT_EQ(counts.retries, 1);
  }
}

TEST(ChatFaults, OddAnswersAreAnswers) {
  struct Odd {
    std::string name, bytes, text, finish;
  };
  const std::string empty =
      R"({"choices": [{"message": {"content": null, "reasoning_content": "hm"}, "finish_reason": "length"}]})";
  for (const Odd& odd : std::vector<Odd>{
           {"JSON where a stream was asked for", answer("whole"), "whole", "stop"},
           {"JSON as text/html", http(200, chat_json("x"), "text/html"), "x", "stop"},
           {"empty content", answer(""), "", "stop"},
           {"null content", http(200, empty), "", "length"},
           {"cut by length", answer("int ma", "length"), "int ma", "length"},
           {"filtered", answer("", "content_filter"), "", "content_filter"},
           {"no finish reason", stream_head() + chunk("x") + event("[DONE]"), "x", ""},
           {"no [DONE]", stream_head() + chunk("x", "stop"), "x", "stop"},
           {"cut behind the finish reason", kChunkedHead + chunked(chunk("x", "stop")), "x",
            "stop"},
           {"comments and empty lines",
            stream_head() + ": ping\n\n\n\n" + chunk("x", "stop") + event("[DONE]"), "x", "stop"},
           {"something behind [DONE]", streamed({"x"}) + "nonsense\n\n", "x", "stop"}}) {
    SCOPED_TRACE(odd.name);
    FakeClock clock;
    ScriptedServer server({Act(odd.bytes)});
    ChatClient client = client_of(settings_for(server.url(), &clock));
    auto got = client.complete(request_of("a", true));
    ASSERT_TRUE(got) << got.error().message();
    EXPECT_EQ(got->choices.at(0).text, odd.text);
    EXPECT_EQ(got->choices.at(0).finish_reason, odd.finish);
    EXPECT_EQ(got->tries, 1);
    EXPECT_EQ(server.requests(), 1);
    const Counts counts = client.counts();
    EXPECT_EQ(counts.empty, odd.text.empty() ? 1 : 0);
    EXPECT_EQ(counts.finished_by_length, odd.finish == "length" ? 1 : 0);
    EXPECT_EQ(counts.finished_by_filter, odd.finish == "content_filter" ? 1 : 0);
  }
}

TEST(ChatFaults, AWrongChatTemplateIsReported) {
  const std::string prompt =
      "Write the fastest kernel for a row-wise softmax of a [4096, 1024] float32 tensor.";
  FakeClock clock;
  ScriptedServer server({answer("user\n" + prompt + "\nassistant\n"),
                         streamed({prompt.substr(0, 30), prompt.substr(30), " ..."}),
                         answer("Sure.<|im_end|>\n<|im_start|>user\nAnd now?"), answer("Sure.")});
  ChatClient client = client_of(settings_for(server.url(), &clock));
  std::vector<Suspicion> seen;
  for (int i = 0; i < 4; ++i)
    seen.push_back(client.complete(request_of(prompt, true))->choices.at(0).suspicion);
  EXPECT_THAT(seen, ::testing::ElementsAre(Suspicion::kPromptEcho, Suspicion::kPromptEcho,
                                           Suspicion::kTemplateTokens, Suspicion::kNone));
  EXPECT_EQ(client.counts().prompt_echoes, 2);
  EXPECT_EQ(client.counts().template_tokens, 1);
}

TEST(ChatFaults, HugeAnswersEndTheRequest) {
  const std::string big(300000, 'x');
  std::string stream = stream_head();
  for (int i = 0; i < 10; ++i) stream += chunk(big.substr(0, 30000));
  for (const std::string& bytes : {answer(big), stream, stream_head() + "data: " + big,
                                   "HTTP/1.1 200 OK\r\nX: " + big + "\r\n\r\n"}) {
    FakeClock clock;
    ScriptedServer server({Act(bytes)});
    ChatSettings settings = settings_for(server.url(), &clock);
    settings.max_answer_bytes = 200000;
    ChatClient client = client_of(settings);
    auto got = client.complete(request_of("a", true));
    ASSERT_FALSE(got);
    EXPECT_EQ(got.error().code(), ErrorCode::kResourceExhausted) << got.error().message();
    EXPECT_LT(got.error().message().size(), 4000U);
    EXPECT_EQ(server.requests(), 1);
    EXPECT_EQ(client.counts().of(Outcome::kTooLarge), 1);
  }
}

TEST(ChatFaults, Tls) {
  os::TempDir folder = std::move(os::TempDir::make("kw-openai").value());
  net::testing::write_self_signed(folder.path(), "good", "DNS:localhost,IP:127.0.0.1");
  net::testing::write_self_signed(folder.path(), "other", "DNS:localhost,IP:127.0.0.1");
  net::Router router;
  router.add("POST", "/v1/chat/completions", [](const net::Request&, net::Responder responder) {
    net::Response response;
    response.headers.add("Content-Type", "application/json");
    response.body = chat_json("over TLS");
    responder.send(std::move(response));
  });
  net::ServerOptions options;
  options.tls = net::TlsFiles{folder.path() / "good.crt", folder.path() / "good.key"};
  auto server = net::testing::start(std::move(options), std::move(router));
  FakeClock clock;
  ::setenv("KW_TEST_KEY", "sk-secret-0123456789", 1);
  ChatSettings settings = settings_for(server->origin(), &clock);
  settings.key_env = "KW_TEST_KEY";
  settings.ca_file = folder.path() / "good.crt";
  ChatClient trusting = client_of(settings);
  for (int i = 0; i < 3; ++i)
    EXPECT_EQ(trusting.complete(request_of("a", true))->choices.at(0).text, "over TLS");
  settings.ca_file = folder.path() / "other.crt";
  ChatClient wary = client_of(settings);
  auto got = wary.complete(request_of("a", true));
  ASSERT_FALSE(got);
  EXPECT_EQ(got.error().code(), ErrorCode::kPermissionDenied);
  EXPECT_THAT(got.error().message(), HasSubstr("not trusted"));
  EXPECT_EQ(wary.counts().of(Outcome::kUntrusted), 1);
  EXPECT_EQ(wary.counts().retries, 0);
}

// Many threads against a server that fails half of the time, each time in another way. The server
// knows what it did to whom.
class Storm {
 public:
  Storm() : faults_(passing_faults()) {
    // A hang costs real time.
    std::erase_if(faults_, [](const Fault& fault) { return fault.act.hang; });
  }

  Act act(const Received& request) {
    const std::string nonce = request.json()["messages"][0]["content"];
    const bool stream = request.json().contains("stream");
    std::lock_guard lock(mutex_);
    if (rng_.below(2) == 0) {
      const Fault& fault = faults_[rng_.below(faults_.size())];
      ++done_[fault.outcome];
      return fault.act;
    }
    ++done_[Outcome::kAnswered];
    ++whole_[nonce];
    return stream ? streamed({"re: ", nonce}) : answer("re: " + nonce);
  }

  std::map<Outcome, std::int64_t> done() const {
    std::lock_guard lock(mutex_);
    return done_;
  }
  std::map<std::string, int> whole() const {
    std::lock_guard lock(mutex_);
    return whole_;
  }

 private:
  std::vector<Fault> faults_;
  mutable std::mutex mutex_;
  Rng rng_{20260101};
  std::map<Outcome, std::int64_t> done_;
  std::map<std::string, int> whole_;  // whole answers, by request
};

TEST(ChatFaults, NothingIsLostAndNothingAnsweredTwice) {
  constexpr int kThreads = 16, kRequests = 40;
  Storm storm;
  ScriptedServer server([&storm](const Received& request) { return storm.act(request); });
  FakeClock clock;
  ChatSettings settings = settings_for(server.url(), &clock);
  settings.retries.tries = 60;
  settings.malformed_tries = 60;
  std::atomic<std::int64_t> attempts = 0;
  settings.on_attempt = [&](const Attempt&) { ++attempts; };
  ChatClient client = client_of(settings);
  std::atomic<int> right = 0;
  {
    std::vector<std::jthread> threads;
    for (int t = 0; t < kThreads; ++t)
      threads.emplace_back([&, t] {
        for (int i = 0; i < kRequests; ++i) {
          const std::string nonce = std::to_string(t) + "." + std::to_string(i);
          auto got = client.complete(request_of(nonce, i % 2 == 0));
          if (got && got->choices.at(0).text == "re: " + nonce)
            ++right;
          else
            ADD_FAILURE() << nonce << ": "
                          << (got ? got->choices.at(0).text : got.error().message());
        }
      });
  }
  EXPECT_EQ(right, kThreads * kRequests);
  const Counts counts = client.counts();
  EXPECT_EQ(counts.requests, kThreads * kRequests);
  EXPECT_EQ(counts.answered, kThreads * kRequests);
  EXPECT_EQ(counts.failed, 0);
  EXPECT_EQ(counts.all_attempts(), server.requests());
  EXPECT_EQ(counts.all_attempts(), attempts);
  EXPECT_EQ(counts.retries, server.requests() - kThreads * kRequests);
  for (const auto& [outcome, times] : storm.done())
    EXPECT_EQ(counts.of(outcome), times) << to_string(outcome);
  EXPECT_EQ(storm.whole().size(), static_cast<std::size_t>(kThreads * kRequests));
  for (const auto& [nonce, times] : storm.whole()) EXPECT_EQ(times, 1) << nonce;
}

}  // namespace
}  // namespace kw::openai
