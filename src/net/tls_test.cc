// TLS between our client and our server, with certificates made here.
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <thread>
#include <utility>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "net/client.h"
#include "net/self_signed.h"
#include "net/server.h"
#include "net/testing/raw_client.h"
#include "net/testing/self_signed.h"
#include "net/testing/test_server.h"
#include "os/file.h"

namespace kw::net {
namespace {

using ::testing::AllOf;
using testing::Channel;
using ::testing::HasSubstr;
using testing::RawClient;
using ::testing::StartsWith;

class TlsTest : public ::testing::Test {
 protected:
  TlsTest() {
    ::unsetenv("SSL_CERT_FILE");
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
    EXPECT_THAT(answer.error().message(), HasSubstr(*trusted != 0 ? "other.crt" : "the system"));
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
  limits.header_timeout = std::chrono::milliseconds(500);
  begin("good", limits);
  RawClient plain(server_->port());
  plain.send("GET / HTTP/1.1\r\nHost: h\r\n\r\n");
  EXPECT_THAT(plain.until_closed(),
              AllOf(StartsWith("HTTP/1.1 400 "), HasSubstr("must begin with https://")));
  // A client that says nothing is not waited for.
  EXPECT_EQ(RawClient(server_->port()).until_closed(), "");
  auto answer = client("")->get("http://127.0.0.1:" + std::to_string(server_->port()));
  ASSERT_TRUE(answer) << answer.error().message();
  EXPECT_EQ(answer->status, 400);
  // Bytes that are neither TLS nor HTTP get no answer.
  RawClient other(server_->port());
  other.send("hello hello hello");
  EXPECT_EQ(other.until_closed().find("HTTP"), std::string::npos);
}

TEST_F(TlsTest, TlsOnAPlainPort) {
  server_ = testing::start({}, testing::usual_routes(waiting_));
  auto answer =
      client("good")->get("https://127.0.0.1:" + std::to_string(server_->port()) + "/hello");
  ASSERT_FALSE(answer);
  EXPECT_EQ(answer.error().code(), ErrorCode::kUnsupported) << answer.error().message();
  EXPECT_THAT(answer.error().message(), HasSubstr("does not speak TLS"));
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

TEST_F(TlsTest, BadFilesAreNamedWithTheReason) {
  testing::write_self_signed(folder_.path(), "old", "DNS:localhost", std::chrono::seconds(-60));
  std::ofstream(folder_.path() / "text") << "no certificate";
  std::ofstream(folder_.path() / "locked.key") << "-----BEGIN ENCRYPTED PRIVATE KEY-----\n";
  struct Case {
    const char *certificate, *key, *file, *reason;
  };
  for (const Case& each : std::vector<Case>{
           {"good.crt", "other.key", "other.key", "not the key of"},
           {"none.crt", "good.key", "none.crt", "No such file"},
           {"good.crt", "none.key", "none.key", "No such file"},
           {"text", "good.key", "text", "no CERTIFICATE in PEM"},
           {"good.crt", "text", "text", "no PRIVATE KEY in PEM"},
           {"good.crt", "locked.key", "locked.key", "is encrypted"},
           {"old.crt", "old.key", "old.crt", "has expired: 20"},
       }) {
    ServerOptions options;
    options.tls = TlsFiles{folder_.path() / each.certificate, folder_.path() / each.key};
    auto server = Server::start(options, Router());
    ASSERT_FALSE(server) << each.file;
    EXPECT_EQ(server.error().code(), ErrorCode::kInvalidArgument);
    EXPECT_THAT(server.error().message(), AllOf(HasSubstr(each.file), HasSubstr(each.reason)));
  }
  for (const auto& [file, reason] :
       {std::pair{"none.crt", "No such file"}, {"text", "no CERTIFICATE"}}) {
    auto made = Client::make({.ca_file = folder_.path() / file});
    ASSERT_FALSE(made) << file;
    EXPECT_THAT(made.error().message(), AllOf(HasSubstr(file), HasSubstr(reason)));
  }
}

TEST_F(TlsTest, CertificateThatTheClientIsGiven) {
  ServerOptions options;
  options.tls_text =
      make_self_signed("test", certificate_name("127.0.0.1"), std::chrono::hours(1)).value();
  ClientOptions trusting;
  trusting.ca_text = options.tls_text->certificate;
  server_ = testing::start(std::move(options), testing::usual_routes(waiting_));
  auto answer = Client::make(trusting).value()->get(server_->origin() + "/hello");
  EXPECT_TRUE(answer) << answer.error().message();
  EXPECT_FALSE(client("good")->get(server_->origin() + "/hello"));
  EXPECT_EQ(certificate_name("node7"), "DNS:node7");
  EXPECT_FALSE(make_self_signed("test", "node7", std::chrono::hours(1)));
}

TEST_F(TlsTest, TrustedFileOfTheEnvironment) {
  begin("good");
  ::setenv("SSL_CERT_FILE", (folder_.path() / "good.crt").c_str(), 1);
  auto answer = client("")->get(server_->origin() + "/hello");
  auto other = client("other")->get(server_->origin() + "/hello");
  ::unsetenv("SSL_CERT_FILE");
  EXPECT_TRUE(answer) << answer.error().message();
  EXPECT_FALSE(other);  // the option goes before
}

TEST_F(TlsTest, RenewedCertificate) {
  begin("good");
  auto before = client("good");
  ASSERT_TRUE(before->get(server_->origin() + "/hello"));
  const auto copy = [&](const char* from, const char* to) {
    std::filesystem::copy_file(folder_.path() / from, folder_.path() / to,
                               std::filesystem::copy_options::overwrite_existing);
  };
  std::filesystem::copy_file(folder_.path() / "good.crt", folder_.path() / "first.crt");
  copy("other.crt", "good.crt");
  EXPECT_FALSE(server_->renew_tls());  // the key is the old one
  EXPECT_TRUE(client("first")->get(server_->origin() + "/hello"));
  copy("other.key", "good.key");
  ASSERT_TRUE(server_->renew_tls());
  EXPECT_TRUE(before->get(server_->origin() + "/hello"));  // over its kept connection
  EXPECT_FALSE(client("first")->get(server_->origin() + "/hello"));
  EXPECT_TRUE(client("other")->get(server_->origin() + "/hello"));
}

}  // namespace
}  // namespace kw::net
