// Answers over real sockets: statuses, methods, keep-alive, handlers, draining, metrics, log.
#include "net/server.h"

#include <atomic>
#include <latch>
#include <thread>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "net/auth.h"
#include "net/replies.h"
#include "net/testing/raw_client.h"
#include "net/testing/test_server.h"

namespace kw::net {
namespace {

using testing::ask;
using testing::Channel;
using ::testing::HasSubstr;
using ::testing::Not;
using testing::RawClient;
using testing::start;
using testing::usual_routes;

constexpr std::chrono::seconds kLong{30};

std::string get(std::string_view path, std::string_view fields = "") {
  return fmt::format("GET {} HTTP/1.1\r\nHost: h\r\n{}\r\n", path, fields);
}
std::string post(std::string_view path, std::string_view body, std::string_view fields = "") {
  return fmt::format("POST {} HTTP/1.1\r\nHost: h\r\nContent-Length: {}\r\n{}\r\n{}", path,
                     body.size(), fields, body);
}

class ServerTest : public ::testing::Test {
 protected:
  void begin(ServerOptions options = {}) {
    server_ = start(std::move(options), usual_routes(waiting_));
  }

  MetricRegistry metrics_;
  Channel<Responder> waiting_;
  std::unique_ptr<Server> server_;
};

TEST_F(ServerTest, WholeAnswer) {
  begin();
  RawClient client(server_->port());
  client.send(get("/hello"));
  auto answer = client.answer();
  EXPECT_EQ(answer.body, "hello");
  EXPECT_THAT(answer.head, ::testing::StartsWith("HTTP/1.1 200 OK\r\nDate: "));
  EXPECT_THAT(answer.head, HasSubstr("Content-Type: text/plain\r\n"));
  EXPECT_THAT(answer.head, HasSubstr("Content-Length: 5\r\n"));
}

TEST_F(ServerTest, Statuses) {
  ServerOptions options;
  options.limits.body_bytes = 100;
  begin(options);
  EXPECT_EQ(ask(*server_, get("/nothing")).status, 404);
  auto answer = ask(*server_, "PUT /hello HTTP/1.1\r\nHost: h\r\n\r\n");
  EXPECT_EQ(answer.status, 405);
  EXPECT_THAT(answer.head, HasSubstr("Allow: GET, HEAD, OPTIONS\r\n"));
  answer = ask(*server_, "OPTIONS /hello HTTP/1.1\r\nHost: h\r\n\r\n");
  EXPECT_EQ(answer.status, 204);
  EXPECT_THAT(answer.head, HasSubstr("Allow: GET, HEAD, OPTIONS\r\n"));
  EXPECT_THAT(answer.head, Not(HasSubstr("Content-Length")));
  EXPECT_EQ(ask(*server_, "OPTIONS * HTTP/1.1\r\nHost: h\r\n\r\n").status, 204);
  EXPECT_EQ(ask(*server_, "BREW /hello HTTP/1.1\r\nHost: h\r\n\r\n").status, 405);
  EXPECT_EQ(ask(*server_, "nonsense\r\n\r\n").status, 400);
  EXPECT_EQ(ask(*server_, "GET /hello HTTP/1.1\nHost: h\n\n").status, 400);
  EXPECT_EQ(ask(*server_, get("/hello", "Expect: magic\r\n")).status, 417);
  EXPECT_EQ(ask(*server_, post("/echo", "x", "Content-Encoding: gzip\r\n")).status, 415);
  EXPECT_EQ(ask(*server_, post("/echo", std::string(101, 'x'))).status, 413);
  EXPECT_EQ(
      ask(*server_, "POST /echo HTTP/1.1\r\nHost: h\r\nTransfer-Encoding: chunked\r\n\r\nff\r\nx")
          .status,
      413);
  EXPECT_EQ(ask(*server_, get("/" + std::string(9000, 'a'))).status, 414);
  EXPECT_EQ(ask(*server_, get("/hello", "X: " + std::string(17000, 'a') + "\r\n")).status, 431);
  EXPECT_EQ(ask(*server_, "GET / HTTP/3.0\r\n\r\n").status, 505);
}

TEST_F(ServerTest, LengthRequired) {
  Router router;
  router.add("POST", "/x", [](const Request&, Responder r) { r.send({}); }, {.needs_length = true});
  server_ = start({}, std::move(router));
  EXPECT_EQ(ask(*server_, "POST /x HTTP/1.1\r\nHost: h\r\n\r\n").status, 411);
  EXPECT_EQ(ask(*server_, post("/x", "")).status, 200);
}

TEST_F(ServerTest, RouteLimitsItsBody) {
  Router router;
  router.add("POST", "/x", [](const Request&, Responder r) { r.send({}); }, {.max_body_bytes = 3});
  server_ = start({}, std::move(router));
  EXPECT_EQ(ask(*server_, post("/x", "abc")).status, 200);
  EXPECT_EQ(ask(*server_, post("/x", "abcd")).status, 413);
}

TEST_F(ServerTest, HeadHasNoBody) {
  begin();
  RawClient client(server_->port());
  client.send("HEAD /hello HTTP/1.1\r\nHost: h\r\n\r\n" + get("/hello"));
  auto answer = client.answer(true);
  EXPECT_EQ(answer.status, 200);
  EXPECT_THAT(answer.head, HasSubstr("Content-Length: 5\r\n"));
  EXPECT_EQ(client.answer().body, "hello");
}

TEST_F(ServerTest, ContinueIsSentBeforeTheBody) {
  begin();
  RawClient client(server_->port());
  std::string fields =
      "POST /echo HTTP/1.1\r\nHost: h\r\nExpect: 100-continue\r\nContent-Length: 2\r\n\r\n";
  client.send(fields);
  EXPECT_EQ(client.until("\r\n\r\n"), "HTTP/1.1 100 Continue\r\n\r\n");
  client.send("ab");
  EXPECT_EQ(client.answer().body, "ab");
  // A body that is refused is not asked for.
  client.send(
      "POST /nothing HTTP/1.1\r\nHost: h\r\nExpect: 100-continue\r\nContent-Length: 2\r\n\r\n");
  EXPECT_EQ(client.answer().status, 404);
  RawClient large(server_->port());
  large.send(
      "POST /echo HTTP/1.1\r\nHost: h\r\nExpect: 100-continue\r\nContent-Length: 99999999\r\n\r\n");
  EXPECT_EQ(large.answer().status, 413);
}

TEST_F(ServerTest, ChunkedUploadInPieces) {
  begin();
  RawClient client(server_->port());
  client.send("POST /echo HTTP/1.1\r\nHost: h\r\nTransfer-Encoding: chunked\r\n\r\n");
  for (int i = 0; i < 100; ++i) client.send("5\r\nhello\r\n");
  client.send("0\r\n\r\n");
  EXPECT_EQ(client.answer().body.size(), 500U);
}

TEST_F(ServerTest, LargeBodyBothWays) {
  begin();
  std::string body(8U << 20U, 'x');
  body[12345] = 'y';
  EXPECT_EQ(ask(*server_, post("/echo", body)).body, body);
}

TEST_F(ServerTest, KeepAlive) {
  ServerOptions options;
  options.metrics = &metrics_;
  begin(options);
  RawClient client(server_->port());
  for (int i = 0; i < 5; ++i) {
    client.send(get("/hello"));
    EXPECT_EQ(client.answer().body, "hello");
  }
  client.send(get("/nothing"));
  EXPECT_EQ(client.answer().status, 404);
  client.send(get("/hello", "Connection: close\r\n"));
  auto answer = client.answer();
  EXPECT_THAT(answer.head, HasSubstr("Connection: close\r\n"));
  EXPECT_TRUE(client.closed());
  EXPECT_EQ(metrics_.counter("kw_http_connections_total", "").value(), 1U);
}

TEST_F(ServerTest, Http10) {
  begin();
  RawClient client(server_->port());
  client.send("GET /hello HTTP/1.0\r\nConnection: keep-alive\r\n\r\n");
  EXPECT_THAT(client.answer().head, HasSubstr("Connection: keep-alive\r\n"));
  client.send("GET /hello HTTP/1.0\r\n\r\n");
  EXPECT_THAT(client.answer().head, HasSubstr("Connection: close\r\n"));
  EXPECT_TRUE(client.closed());
}

TEST_F(ServerTest, PipelinedRequestsAreAnsweredInOrder) {
  begin();
  RawClient client(server_->port());
  client.send(post("/wait", "first") + post("/echo", "second") + get("/hello"));
  Responder first = waiting_.take();
  first.send(text_response("first"));
  EXPECT_EQ(client.answer().body, "first");
  EXPECT_EQ(client.answer().body, "second");
  EXPECT_EQ(client.answer().body, "hello");
}

TEST_F(ServerTest, RequestsPerConnection) {
  ServerOptions options;
  options.limits.requests_per_connection = 2;
  begin(options);
  RawClient client(server_->port());
  client.send(get("/hello") + get("/hello") + get("/hello"));
  EXPECT_THAT(client.answer().head, Not(HasSubstr("Connection: close")));
  EXPECT_THAT(client.answer().head, HasSubstr("Connection: close"));
  EXPECT_TRUE(client.closed());
}

TEST_F(ServerTest, HandlerThatThrowsOrForgets) {
  begin();
  RawClient client(server_->port());
  client.send(get("/throw"));
  auto answer = client.answer();
  EXPECT_EQ(answer.status, 500);
  EXPECT_THAT(answer.body, Not(HasSubstr("oh no")));
  client.send(get("/wait"));
  {
    Responder forgotten = waiting_.take();
  }
  EXPECT_EQ(client.answer().status, 500);
  client.send(get("/hello"));
  EXPECT_EQ(client.answer().status, 200);
}

TEST_F(ServerTest, FieldsThatWouldForgeAnAnswerAreNotSent) {
  begin();
  for (auto [name, value] : {std::pair("X", "a\r\nSet-Cookie: b"), std::pair("X Y", "a"),
                             std::pair("X\r\nY", "a"), std::pair("", "a")}) {
    RawClient client(server_->port());
    client.send(get("/wait"));
    Response bad;
    bad.headers.add(name, value);
    waiting_.take().send(std::move(bad));
    auto answer = client.answer();
    EXPECT_EQ(answer.status, 500);
    EXPECT_THAT(answer.head, Not(HasSubstr("Set-Cookie")));
  }
  // The framing is the server's.
  RawClient client(server_->port());
  client.send(get("/wait"));
  Response own;
  own.headers.add("content-length", "3");
  own.headers.add("transfer-encoding", "chunked");
  own.body = "hello";
  waiting_.take().send(std::move(own));
  auto answer = client.answer();
  EXPECT_EQ(answer.body, "hello");
  EXPECT_THAT(answer.head, Not(HasSubstr("content-length")));
  EXPECT_THAT(answer.head, Not(HasSubstr("chunked")));
}

TEST_F(ServerTest, GateRefusesBeforeTheBody) {
  auto keys = ApiKeys::make({"sk-0123456789abcdef"});
  ServerOptions options;
  options.gate = [&](const Request& request) { return keys->refuse(request); };
  begin(options);
  RawClient client(server_->port());
  client.send("POST /echo HTTP/1.1\r\nHost: h\r\nContent-Length: 1000000\r\n\r\n");
  EXPECT_EQ(client.answer().status, 401);
  EXPECT_EQ(ask(*server_, post("/echo", "x", "Authorization: Bearer sk-0123456789abcdef\r\n")).body,
            "x");
  // Who has no key does not learn which paths there are.
  EXPECT_EQ(ask(*server_, get("/nothing")).status, 401);
}

TEST_F(ServerTest, GateThatThrows) {
  ServerOptions options;
  options.gate = [](const Request&) -> std::optional<Response> { throw std::runtime_error("x"); };
  begin(options);
  EXPECT_EQ(ask(*server_, get("/hello")).status, 500);
}

TEST_F(ServerTest, HandlersOnTheIoThread) {
  ServerOptions options;
  options.handler_threads = 0;
  begin(options);
  RawClient client(server_->port());
  for (int i = 0; i < 3; ++i) {
    client.send(post("/echo", "abc"));
    EXPECT_EQ(client.answer().body, "abc");
  }
  client.send(get("/throw"));
  EXPECT_EQ(client.answer().status, 500);
}

TEST_F(ServerTest, FullQueueIs503) {
  ServerOptions options;
  options.handler_threads = 1;
  options.waiting_requests = 1;
  std::latch entered(1);
  std::latch go(1);
  Router router;
  router.add("GET", "/block", [&](const Request&, Responder r) {
    entered.count_down();
    go.wait();
    r.send({});
  });
  router.add("GET", "/quick", [](const Request&, Responder r) { r.send({}); });
  options.metrics = &metrics_;
  server_ = start(options, std::move(router));
  RawClient running(server_->port());
  running.send(get("/block"));
  entered.wait();
  // Of two more one waits in the queue, the other finds it full.
  RawClient a(server_->port());
  RawClient b(server_->port());
  a.send(get("/quick"));
  b.send(get("/quick"));
  std::atomic<int> refused = 0;
  {
    std::jthread one([&] {
      refused += a.answer().status == 503 ? 1 : 0;
      go.count_down(0);
    });
    std::jthread two([&] { refused += b.answer().status == 503 ? 1 : 0; });
    while (metrics_
               .counter("kw_http_requests_total", "",
                        {{"route", "/quick"}, {"method", "GET"}, {"status", "503"}})
               .value() == 0)
      std::this_thread::yield();
    go.count_down();
  }
  EXPECT_EQ(refused, 1);
  EXPECT_EQ(running.answer().status, 200);
}

TEST_F(ServerTest, ManyConnectionsAtOnce) {
  ServerOptions options;
  options.limits.connections_per_address = 0;
  options.io_threads = 2;
  begin(options);
  constexpr int kMany = 200;
  std::vector<std::unique_ptr<RawClient>> clients;
  for (int i = 0; i < kMany; ++i) clients.push_back(std::make_unique<RawClient>(server_->port()));
  for (auto& client : clients) client->send(get("/wait"));
  // All are under way together.
  std::vector<Responder> responders;
  for (int i = 0; i < kMany; ++i) responders.push_back(waiting_.take());
  for (Responder& responder : responders) responder.send(text_response("done"));
  for (auto& client : clients) EXPECT_EQ(client->answer().body, "done");
}

TEST_F(ServerTest, DrainFinishesWhatRunsAndRefusesWhatIsNew) {
  begin();
  RawClient running(server_->port());
  RawClient idle(server_->port());
  idle.send(get("/hello"));
  EXPECT_EQ(idle.answer().status, 200);
  running.send(get("/wait"));
  Responder responder = waiting_.take();
  std::stop_token stop = responder.stop_token();
  bool finished = false;
  std::jthread stopping([&] { finished = server_->stop(kLong); });
  // A request that was let in before the drain began would take the Responder's place.
  for (;;) {
    idle.send(get("/hello"));
    auto answer = idle.answer();
    if (answer.status == 0) break;  // the drain closed the connection between two requests
    if (answer.status == 503) {
      EXPECT_THAT(answer.head, HasSubstr("Retry-After: "));
      EXPECT_THAT(answer.head, HasSubstr("Connection: close"));
      break;
    }
    // Let in before the drain, answered in it: then the connection ends here.
    if (answer.head.find("Connection: close") != std::string::npos) break;
  }
  EXPECT_FALSE(stop.stop_requested());
  responder.send(text_response("whole"));
  EXPECT_EQ(running.answer().body, "whole");
  stopping.join();
  EXPECT_TRUE(finished);
  EXPECT_TRUE(running.closed());
}

TEST_F(ServerTest, StopCutsWhatDoesNotEndInTime) {
  begin();
  RawClient running(server_->port());
  running.send(get("/wait"));
  Responder responder = waiting_.take();
  EXPECT_FALSE(server_->stop(std::chrono::milliseconds(1)));
  EXPECT_TRUE(responder.stop_token().stop_requested());
  EXPECT_EQ(running.until_closed(), "");
  // Answering after the server has gone does nothing.
  server_.reset();
  responder.send(text_response("late"));
}

TEST_F(ServerTest, MetricsAndLog) {
  std::mutex mutex;
  std::vector<std::string> lines;
  ServerOptions options;
  options.metrics = &metrics_;
  options.access_log = [&](std::string_view line) {
    std::lock_guard lock(mutex);
    lines.emplace_back(line);
  };
  begin(options);
  ask(*server_, post("/echo?key=secret", "body-secret", "Authorization: Bearer secret\r\n"));
  ask(*server_, "BREW /a%22b HTTP/1.1\r\nHost: h\r\n\r\n");
  server_->stop(kLong);
  ASSERT_EQ(lines.size(), 2U);
  EXPECT_THAT(lines[0], ::testing::MatchesRegex(
                            "http: 127\\.0\\.0\\.1 \"POST\" \"/echo\" 200 [0-9]+ B [0-9.]+ ms"));
  EXPECT_THAT(lines[1], HasSubstr("\"BREW\" \"/a%22b\" 404"));
  std::string text = metrics_.text();
  EXPECT_THAT(
      text,
      HasSubstr("kw_http_requests_total{route=\"/echo\",method=\"POST\",status=\"200\"} 1\n"));
  EXPECT_THAT(
      text,
      HasSubstr("kw_http_requests_total{route=\"none\",method=\"other\",status=\"404\"} 1\n"));
  EXPECT_THAT(text, HasSubstr("kw_http_request_seconds_count{route=\"/echo\"} 1\n"));
  EXPECT_THAT(text, HasSubstr("kw_http_connections_open 0\n"));
  EXPECT_THAT(text, HasSubstr("kw_http_requests_running 0\n"));
  EXPECT_THAT(text, Not(HasSubstr("secret")));
}

TEST(ServerStart, Refusals) {
  auto refused = [](ServerOptions options) {
    auto server = Server::start(std::move(options), Router());
    return server ? ErrorCode::kInternal : server.error().code();
  };
  ServerOptions options;
  options.address = "localhost";
  EXPECT_EQ(refused(options), ErrorCode::kInvalidArgument);
  options.address = "0.0.0.0";
  EXPECT_EQ(refused(options), ErrorCode::kInvalidArgument) << "plaintext to the outside";
  auto first = Server::start({}, Router());
  ASSERT_TRUE(first);
  options.address = "127.0.0.1";
  options.port = (*first)->port();
  EXPECT_EQ(refused(options), ErrorCode::kUnavailable);
  options.tls = TlsFiles{"/nonexistent.crt", "/nonexistent.key"};
  EXPECT_EQ(refused(options), ErrorCode::kInvalidArgument);
}

}  // namespace
}  // namespace kw::net
