// Private: a TCP socket, with or without TLS, behind one interface, for server and client.
#pragma once
#include <cstddef>
#include <functional>
#include <memory>
#include <string>

#include <boost/asio/buffer.hpp>
#include <boost/asio/ip/tcp.hpp>
#include <boost/asio/ssl/context.hpp>
#include <boost/system/error_code.hpp>

namespace kw::net {

// All calls and callbacks on the thread that runs the socket's io_context. One read and one write
// may be under way together. Buffers and the transport stay alive until the callback.
class Transport {
 public:
  using ErrorCode = boost::system::error_code;
  using Moved = std::function<void(ErrorCode, std::size_t)>;

  virtual ~Transport() = default;
  virtual boost::asio::ip::tcp::socket& socket() = 0;
  virtual bool encrypted() const = 0;
  // TLS only; without it done is called at once.
  virtual void handshake(std::function<void(ErrorCode)> done) = 0;
  virtual void read_some(boost::asio::mutable_buffer buffer, Moved done) = 0;
  virtual void write_some(boost::asio::const_buffer buffer, Moved done) = 0;
  // Tells the peer that nothing follows: end of stream, for TLS close_notify before it.
  virtual void shutdown(std::function<void(ErrorCode)> done) = 0;
  // Ends all that is under way; its callbacks get operation_aborted. May be repeated.
  void close();
};

std::unique_ptr<Transport> make_plain_transport(boost::asio::ip::tcp::socket socket);
// server: the side that accepts. peer_name: what a client's certificate check and SNI name.
std::unique_ptr<Transport> make_tls_server(boost::asio::ip::tcp::socket socket,
                                           boost::asio::ssl::context& context);
std::unique_ptr<Transport> make_tls_client(boost::asio::ip::tcp::socket socket,
                                           boost::asio::ssl::context& context,
                                           const std::string& peer_name);
// OpenSSL's object of a TLS transport; nullptr for a plain one.
SSL* tls_handle(Transport& transport);

}  // namespace kw::net
