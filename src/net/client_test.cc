// The client against our server, and against peers that misbehave.
#include "net/client.h"

#include <atomic>
#include <thread>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "net/replies.h"
#include "net/server.h"
#include "net/testing/scripted_peer.h"
#include "net/testing/test_server.h"

namespace kw::net {
namespace {

using std::chrono::milliseconds;
using testing::Channel;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::Not;
using testing::ScriptedPeer;

std::unique_ptr<Client> make_client(ClientOptions options = {}) {
  return std::move(Client::make(std::move(options)).value());
}

Result<ClientResponse> get_scripted(std::string script, ClientOptions options = {}) {
  ScriptedPeer peer({std::move(script)});
  return make_client(std::move(options))->get(peer.url());
}

ErrorCode code_of(const Result<ClientResponse>& answer) {
  EXPECT_FALSE(answer);
  if (answer) return ErrorCode::kInternal;
  EXPECT_THAT(answer.error().message(), HasSubstr("127.0.0.1:"));
  return answer.error().code();
}

class ClientTest : public ::testing::Test {
 protected:
  ClientTest() {
    ServerOptions options;
    options.metrics = &metrics_;
    server_ = testing::start(std::move(options), testing::usual_routes(waiting_));
  }
  std::string url(std::string_view path) { return server_->origin() + std::string(path); }
  std::uint64_t connections() { return metrics_.counter("kw_http_connections_total", "").value(); }

