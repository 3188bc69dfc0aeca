// The file's text, what is no such file, and a client that follows one.
#include "service/address_file.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "net/replies.h"
#include "net/self_signed.h"
#include "net/server.h"
#include "os/file.h"
#include "service/service_client.h"

namespace kw::service {
namespace {

using testing::HasSubstr;

TEST(AddressFile, Text) {
  EXPECT_EQ(address_text({"https://node7:8100", "PEM\n"}),
            "{\n \"schema\": 1,\n \"url\": \"https://node7:8100\",\n \"certificate\": "
            "\"PEM\\n\"\n}\n");
  const auto read = address_from_text(address_text({"https://node7:8100", "PEM\n"}));
  ASSERT_TRUE(read) << read.error().message();
  EXPECT_EQ(read->url, "https://node7:8100");
  EXPECT_EQ(read->certificate, "PEM\n");
  EXPECT_EQ(address_from_text(R"({"schema": 1, "url": "http://n:1"})")->certificate, "");
  for (const auto& [text, reason] : std::vector<std::pair<const char*, const char*>>{
           {R"({"schema": 2, "url": "http://n:1"})", "schema"},
           {R"({"url": "http://n:1"})", "schema"},
           {R"({"schema": 1, "url": "n:1"})", "http://"},
           {"{", "line 1"}}) {
    const auto wrong = address_from_text(text);
    ASSERT_FALSE(wrong) << text;
    EXPECT_THAT(wrong.error().message(), HasSubstr(reason));
  }
}

TEST(AddressFile, Words) {
  for (const char* word : {"server.json", "/shared/server", "./server"})
    EXPECT_TRUE(is_address_file(word)) << word;
  for (const char* word : {"http://a/server.json", "https://a", "localhost", "node:8100"})
    EXPECT_FALSE(is_address_file(word)) << word;
}

// Servers that say who they are.
class FollowTest : public testing::Test {
 protected:
  std::unique_ptr<net::Server> start(const std::string& name, bool has_tls) {
    net::Router router;
    router.add("GET", "/name", [name](const net::Request&, net::Responder responder) {
      responder.send(net::json_response({{"name", name}}));
    });
    net::ServerOptions options;
    std::string certificate;
    if (has_tls) {
      options.tls_text =
          net::make_self_signed(name, net::certificate_name("127.0.0.1"), std::chrono::hours(1))
              .value();
      certificate = options.tls_text->certificate;
    }
    auto server = net::Server::start(std::move(options), std::move(router)).value();
    address_ = {server->origin(), certificate};
    return server;
  }
  void write() { ASSERT_TRUE(write_address(file_, address_)); }
  std::string asked(ServiceClient& client) {
    const auto answer = client.call("GET", "/name", nullptr, {});
    return answer ? answer->value("name", "") : std::string(to_string(answer.error().code()));
  }

  os::TempDir folder_ = std::move(os::TempDir::make("kw-address").value());
  std::filesystem::path file_ = folder_.path() / "server.json";
  ServerAddress address_;
};

TEST_F(FollowTest, AClientGoesWhereTheFileSays) {
  auto client = ServiceClient::make({.url = file_.string(), .token = "secret"}).value();
  EXPECT_EQ(asked(*client), "unavailable");  // there is no file yet
  auto first = start("first", true);
  write();
  EXPECT_EQ(asked(*client), "first");
  // A successor with another certificate, before and after it has written its address.
  first.reset();
  EXPECT_EQ(asked(*client), "unavailable");
  auto second = start("second", true);
  EXPECT_EQ(asked(*client), "unavailable");
  write();
  EXPECT_EQ(asked(*client), "second");
  second.reset();
  auto third = start("third", false);
  write();
  EXPECT_EQ(asked(*client), "third");
}

TEST_F(FollowTest, AnotherCertificateAtTheOldAddressIsWaitedFor) {
  auto client = ServiceClient::make({.url = file_.string()}).value();
  auto server = start("first", true);
  address_.certificate =
      net::make_self_signed("other", "IP:127.0.0.1", std::chrono::hours(1))->certificate;
  write();
  EXPECT_EQ(asked(*client), "unavailable");
}

TEST_F(FollowTest, AWrongFileAndAPlaintextTokenAreErrors) {
  auto client = ServiceClient::make({.url = file_.string(), .token = "secret"}).value();
  address_ = {"http://192.0.2.1:8100", ""};
  write();
  EXPECT_EQ(asked(*client), "invalid_argument");
  ASSERT_TRUE(os::write_file_atomic(file_, "text"));
  EXPECT_EQ(asked(*client), "invalid_argument");
}

}  // namespace
}  // namespace kw::service
