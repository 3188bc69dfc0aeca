// Streamed answers: framing, back-pressure, and clients that leave.
#include <latch>
#include <thread>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "net/client.h"
#include "net/replies.h"
#include "net/server.h"
#include "net/testing/raw_client.h"
#include "net/testing/test_server.h"

namespace kw::net {
namespace {

using testing::Channel;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using testing::RawClient;
using testing::start;
using testing::usual_routes;

const std::string kWait = "GET /wait HTTP/1.1\r\nHost: h\r\n\r\n";

class StreamTest : public ::testing::Test {
 protected:
  void begin(ServerOptions options = {}) {
    options.metrics = &metrics_;
    server_ = start(std::move(options), usual_routes(waiting_));
  }
  // Waits for the stop of a token without polling it.
  static void wait_for_stop(const std::stop_token& token) {
    Channel<bool> stopped;
    std::stop_callback callback(token, [&] { stopped.put(true); });
    stopped.take();
  }

  MetricRegistry metrics_;
  Channel<Responder> waiting_;
  std::unique_ptr<Server> server_;
};

TEST_F(StreamTest, PiecesArriveAsTheyAreWritten) {
  begin();
  RawClient client(server_->port());
  client.send(kWait);
  ResponseStream stream = waiting_.take().stream(event_stream_head());
  std::string head = client.until("\r\n\r\n");
  EXPECT_THAT(head, HasSubstr("Content-Type: text/event-stream\r\n"));
  EXPECT_THAT(head, HasSubstr("Transfer-Encoding: chunked\r\n"));
  EXPECT_TRUE(stream.write(format_event({"", "one", ""})));
  EXPECT_EQ(client.until("\n\n\r\n"), "b\r\ndata: one\n\n\r\n");
  EXPECT_EQ(stream.try_write("x"), Wrote::kTaken);
  EXPECT_EQ(client.until("x\r\n"), "1\r\nx\r\n");
  EXPECT_EQ(stream.try_write(""), Wrote::kTaken);  // no chunk: an empty one would be the end
  stream.finish();
  EXPECT_EQ(client.until("\r\n\r\n"), "0\r\n\r\n");
  // And the connection goes on.
  client.send("GET /hello HTTP/1.1\r\nHost: h\r\n\r\n");
  EXPECT_EQ(client.answer().body, "hello");
}

TEST_F(StreamTest, FirstPieceWithTheHead) {
  begin();
  RawClient client(server_->port());
  client.send(kWait);
  ResponseStream stream = waiting_.take().stream(text_response("first"));
  stream.finish();
  EXPECT_EQ(client.answer().body, "first");
}

TEST_F(StreamTest, Http10EndsWithTheConnection) {
  begin();
  RawClient client(server_->port());
  client.send("GET /wait HTTP/1.0\r\nConnection: keep-alive\r\n\r\n");
  ResponseStream stream = waiting_.take().stream({});
  stream.write("a");
  stream.write("b");
  stream.finish();
  std::string all = client.until_closed();
  EXPECT_THAT(all, ::testing::EndsWith("Connection: close\r\n\r\nab"));
}

TEST_F(StreamTest, HeadOfAStream) {
  begin();
  RawClient client(server_->port());
  client.send("HEAD /wait HTTP/1.1\r\nHost: h\r\n\r\n");
  ResponseStream stream = waiting_.take().stream({});
  stream.write("not sent");
  stream.finish();
  EXPECT_EQ(client.answer(true).status, 200);
  client.send("GET /hello HTTP/1.1\r\nHost: h\r\n\r\n");
  EXPECT_EQ(client.answer().body, "hello");
}

TEST_F(StreamTest, UnfinishedStreamIsCut) {
  begin();
  RawClient client(server_->port());
  client.send(kWait);
  {
    ResponseStream stream = waiting_.take().stream({});
    stream.write("half");
    EXPECT_THAT(client.until("half\r\n"), HasSubstr("half"));
  }
  EXPECT_EQ(client.until_closed(), "");
}

TEST_F(StreamTest, LeavingClientStopsTheHandler) {
  begin();
  for (bool reset : {false, true}) {
    // Before the head, and in the middle of the stream.
    for (bool streaming : {false, true}) {
      auto client = std::make_unique<RawClient>(server_->port());
      client->send(kWait);
      Responder responder = waiting_.take();
      std::stop_token token = responder.stop_token();
      EXPECT_FALSE(token.stop_requested());
      std::optional<ResponseStream> stream;
      if (streaming) {
        stream.emplace(responder.stream({}));
        EXPECT_TRUE(stream->write("x"));
        client->until("x\r\n");
      }
      if (reset) client->reset();
      client.reset();
      wait_for_stop(token);
      if (stream) {
        while (stream->write("y")) {
        }
        EXPECT_EQ(stream->try_write("y"), Wrote::kGone);
      } else {
        responder.send(text_response("nobody reads this"));
      }
    }
  }
  server_->stop(std::chrono::seconds(30));
  EXPECT_THAT(metrics_.text(), HasSubstr("status=\"499\"} 4\n"));
}

TEST_F(StreamTest, NoStopAfterTheAnswer) {
  begin();
  RawClient client(server_->port());
  client.send(kWait);
  Responder responder = waiting_.take();
  std::stop_token token = responder.stop_token();
  responder.send(text_response("x"));
  EXPECT_EQ(client.answer().body, "x");
  client.reset();
  server_->stop(std::chrono::seconds(30));
  EXPECT_FALSE(token.stop_requested());
}

TEST_F(StreamTest, WriterWaitsForASlowReader) {
  ServerOptions options;
  options.limits.send_buffer_bytes = 4096;
  options.socket_buffer_bytes = 4096;
  begin(options);
  RawClient client(server_->port(), 4096);
  client.send(kWait);
  ResponseStream stream = waiting_.take().stream({});
  constexpr int kPieces = 2000;
  std::string piece(1000, 'p');
  std::jthread writer([&] {
    for (int i = 0; i < kPieces; ++i) {
      EXPECT_TRUE(stream.write(piece));
      EXPECT_LE(stream.waiting_bytes(), 4096 + piece.size());
    }
    stream.finish();
  });
  EXPECT_EQ(client.answer().body.size(), kPieces * piece.size());
}

TEST_F(StreamTest, ManyWritersOneIoThread) {
  ServerOptions options;
  options.limits.connections_per_address = 0;
  begin(options);
  constexpr int kStreams = 50;
  constexpr int kEvents = 100;
  std::vector<std::unique_ptr<RawClient>> clients;
  std::vector<ResponseStream> streams;
  for (int i = 0; i < kStreams; ++i) {
    clients.push_back(std::make_unique<RawClient>(server_->port()));
    clients.back()->send(kWait);
    streams.push_back(waiting_.take().stream(event_stream_head()));
  }
  // As a model's scheduler does: one step gives every stream a piece, and never waits.
  std::jthread scheduler([&] {
    for (int event = 0; event < kEvents; ++event) {
      for (ResponseStream& stream : streams)
        EXPECT_EQ(stream.try_write(format_event({"", std::to_string(event), ""})), Wrote::kTaken);
    }
    for (ResponseStream& stream : streams) stream.finish();
  });
  for (auto& client : clients) {
    std::string body = client->answer().body;
    int expected = 0;
    SseParser parser;
    ASSERT_TRUE(parser.feed(body, [&](const SseEvent& event) {
      EXPECT_EQ(event.data, std::to_string(expected++));
      return true;
    }));
    EXPECT_EQ(expected, kEvents);
  }
}

TEST_F(StreamTest, ServersEndStopsStreams) {
  begin();
  RawClient client(server_->port());
  client.send(kWait);
  ResponseStream stream = waiting_.take().stream({});
  std::jthread writer([&] {
    while (stream.write(std::string(10000, 'x'))) {
    }
  });
  EXPECT_FALSE(server_->stop(std::chrono::milliseconds(1)));
  writer.join();
  EXPECT_TRUE(stream.stop_token().stop_requested());
  server_.reset();
  EXPECT_EQ(stream.try_write("x"), Wrote::kGone);
}

}  // namespace
}  // namespace kw::net
