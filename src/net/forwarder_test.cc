// Forwarding between real servers, and to peers that break off.
#include "net/forwarder.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "net/client.h"
#include "net/replies.h"
#include "net/self_signed.h"
#include "net/server.h"
#include "net/testing/raw_client.h"
#include "net/testing/scripted_peer.h"
#include "net/testing/test_server.h"

namespace kw::net {
namespace {

using testing::Channel;
using ::testing::HasSubstr;
using ::testing::Not;
using testing::RawClient;
using testing::ScriptedPeer;

// A server that forwards to a leader, and a client that talks to the first alone.
class ForwarderTest : public ::testing::Test {
 protected:
  ForwarderTest() {
    leader_routes_ = testing::usual_routes(waiting_);
    leader_routes_.add("POST", "/fields", [](const Request& request, Responder responder) {
      Response response;
      for (const Headers::Field& field : request.headers.fields())
        response.body += field.name + ": " + field.value + "\n";
      response.headers.add("Connection", "X-Private");
      response.headers.add("Keep-Alive", "timeout=1");
      response.headers.add("X-Public", "yes");
      response.status = 201;
      responder.send(std::move(response));
    });
  }

  void lead() {
    ServerOptions options;
    options.metrics = &leader_metrics_;
    leader_ = testing::start(std::move(options), leader_routes_);
    ASSERT_TRUE(forwarder_.forward_to(leader_->origin(), ""));
  }
  std::unique_ptr<Server> start_front() {
    Router routes;
    for (const char* method : {"GET", "POST", "DELETE"})
      routes.add(method, "/{path...}",
                 [this](Request request, Responder responder) {
                   forwarder_.forward(std::move(request), std::move(responder));
                 },
                 {.max_body_bytes = std::size_t{64} << 20U});
    ServerOptions options;
    options.handler_threads = 0;
    return testing::start(std::move(options), std::move(routes));
  }
  ClientResponse call(const std::string& method, const std::string& path, std::string body = "",
                      Headers headers = {}) {
    ClientRequest request;
    request.method = method;
    request.url = front_->origin() + path;
    request.body = std::move(body);
    request.headers = std::move(headers);
    auto answer = client_->send(request);
    EXPECT_TRUE(answer) << answer.error().message();
    return answer ? std::move(*answer) : ClientResponse{};
  }
  RawClient ask_waiting() {
    RawClient out(front_->port());
    out.send("GET /wait HTTP/1.1\r\nHost: h\r\n\r\n");
    return out;
  }
  static void wait_for_stop(const std::stop_token& token) {
    Channel<bool> stopped;
    std::stop_callback callback(token, [&] { stopped.put(true); });
    stopped.take();
  }
  std::uint64_t ended(const char* outcome) {
    return metrics_.counter("kw_forwarded_calls_total", "", {{"outcome", outcome}}).value();
  }
  std::uint64_t connections() {
    return leader_metrics_.counter("kw_http_connections_total", "").value();
  }

