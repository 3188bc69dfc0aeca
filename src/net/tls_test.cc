// TLS between our client and our server, with certificates made here.
#include <thread>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "net/client.h"
#include "net/server.h"
#include "net/testing/raw_client.h"
#include "net/testing/self_signed.h"
#include "net/testing/test_server.h"
#include "os/file.h"

namespace kw::net {
namespace {

using testing::Channel;
using ::testing::HasSubstr;
using ::testing::Not;
using testing::RawClient;

class TlsTest : public ::testing::Test {
 protected:
  TlsTest() {
    testing::write_self_signed(folder_.path(), "good", "DNS:localhost,IP:127.0.0.1");
    testing::write_self_signed(folder_.path(), "other", "DNS:localhost,IP:127.0.0.1");
    testing::write_self_signed(folder_.path(), "elsewhere", "DNS:example.com");
  }
  void begin(const std::string& certificate, Limits limits = {}) {
    ServerOptions options;
    options.limits = limits;
    options.tls =
        TlsFiles{folder_.path() / (certificate + ".crt"), folder_.path() / (certificate + ".key")};
    server_ = testing::start(std::move(options), testing::usual_routes(waiting_));
  }
  std::unique_ptr<Client> client(const std::string& trusted) {
    ClientOptions options;
    if (!trusted.empty()) options.ca_file = folder_.path() / (trusted + ".crt");
    return std::move(Client::make(options).value());
  }

  os::TempDir folder_ = std::move(os::TempDir::make("kw-tls").value());
  Channel<Responder> waiting_;
  std::unique_ptr<Server> server_;
};

TEST_F(TlsTest, TrustedCertificate) {
  begin("good");
  auto trusting = client("good");
  for (const std::string& origin :
       {server_->origin(), "https://localhost:" + std::to_string(server_->port())}) {
    for (int i = 0; i < 3; ++i) {
      auto answer = trusting->get(origin + "/hello");
      ASSERT_TRUE(answer) << answer.error().message();
      EXPECT_EQ(answer->body, "hello");
    }
  }
  ClientRequest large;
  large.method = "POST";
  large.url = server_->origin() + "/echo";
  large.body = std::string(1U << 20U, 'x');
  auto answer = trusting->send(large);
  ASSERT_TRUE(answer) << answer.error().message();
  EXPECT_EQ(answer->body, large.body);
}

TEST_F(TlsTest, UnknownSignerIsRefused) {
  begin("good");
  for (const char* trusted : {"other", ""}) {
    auto answer = client(trusted)->get(server_->origin() + "/hello");
    ASSERT_FALSE(answer);
    EXPECT_EQ(answer.error().code(), ErrorCode::kPermissionDenied) << answer.error().message();
    EXPECT_THAT(answer.error().message(), HasSubstr("127.0.0.1:"));
    EXPECT_THAT(answer.error().message(), HasSubstr("not trusted"));
  }
}

TEST_F(TlsTest, OtherNameIsRefused) {
  begin("elsewhere");
  auto answer = client("elsewhere")->get(server_->origin() + "/hello");
  ASSERT_FALSE(answer);
  EXPECT_EQ(answer.error().code(), ErrorCode::kPermissionDenied) << answer.error().message();
}

TEST_F(TlsTest, PlaintextOnATlsPort) {
  Limits limits;
  limits.header_timeout = std::chrono::milliseconds(50);
  begin("good", limits);
  RawClient plain(server_->port());
  plain.send("GET / HTTP/1.1\r\nHost: h\r\n\r\n");
  EXPECT_THAT(plain.until_closed(), Not(HasSubstr("HTTP/1.1")));
  // A client that says nothing is not waited for.
  EXPECT_EQ(RawClient(server_->port()).until_closed(), "");
  auto answer = client("")->get("http://127.0.0.1:" + std::to_string(server_->port()));
  EXPECT_FALSE(answer);
}

TEST_F(TlsTest, StreamAndLeavingClient) {
  begin("good");
  auto trusting = client("good");
  ClientRequest request;
  request.url = server_->origin() + "/wait";
  std::jthread handler([&] {
    ResponseStream stream = waiting_.take().stream(event_stream_head());
    while (stream.write(format_event({"", "tick", ""}))) {
    }
    EXPECT_TRUE(stream.stop_token().stop_requested());
  });
  int seen = 0;
  auto answer = trusting->events(request, [&](const SseEvent&) { return ++seen < 10; });
  ASSERT_TRUE(answer) << answer.error().message();
  EXPECT_FALSE(answer->complete);
  EXPECT_EQ(seen, 10);
}

TEST_F(TlsTest, KeyOfAnotherCertificate) {
  ServerOptions options;
  options.tls = TlsFiles{folder_.path() / "good.crt", folder_.path() / "other.key"};
  auto server = Server::start(options, Router());
  ASSERT_FALSE(server);
  EXPECT_EQ(server.error().code(), ErrorCode::kInvalidArgument);
  EXPECT_THAT(server.error().message(), HasSubstr("other.key"));
}

}  // namespace
}  // namespace kw::net
