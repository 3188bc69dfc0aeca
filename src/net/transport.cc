// Sockets through Asio, TLS through its OpenSSL stream.
#include "net/transport.h"

#include <string>
#include <utility>

#include <boost/asio/ip/address.hpp>
#include <boost/asio/post.hpp>
#include <boost/asio/ssl/host_name_verification.hpp>
#include <boost/asio/ssl/stream.hpp>

namespace kw::net {
namespace {

namespace asio = boost::asio;
using tcp = asio::ip::tcp;

class Plain : public Transport {
 public:
  explicit Plain(tcp::socket socket) : socket_(std::move(socket)) {}

  tcp::socket& socket() override { return socket_; }
  bool encrypted() const override { return false; }

  void handshake(std::function<void(ErrorCode)> done) override {
    asio::post(socket_.get_executor(), [done = std::move(done)] { done({}); });
  }
  void read_some(asio::mutable_buffer buffer, Moved done) override {
    socket_.async_read_some(buffer, std::move(done));
  }
  void write_some(asio::const_buffer buffer, Moved done) override {
    socket_.async_write_some(buffer, std::move(done));
  }
  void shutdown(std::function<void(ErrorCode)> done) override {
    ErrorCode ec;
    socket_.shutdown(tcp::socket::shutdown_send, ec);  // NOLINT(bugprone-unused-return-value)
    asio::post(socket_.get_executor(), [done = std::move(done), ec] { done(ec); });
  }

 private:
  tcp::socket socket_;
};

class Tls : public Transport {
 public:
  Tls(tcp::socket socket, asio::ssl::context& context, asio::ssl::stream_base::handshake_type side)
      : stream_(std::move(socket), context), side_(side) {}

  tcp::socket& socket() override { return stream_.next_layer(); }
  bool encrypted() const override { return true; }

  void handshake(std::function<void(ErrorCode)> done) override {
    stream_.async_handshake(side_, std::move(done));
  }
  void read_some(asio::mutable_buffer buffer, Moved done) override {
    stream_.async_read_some(buffer, std::move(done));
  }
  void write_some(asio::const_buffer buffer, Moved done) override {
    stream_.async_write_some(buffer, std::move(done));
  }
  void shutdown(std::function<void(ErrorCode)> done) override {
    stream_.async_shutdown(std::move(done));
  }

  asio::ssl::stream<tcp::socket>& stream() { return stream_; }

 private:
  asio::ssl::stream<tcp::socket> stream_;
  asio::ssl::stream_base::handshake_type side_;
};

}  // namespace

void Transport::close() {
  ErrorCode ec;
  socket().close(ec);  // NOLINT(bugprone-unused-return-value): nothing is left to be done
}

SSL* tls_handle(Transport& transport) {
  return transport.encrypted() ? static_cast<Tls&>(transport).stream().native_handle() : nullptr;
}

std::unique_ptr<Transport> make_plain_transport(tcp::socket socket) {
  return std::make_unique<Plain>(std::move(socket));
}

std::unique_ptr<Transport> make_tls_server(tcp::socket socket, asio::ssl::context& context) {
  return std::make_unique<Tls>(std::move(socket), context, asio::ssl::stream_base::server);
}

std::unique_ptr<Transport> make_tls_client(tcp::socket socket, asio::ssl::context& context,
                                           const std::string& peer_name) {
  auto tls = std::make_unique<Tls>(std::move(socket), context, asio::ssl::stream_base::client);
  boost::system::error_code not_an_address;
  asio::ip::make_address(peer_name, not_an_address);  // NOLINT(bugprone-unused-return-value)
  // SNI has names only (RFC 6066).
  if (not_an_address) SSL_set_tlsext_host_name(tls->stream().native_handle(), peer_name.c_str());
  tls->stream().set_verify_callback(asio::ssl::host_name_verification(peer_name));
  return tls;
}

}  // namespace kw::net