  Channel<Responder> waiting_;
  Router leader_routes_;
  MetricRegistry metrics_, leader_metrics_;
  Forwarder forwarder_{{.metrics = &metrics_}};
  std::unique_ptr<Server> leader_;
  std::unique_ptr<Server> front_ = start_front();
  std::unique_ptr<Client> client_ = std::move(Client::make().value());
};

TEST_F(ForwarderTest, AnswersAreTheLeaders) {
  lead();
  EXPECT_EQ(call("GET", "/hello").body, "hello");
  EXPECT_EQ(call("GET", "/nothing").status, 404);
  EXPECT_EQ(call("DELETE", "/hello").status, 405);
  const std::string large(5'000'000, 'x');
  EXPECT_EQ(call("POST", "/echo", large).body, large);
  EXPECT_EQ(connections(), 1U);  // kept
  EXPECT_EQ(ended("answered"), 4U);
  const auto head = RawClient::Answer(testing::ask(*front_,
                                                   "HEAD /hello HTTP/1.1\r\nHost: h\r\n"
                                                   "Connection: close\r\n\r\n"));
  EXPECT_THAT(head.head, HasSubstr("Content-Length: 5\r\n"));
}

TEST_F(ForwarderTest, FieldsGoThroughButThoseOfAConnection) {
  lead();
  Headers headers;
  headers.add("Authorization", "Bearer key");
  headers.add("Keep-Alive", "timeout=9");
  headers.add("Via", "1.1 nginx");
  const ClientResponse answer = call("POST", "/fields", "four", headers);
  EXPECT_EQ(answer.status, 201);
  EXPECT_THAT(answer.body, HasSubstr("Authorization: Bearer key\n"));
  EXPECT_THAT(answer.body, HasSubstr("Content-Length: 4\n"));
  EXPECT_THAT(answer.body, HasSubstr("Via: 1.1 nginx\nVia: 1.1 kernelwright\n"));
  EXPECT_THAT(answer.body, Not(HasSubstr("Keep-Alive")));
  EXPECT_TRUE(answer.headers.has("X-Public"));
  EXPECT_FALSE(answer.headers.has("Keep-Alive"));
}

TEST_F(ForwarderTest, ARefusalBeforeTheBodysEndIsHandedOn) {
  ServerOptions options;
  options.limits.body_bytes = 1000;
  leader_ = testing::start(std::move(options), leader_routes_);
  ASSERT_TRUE(forwarder_.forward_to(leader_->origin(), ""));
  std::string large;
  large.resize(20'000'000, 'x');
  EXPECT_EQ(call("POST", "/echo", large).status, 413);
  EXPECT_EQ(call("POST", "/echo", "x").body, "x");
}

TEST_F(ForwarderTest, StreamsComeInPieces) {
  lead();
  RawClient client = ask_waiting();
  ResponseStream stream = waiting_.take().stream(event_stream_head());
  EXPECT_THAT(client.until("\r\n\r\n"), HasSubstr("Content-Type: text/event-stream\r\n"));
  stream.write("data: one\n\n");
  EXPECT_EQ(client.until("\n\n\r\n"), "b\r\ndata: one\n\n\r\n");
  stream.write("data: two\n\n");
  EXPECT_EQ(client.until("\n\n\r\n"), "b\r\ndata: two\n\n\r\n");
  stream.finish();
  EXPECT_EQ(client.until("\r\n\r\n"), "0\r\n\r\n");
  client.send("GET /hello HTTP/1.1\r\nHost: h\r\n\r\n");
  EXPECT_EQ(client.answer().body, "hello");
}

TEST_F(ForwarderTest, ASlowReaderLosesNothing) {
  lead();
  RawClient client(front_->port(), 4096);
  client.send("GET /wait HTTP/1.1\r\nHost: h\r\n\r\n");
  ResponseStream stream = waiting_.take().stream({});
  std::string sent;
  for (int i = 0; i < 400; ++i) sent += std::string(10'000, static_cast<char>('a' + i % 26));
  const std::jthread writer([&] {
    for (std::size_t at = 0; at < sent.size(); at += 10'000)
      if (!stream.write(std::string_view(sent).substr(at, 10'000))) return;
    stream.finish();
  });
  EXPECT_EQ(client.answer().body, sent);
}

TEST_F(ForwarderTest, AClientThatLeavesIsSeenByTheLeader) {
  lead();
  RawClient client = ask_waiting();
  Responder responder = waiting_.take();
  client.reset();
  wait_for_stop(responder.stop_token());
  RawClient second = ask_waiting();
  ResponseStream stream = waiting_.take().stream(event_stream_head());
  second.until("\r\n\r\n");
  second.reset();
  wait_for_stop(stream.stop_token());
}

TEST_F(ForwarderTest, WithoutALeaderItSaysSo) {
  ClientResponse answer = call("GET", "/hello");
  EXPECT_EQ(answer.status, 503);
  EXPECT_EQ(answer.retry_after, std::chrono::seconds(1));
  EXPECT_THAT(answer.body, HasSubstr("no server leads yet"));
  lead();
  EXPECT_EQ(call("GET", "/hello").status, 200);
  leader_.reset();
  answer = call("GET", "/hello");
  EXPECT_EQ(answer.status, 503);
  EXPECT_EQ(answer.retry_after, std::chrono::seconds(1));
  EXPECT_THAT(answer.body, HasSubstr("cannot be reached"));
  forwarder_.forward_nowhere("gone");
  EXPECT_THAT(call("POST", "/echo", "x").body, HasSubstr("gone"));
}

TEST_F(ForwarderTest, OneThatWasForwardedGoesNoFurther) {
  // Each of two servers takes the other for the leader.
  ASSERT_TRUE(forwarder_.forward_to(front_->origin(), ""));
  const ClientResponse answer = call("GET", "/hello");
  EXPECT_EQ(answer.status, 503);
  EXPECT_EQ(answer.retry_after, std::chrono::seconds(1));
  EXPECT_THAT(answer.body, HasSubstr("does not lead either"));
  EXPECT_EQ(ended("refused"), 1U);
}

TEST_F(ForwarderTest, OverTlsTheLeaderIsVerified) {
  const TlsText own = make_self_signed("127.0.0.1", "IP:127.0.0.1", std::chrono::hours(1)).value();
  ServerOptions options;
  options.tls_text = own;
  leader_ = testing::start(std::move(options), leader_routes_);
  ASSERT_TRUE(forwarder_.forward_to(leader_->origin(), own.certificate));
  EXPECT_EQ(call("GET", "/hello").body, "hello");
  EXPECT_EQ(call("POST", "/echo", "x").body, "x");
  const TlsText other =
      make_self_signed("127.0.0.1", "IP:127.0.0.1", std::chrono::hours(1)).value();
  ASSERT_TRUE(forwarder_.forward_to(leader_->origin(), other.certificate));
  const ClientResponse answer = call("GET", "/hello");
  EXPECT_EQ(answer.status, 503);
  EXPECT_THAT(answer.body, HasSubstr("not trusted"));
  EXPECT_FALSE(forwarder_.forward_to(leader_->origin(), "no certificate"));
  EXPECT_FALSE(forwarder_.forward_to("http://127.0.0.1:1/path", ""));
}

TEST_F(ForwarderTest, AnotherLeaderEndsWhatIsUnderWay) {
  lead();
  RawClient waiting = ask_waiting();
  Responder first = waiting_.take();
  RawClient streaming = ask_waiting();
  ResponseStream second = waiting_.take().stream(event_stream_head());
  streaming.until("\r\n\r\n");
  forwarder_.forward_nowhere("the lead has changed");
  const RawClient::Answer answer = waiting.answer();
  EXPECT_EQ(answer.status, 503);
  EXPECT_THAT(answer.body, HasSubstr("the lead has changed"));
  EXPECT_EQ(streaming.until_closed(), "");  // cut: there is no last chunk
  wait_for_stop(first.stop_token());
  wait_for_stop(second.stop_token());
  EXPECT_EQ(ended("broken"), 2U);
}

TEST_F(ForwarderTest, AHalfAnswerIsNoAnswer) {
  const std::string kHead = "HTTP/1.1 200 OK\r\n";
  for (const std::string& broken : {std::string(), kHead, kHead + "Content-Length: 10\r\n\r\nhalf",
                                    kHead + "\r\nno end", std::string("SMTP\r\n\r\n")}) {
    ScriptedPeer peer({broken});
    ASSERT_TRUE(forwarder_.forward_to(peer.url(), ""));
    const ClientResponse answer = call("POST", "/echo", "x");
    EXPECT_EQ(answer.status, 503) << broken;
    EXPECT_THAT(answer.body, HasSubstr("may have been carried out"));
    EXPECT_EQ(peer.connections(), 1);  // not asked again
  }
  ScriptedPeer peer({kHead + "Transfer-Encoding: chunked\r\n\r\n3\r\none\r\n"});
  ASSERT_TRUE(forwarder_.forward_to(peer.url(), ""));
  RawClient client(front_->port());
  client.send("GET / HTTP/1.1\r\nHost: h\r\n\r\n");
  EXPECT_THAT(client.until_closed(), Not(HasSubstr("\r\n0\r\n")));
}

TEST_F(ForwarderTest, OnlyWhatIsIdempotentIsSentAgain) {
  const std::string kept = "HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok";
  for (const bool repeats : {true, false}) {
    // The second request finds a connection that closes without a word.
    ScriptedPeer peer({kept + "..1", kept});
    ASSERT_TRUE(forwarder_.forward_to(peer.url(), ""));
    EXPECT_EQ(call("GET", "/a").body, "ok");
    const ClientResponse answer = call(repeats ? "DELETE" : "POST", "/b");
    EXPECT_EQ(answer.status, repeats ? 200 : 503);
    EXPECT_EQ(peer.connections(), repeats ? 2 : 1);
    if (!repeats) {
      EXPECT_EQ(call("GET", "/c").body, "ok");
    }
  }
}

}  // namespace
}  // namespace kw::net