  MetricRegistry metrics_;
  Channel<Responder> waiting_;
  std::unique_ptr<Server> server_;
  std::unique_ptr<Client> client_ = make_client();
};

TEST_F(ClientTest, GetPostAndStatus) {
  auto answer = client_->get(url("/hello"));
  ASSERT_TRUE(answer) << answer.error().message();
  EXPECT_EQ(answer->status, 200);
  EXPECT_EQ(answer->body, "hello");
  EXPECT_EQ(*answer->headers.find("content-type"), "text/plain");
  answer = client_->post_json(url("/echo"), Json{{"a", 1}});
  ASSERT_TRUE(answer);
  EXPECT_EQ(answer->body, "{\"a\":1}");
  answer = client_->get(url("/nothing"));
  ASSERT_TRUE(answer);
  EXPECT_EQ(answer->status, 404);
  ClientRequest head;
  head.method = "HEAD";
  head.url = url("/hello");
  answer = client_->send(head);
  ASSERT_TRUE(answer) << answer.error().message();
  EXPECT_EQ(answer->body, "");
  EXPECT_EQ(connections(), 1U);
}

TEST_F(ClientTest, ThreadsShareConnections) {
  constexpr int kThreads = 4;
  {
    std::vector<std::jthread> threads;
    for (int t = 0; t < kThreads; ++t) {
      threads.emplace_back([&] {
        for (int i = 0; i < 25; ++i) {
          auto answer = client_->get(url("/hello"));
          EXPECT_TRUE(answer && answer->body == "hello");
        }
      });
    }
  }
  EXPECT_LE(connections(), static_cast<std::uint64_t>(kThreads));
}

TEST_F(ClientTest, Events) {
  std::jthread handler([&] {
    ResponseStream stream = waiting_.take().stream(event_stream_head());
    for (const char* data : {"a", "b\nc", "[DONE]"}) stream.write(format_event({"", data, ""}));
    stream.finish();
  });
  ClientRequest request;
  request.url = url("/wait");
  std::vector<std::string> seen;
  auto answer = client_->events(request, [&](const SseEvent& event) {
    seen.push_back(event.data);
    return true;
  });
  ASSERT_TRUE(answer) << answer.error().message();
  EXPECT_THAT(seen, ElementsAre("a", "b\nc", "[DONE]"));
  EXPECT_TRUE(answer->complete);
  EXPECT_TRUE(client_->get(url("/hello")));
  EXPECT_EQ(connections(), 1U);
}

TEST_F(ClientTest, ErrorInsteadOfEventsComesWhole) {
  std::jthread handler([&] { waiting_.take().send(retry_later(std::chrono::seconds(7), "busy")); });
  ClientRequest request;
  request.url = url("/wait");
  auto answer = client_->events(request, [](const SseEvent&) { return true; });
  ASSERT_TRUE(answer);
  EXPECT_EQ(answer->status, 429);
  EXPECT_THAT(answer->body, HasSubstr("busy"));
  EXPECT_EQ(answer->retry_after, std::chrono::seconds(7));
}

TEST_F(ClientTest, StreamGivesPiecesAndStopsWhenAsked) {
  std::jthread handler([&] {
    ResponseStream stream = waiting_.take().stream({});
    while (stream.write("piece")) {
    }
  });
  ClientRequest request;
  request.url = url("/wait");
  std::string got;
  auto answer = client_->stream(request, [&](std::string_view bytes) {
    got += bytes;
    return got.size() < 100;
  });
  ASSERT_TRUE(answer);
  EXPECT_FALSE(answer->complete);
  EXPECT_TRUE(got.starts_with("piecepiece"));
}

TEST_F(ClientTest, CancelledByItsStopToken) {
  std::stop_source stop;
  ClientRequest request;
  request.url = url("/wait");
  request.stop = stop.get_token();
  std::jthread other([&] {
    Responder responder = waiting_.take();
    stop.request_stop();
    Channel<bool> left;
    std::stop_callback callback(responder.stop_token(), [&] { left.put(true); });
    left.take();  // the server has seen it
  });
  EXPECT_EQ(code_of(client_->send(request)), ErrorCode::kCancelled);
}

TEST_F(ClientTest, FirstByteTimeout) {
  ClientRequest request;
  request.url = url("/wait");
  request.timeouts = ClientTimeouts{.first_byte = milliseconds(50)};
  auto answer = client_->send(request);
  EXPECT_EQ(code_of(answer), ErrorCode::kDeadlineExceeded);
  EXPECT_THAT(answer.error().message(), HasSubstr("first-byte"));
  waiting_.take();
}

TEST_F(ClientTest, TotalTimeout) {
  ClientRequest request;
  request.url = url("/wait");
  request.timeouts = ClientTimeouts{.total = milliseconds(100)};
  std::jthread handler([&] {
    ResponseStream stream = waiting_.take().stream({});
    while (stream.write("x")) std::this_thread::yield();
  });
  auto answer = client_->stream(request, [](std::string_view) { return true; });
  EXPECT_EQ(code_of(answer), ErrorCode::kDeadlineExceeded);
  EXPECT_THAT(answer.error().message(), HasSubstr("total"));
}

TEST_F(ClientTest, IdleTimeout) {
  ClientRequest request;
  request.url = url("/wait");
  request.timeouts = ClientTimeouts{.idle = milliseconds(50)};
  std::jthread handler([&] {
    ResponseStream stream = waiting_.take().stream(text_response("x"));
    Channel<bool> left;
    std::stop_callback callback(stream.stop_token(), [&] { left.put(true); });
    left.take();
  });
  auto answer = client_->send(request);
  EXPECT_EQ(code_of(answer), ErrorCode::kDeadlineExceeded);
  EXPECT_THAT(answer.error().message(), HasSubstr("idle"));
}

TEST_F(ClientTest, KeptConnectionThatWasClosed) {
  ASSERT_TRUE(client_->get(url("/hello")));
  std::uint16_t port = server_->port();
  server_.reset();
  ServerOptions options;
  options.port = port;
  server_ = testing::start(std::move(options), testing::usual_routes(waiting_));
  auto answer = client_->get(url("/hello"));
  ASSERT_TRUE(answer) << answer.error().message();
  ClientRequest post;
  post.method = "POST";
  post.url = url("/echo");
  post.body = "x";
  EXPECT_TRUE(client_->send(post));
}

TEST_F(ClientTest, WhatCannotBeSent) {
  ClientRequest request;
  request.url = "nonsense";
  EXPECT_EQ(client_->send(request).error().code(), ErrorCode::kInvalidArgument);
  request.url = url("/");
  request.method = "GET / HTTP/1.1\r\nX:";
  EXPECT_EQ(client_->send(request).error().code(), ErrorCode::kInvalidArgument);
  request.method = "GET";
  request.headers.add("Authorization", "Bearer hunter2\r\nX: y");
  auto answer = client_->send(request);
  EXPECT_EQ(answer.error().code(), ErrorCode::kInvalidArgument);
  EXPECT_THAT(answer.error().message(), Not(HasSubstr("hunter2")));
  request.headers = {};
  request.headers.add("host", "other");
  EXPECT_EQ(client_->send(request).error().code(), ErrorCode::kInvalidArgument);
}

TEST(ClientErrors, Refused) {
  std::string url;
  {
    ScriptedPeer peer({});
    url = peer.url();
  }
  auto answer = make_client()->get(url);
  EXPECT_EQ(code_of(answer), ErrorCode::kUnavailable);
  EXPECT_THAT(answer.error().message(), HasSubstr("cannot connect: Connection refused"));
}

TEST(ClientErrors, UnknownHost) {
  auto answer = make_client()->get("http://no-such-host.invalid/");
  ASSERT_FALSE(answer);
  EXPECT_EQ(answer.error().code(), ErrorCode::kUnavailable);
  EXPECT_THAT(answer.error().message(), HasSubstr("no-such-host.invalid:80: cannot find the host"));
}

TEST(ClientErrors, CutAnswers) {
  EXPECT_EQ(code_of(get_scripted("")), ErrorCode::kUnavailable);
  EXPECT_EQ(code_of(get_scripted("HTTP/1.1 200 OK\r\nContent-Le")), ErrorCode::kUnavailable);
  EXPECT_EQ(code_of(get_scripted("HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nabc")),
            ErrorCode::kUnavailable);
  EXPECT_EQ(
      code_of(get_scripted("HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n3\r\nabc\r\n")),
      ErrorCode::kUnavailable);
}

TEST(ClientErrors, MalformedAnswers) {
  for (const char* script :
       {"nonsense\r\n\r\n", "HTTP/2 200 OK\r\n\r\n", "HTTP/1.1 99 X\r\n\r\n",
        "HTTP/1.1 101 X\r\n\r\n",
        "HTTP/1.1 200 OK\r\nContent-Length: 1\r\nContent-Length: 2\r\n\r\n",
        "HTTP/1.1 200 OK\r\nContent-Length: 1\r\nTransfer-Encoding: chunked\r\n\r\n",
        "HTTP/1.1 200 OK\r\nTransfer-Encoding: gzip\r\n\r\n",
        "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\nzz\r\nabc"}) {
    EXPECT_EQ(code_of(get_scripted(script)), ErrorCode::kUnsupported) << script;
  }
}

TEST(ClientErrors, TooLong) {
  ClientOptions options;
  options.max_header_bytes = 1000;
  options.max_body_bytes = 10;
  EXPECT_EQ(code_of(get_scripted("HTTP/1.1 200 OK\r\nX: " + std::string(2000, 'x'), options)),
            ErrorCode::kResourceExhausted);
  EXPECT_EQ(
      code_of(get_scripted("HTTP/1.1 200 OK\r\nContent-Length: 11\r\n\r\n01234567890", options)),
      ErrorCode::kResourceExhausted);
  EXPECT_EQ(code_of(get_scripted("HTTP/1.1 200 OK\r\n\r\n01234567890", options)),
            ErrorCode::kResourceExhausted);
  std::string interim;
  for (int i = 0; i < 20; ++i) interim += "HTTP/1.1 102 X\r\n\r\n";
  EXPECT_EQ(code_of(get_scripted(interim)), ErrorCode::kUnsupported);
}

TEST(ClientAnswers, UntilTheConnectionsEnd) {
  auto answer = get_scripted("HTTP/1.1 103 Early\r\nX: 1\r\n\r\nHTTP/1.0 200 OK\r\n\r\nall of it");
  ASSERT_TRUE(answer) << answer.error().message();
  EXPECT_EQ(answer->body, "all of it");
  EXPECT_FALSE(answer->headers.has("X"));
}

TEST(ClientAnswers, RetryAfterDate) {
  auto answer = get_scripted(
      "HTTP/1.1 503 X\r\nRetry-After: Sun, 06 Nov 1994 08:49:37 GMT\r\nContent-Length: 0\r\n\r\n");
  ASSERT_TRUE(answer);
  EXPECT_EQ(answer->retry_after, std::chrono::seconds(0));
  answer = get_scripted("HTTP/1.1 503 X\r\nRetry-After: soon\r\nContent-Length: 0\r\n\r\n");
  ASSERT_TRUE(answer);
  EXPECT_EQ(answer->retry_after, std::nullopt);
}

TEST(ClientAnswers, StrayBytesEndTheConnectionsUse) {
  ScriptedPeer peer({"HTTP/1.1 200 OK\r\nContent-Length: 1\r\n\r\naHTTP/1.1 200 OK\r\n\r\n...",
                     "HTTP/1.1 200 OK\r\nContent-Length: 1\r\n\r\nb"});
  auto client = make_client();
  EXPECT_EQ(client->get(peer.url()).value().body, "a");
  EXPECT_EQ(client->get(peer.url()).value().body, "b");
}

TEST(ClientAnswers, PostIsNotSentTwice) {
  // The first connection is kept, then closed without an answer to the POST.
  ScriptedPeer peer({""});
  auto client = make_client();
  ClientRequest post;
  post.method = "POST";
  post.url = peer.url();
  EXPECT_EQ(code_of(client->send(post)), ErrorCode::kUnavailable);
  EXPECT_EQ(peer.connections(), 1);
}

}  // namespace
}  // namespace kw::net
