// Clients that ask too much, or too slowly: each meets its limit, and others are served.
#include <algorithm>
#include <future>
#include <string>
#include <thread>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "net/replies.h"
#include "net/server.h"
#include "net/testing/raw_client.h"
#include "net/testing/test_server.h"

namespace kw::net {
namespace {

using std::chrono::milliseconds;
using testing::ask;
using testing::Channel;
using ::testing::HasSubstr;
using ::testing::Not;
using testing::RawClient;
using testing::start;
using testing::usual_routes;

const std::string kGet = "GET /hello HTTP/1.1\r\nHost: h\r\n\r\n";

class LimitsTest : public ::testing::Test {
 protected:
  // Long ones, so that only the limit under test can end a connection before RawClient gives up.
  LimitsTest() {
    Limits& limits = options_.limits;
    limits.header_timeout = limits.body_timeout = limits.write_timeout = limits.idle_timeout =
        limits.request_deadline = std::chrono::minutes(5);
    options_.metrics = &metrics_;
  }
  void begin() { server_ = start(options_, usual_routes(waiting_)); }
  RawClient connect(int receive_buffer = 0) { return RawClient(server_->port(), receive_buffer); }

  MetricRegistry metrics_;
  ServerOptions options_;
  Channel<Responder> waiting_;
  std::unique_ptr<Server> server_;
};

TEST_F(LimitsTest, RefusalsOfMalformedRequestsAreCounted) {
  begin();
  EXPECT_EQ(ask(*server_, "nonsense\r\n\r\n").status, 400);
  server_->stop(std::chrono::seconds(30));
  EXPECT_THAT(metrics_.text(), HasSubstr("{route=\"none\",method=\"other\",status=\"400\"} 1\n"));
}

TEST_F(LimitsTest, SlowHeaderIs408) {
  options_.limits.header_timeout = milliseconds(500);
  begin();
  RawClient client = connect();
  client.send("GET /hello HT");
  EXPECT_EQ(client.answer().status, 408);
  EXPECT_TRUE(client.closed());
}

// All of them are due at the end of the first one's record, and another client's request comes at
// the end of the second one's.
TEST_F(LimitsTest, ManyLateClientsDoNotHoldUpAnother) {
  constexpr int kLate = 200;
  constexpr milliseconds kTime{500};
  options_.limits.header_timeout = kTime;
  options_.limits.connections_per_address = 0;
  options_.handler_threads = 0;
  std::vector<std::string> records;  // behind the first late client's, with it
  std::promise<void> all_are_there, asks, has_asked;
  options_.access_log = [&](std::string_view record) {
    if (records.empty() && record.find(" 408 ") == record.npos) return;
    records.emplace_back(record);
    if (records.size() == 1) {
      all_are_there.get_future().wait();
      std::this_thread::sleep_for(kTime * 2);
    }
    if (records.size() != 2) return;
    asks.set_value();
    has_asked.get_future().wait();
  };
  begin();
  std::vector<RawClient> late;
  RawClient other = connect();
  other.send(kGet);
  EXPECT_EQ(other.answer().status, 200);  // now it may be idle for longer
  for (int i = 0; i < kLate; ++i) {
    late.push_back(connect());
    late.back().send("GET /hello HT");
  }
  all_are_there.set_value();
  asks.get_future().wait();
  other.send(kGet);
  has_asked.set_value();
  EXPECT_EQ(other.answer().status, 200);
  for (RawClient& each : late) EXPECT_EQ(each.answer().status, 408);
  server_->stop(std::chrono::seconds(30));
  const auto found = std::ranges::find_if(
      records, [](const std::string& record) { return record.find(" 200 ") != record.npos; });
  EXPECT_LT(found - records.begin(), kLate / 4);
}

TEST_F(LimitsTest, DrippingBytesDoesNotHelp) {
  options_.limits.header_timeout = milliseconds(500);
  begin();
  RawClient client = connect();
  client.send("GET /hello HTTP/1.1\r\nX: ");
  // The clock runs from the first byte, whatever follows.
  int dripped = 0;
  while (dripped < 10000 && !client.readable(milliseconds(1)) && client.send("a")) ++dripped;
  EXPECT_LT(dripped, 10000);
  EXPECT_EQ(client.answer().status, 408);
}

TEST_F(LimitsTest, SilentNewConnectionIsClosed) {
  options_.limits.header_timeout = milliseconds(50);
  begin();
  EXPECT_EQ(connect().until_closed(), "");
}

TEST_F(LimitsTest, IdleConnectionIsClosedWithoutAWord) {
  options_.limits.idle_timeout = milliseconds(50);
  begin();
  RawClient client = connect();
  client.send(kGet);
  EXPECT_EQ(client.answer().status, 200);
  EXPECT_EQ(client.until_closed(), "");
}

TEST_F(LimitsTest, SlowBodyIs408) {
  options_.limits.body_timeout = milliseconds(50);
  begin();
  RawClient client = connect();
  client.send("POST /echo HTTP/1.1\r\nHost: h\r\nContent-Length: 10\r\n\r\n123");
  EXPECT_EQ(client.answer().status, 408);
  RawClient chunked = connect();
  chunked.send(
      "POST /echo HTTP/1.1\r\nHost: h\r\nTransfer-Encoding: chunked\r\n\r\n5\r\nhello\r\n");
  EXPECT_EQ(chunked.answer().status, 408);
}

TEST_F(LimitsTest, BytesReceivedBuyTime) {
  options_.limits.body_timeout = milliseconds(50);
  options_.limits.body_bytes_per_second = 1;
  begin();
  RawClient client = connect();
  client.send("POST /echo HTTP/1.1\r\nHost: h\r\nContent-Length: 101\r\n\r\n" +
              std::string(100, 'x'));
  // A hundred seconds: no 408 comes after body_timeout.
  EXPECT_FALSE(client.readable(milliseconds(100)));
  client.send("x");
  EXPECT_EQ(client.answer().body.size(), 101U);
}

TEST_F(LimitsTest, RequestDeadlineIs504AndStops) {
  options_.limits.request_deadline = milliseconds(50);
  begin();
  RawClient client = connect();
  client.send("GET /wait HTTP/1.1\r\nHost: h\r\n\r\n");
  Responder responder = waiting_.take();
  EXPECT_EQ(client.answer().status, 504);
  EXPECT_TRUE(responder.stop_token().stop_requested());
  responder.send(text_response("late"));
  EXPECT_TRUE(client.closed());
}

TEST_F(LimitsTest, RequestDeadlineCutsAStream) {
  options_.limits.request_deadline = std::chrono::seconds(1);
  begin();
  RawClient client = connect();
  client.send("GET /wait HTTP/1.1\r\nHost: h\r\n\r\n");
  ResponseStream stream = waiting_.take().stream({});
  stream.write("some");
  std::string all = client.until_closed();
  EXPECT_THAT(all, HasSubstr("4\r\nsome\r\n"));
  EXPECT_THAT(all, Not(HasSubstr("0\r\n\r\n")));
  EXPECT_EQ(stream.try_write("more"), Wrote::kGone);
}

TEST_F(LimitsTest, ConnectionsPerAddress) {
  options_.limits.connections_per_address = 2;
  begin();
  {
    RawClient a = connect();
    RawClient b = connect();
    for (RawClient* client : {&a, &b}) {
      client->send(kGet);
      EXPECT_EQ(client->answer().status, 200);
    }
    RawClient c = connect();
    auto answer = c.answer();
    EXPECT_EQ(answer.status, 429);
    EXPECT_THAT(answer.head, HasSubstr("Retry-After: 1\r\n"));
    EXPECT_TRUE(c.closed());
  }
  // Their places are free again once the server has seen them go.
  Gauge& open = metrics_.gauge("kw_http_connections_open", "");
  while (open.value() != 0) std::this_thread::yield();
  EXPECT_EQ(ask(*server_, kGet).status, 200);
  EXPECT_THAT(metrics_.text(),
              HasSubstr("kw_http_connections_refused_total{reason=\"address\"} 1\n"));
}

TEST_F(LimitsTest, ConnectionsInAll) {
  options_.limits.connections = 1;
  begin();
  RawClient first = connect();
  first.send(kGet);
  EXPECT_EQ(first.answer().status, 200);
  EXPECT_EQ(connect().answer().status, 503);
}

TEST_F(LimitsTest, BodiesInAll) {
  options_.limits.body_bytes_in_all = 1500;
  begin();
  std::string post =
      "POST /wait HTTP/1.1\r\nHost: h\r\nContent-Length: 1000\r\n\r\n" + std::string(1000, 'x');
  RawClient first = connect();
  first.send(post);
  Responder responder = waiting_.take();
  EXPECT_EQ(ask(*server_, post).status, 503);
  responder.send({});
  EXPECT_EQ(first.answer().status, 200);
  // Its place is free again.
  first.send(post);
  waiting_.take().send({});
  EXPECT_EQ(first.answer().status, 200);
}

TEST_F(LimitsTest, RefusedUploadStillGetsItsAnswer) {
  options_.limits.body_bytes = 1000;
  begin();
  RawClient client = connect();
  std::string head = "POST /echo HTTP/1.1\r\nHost: h\r\nContent-Length: 3000000\r\n\r\n";
  client.send(head + std::string(3000000, 'x'));  // may be cut short
  EXPECT_EQ(client.answer().status, 413);
}

TEST_F(LimitsTest, SlowReaderOfAStreamFillsABoundedBuffer) {
  options_.limits.send_buffer_bytes = 65536;
  options_.socket_buffer_bytes = 4096;
  options_.limits.write_timeout = std::chrono::seconds(2);
  begin();
  RawClient client = connect(4096);
  client.send("GET /wait HTTP/1.1\r\nHost: h\r\n\r\n");
  ResponseStream stream = waiting_.take().stream({});
  std::string piece(1024, 'x');
  Wrote wrote = Wrote::kTaken;
  std::size_t taken = 0;
  // The client reads nothing: soon nothing more is taken, and then the client is given up.
  for (; wrote != Wrote::kFull && taken < (1U << 24U); wrote = stream.try_write(piece))
    taken += piece.size();
  EXPECT_EQ(wrote, Wrote::kFull);
  EXPECT_LE(stream.waiting_bytes(), 65536U + piece.size());
  // What the system's own buffers still take makes room first.
  int more = 0;
  while (more < 4096 && stream.write(piece)) ++more;
  EXPECT_LT(more, 4096);
  EXPECT_EQ(stream.try_write(piece), Wrote::kGone);
  EXPECT_TRUE(stream.stop_token().stop_requested());
}

TEST_F(LimitsTest, SlowReaderOfAWholeAnswerIsGivenUp) {
  options_.socket_buffer_bytes = 4096;
  options_.limits.write_timeout = milliseconds(50);
  begin();
  RawClient client = connect(4096);
  client.send("GET /wait HTTP/1.1\r\nHost: h\r\n\r\n");
  waiting_.take().send(text_response(std::string(1U << 22U, 'x')));
  Gauge& open = metrics_.gauge("kw_http_connections_open", "");
  while (open.value() != 0) std::this_thread::yield();
  EXPECT_LT(client.until_closed().size(), 1U << 22U);
}

TEST_F(LimitsTest, PipelinedFloodIsNotRead) {
  begin();
  RawClient client = connect();
  client.send("GET /wait HTTP/1.1\r\nHost: h\r\n\r\n");
  Responder responder = waiting_.take();
  Counter& received = metrics_.counter("kw_http_received_bytes_total", "");
  // Larger than what the server holds back, smaller than what the system does.
  client.send(std::string(200000, 'x'));
  responder.send(text_response("first"));
  EXPECT_EQ(client.answer().body, "first");
  EXPECT_EQ(client.answer().status, 414);
  EXPECT_GT(received.value(), 8192U);
}

}  // namespace
}  // namespace kw::net
