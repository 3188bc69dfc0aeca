// Each call starts one asynchronous operation and runs the connection's own io_context until it is
// done or late.
#include "net/client_connection.h"

#include <algorithm>
#include <utility>

#include <boost/asio/error.hpp>
#include <boost/asio/post.hpp>
#include <boost/asio/ssl/error.hpp>
#include <openssl/ssl.h>
#include <sys/socket.h>

#include "net/dead_peer.h"

namespace kw::net {

namespace asio = boost::asio;
using tcp = asio::ip::tcp;

Status ClientConnection::wait(const Until& until) {
  std::stop_callback wake(until.stop, [this] { asio::post(io_, [] {}); });
  io_.restart();
  bool late = false;
  while (!done_ && !late && !until.stop.stop_requested()) {
    io_.run_one_until(until.at);
    late = Clock::now() >= until.at;
  }
  if (done_) return {};
  if (transport_) transport_->close();
  io_.restart();
  io_.run();  // the operation's callback, with operation_aborted
  if (until.stop.stop_requested()) return fail(ErrorCode::kCancelled, "cancelled");
  return fail(ErrorCode::kDeadlineExceeded, std::string(until.what));
}

Status ClientConnection::connect(const NameResolver::Endpoints& endpoints, const Until& until) {
  Status status = fail(ErrorCode::kUnavailable, "the host has no address");
  for (std::size_t i = 0; i < endpoints.size(); ++i) {
    // An address that swallows everything must leave time for the others.
    Until share = until;
    auto now = Clock::now();
    share.at = now + (until.at - now) / static_cast<int>(endpoints.size() - i);
    transport_ = make_plain_transport(tcp::socket(io_));
    done_ = false;
    transport_->socket().async_connect(endpoints[i], [this](Transport::ErrorCode ec) {
      done_ = true;
      result_ = ec;
    });
    status = wait(share);
    if (status && result_)
      status = fail(ErrorCode::kUnavailable, "cannot connect: {}", result_.message());
    if (status || status.error().code() == ErrorCode::kCancelled) return status;
  }
  return status;
}

Status ClientConnection::handshake(const Until& until) {
  done_ = false;
  long verified = X509_V_OK;
  transport_->handshake([this](Transport::ErrorCode ec) {
    done_ = true;
    result_ = ec;
  });
  KW_TRY_STATUS(wait(until));
  if (!result_) return {};
  std::string reason = result_.message();
  if (auto* ssl = tls_handle(*transport_)) verified = SSL_get_verify_result(ssl);
  if (verified != X509_V_OK)
    return fail(ErrorCode::kPermissionDenied, "the TLS certificate is not trusted: {}",
                X509_verify_cert_error_string(verified));
  if (result_.category() == asio::error::get_ssl_category() &&
      reason.find("verify failed") != std::string::npos)
    return fail(ErrorCode::kPermissionDenied,
                "the TLS certificate is not trusted: it names another host");
  if (is_no_tls(result_))
    return fail(ErrorCode::kUnsupported,
                "the server does not speak TLS: the URL must begin with http://");
  return fail(ErrorCode::kUnavailable, "TLS handshake: {}", reason);
}

Result<std::unique_ptr<ClientConnection>> ClientConnection::open(const Url& url,
                                                                 NameResolver& names,
                                                                 const TlsContext& tls,
                                                                 const Until& until) {
  KW_TRY(auto endpoints, names.resolve(url.host, url.port, until.at, until.stop));
  std::unique_ptr<ClientConnection> out(new ClientConnection());
  KW_TRY_STATUS(out->connect(endpoints, until));
  boost::system::error_code ec;
  tcp::socket& socket = out->transport_->socket();
  socket.set_option(tcp::no_delay(true), ec);  // NOLINT(bugprone-unused-return-value): a hint
  notice_dead_peer(socket.native_handle());
  if (url.scheme == "https") {
    out->tls_ = tls;
    out->transport_ = make_tls_client(std::move(socket), *tls, url.host);
    KW_TRY_STATUS(out->handshake(until));
  }
  return out;
}

Status ClientConnection::write(std::string_view bytes, const Until& until) {
  while (!bytes.empty()) {
    done_ = false;
    transport_->write_some(asio::buffer(bytes.data(), bytes.size()),
                           [this](Transport::ErrorCode ec, std::size_t moved) {
                             done_ = true;
                             result_ = ec;
                             moved_ = moved;
                           });
    KW_TRY_STATUS(wait(until));
    if (result_)
      return fail(ErrorCode::kUnavailable, "cannot send the request: {}", result_.message());
    bytes.remove_prefix(moved_);
  }
  return {};
}

Result<std::size_t> ClientConnection::read(std::span<char> buffer, const Until& until) {
  done_ = false;
  transport_->read_some(asio::buffer(buffer.data(), buffer.size()),
                        [this](Transport::ErrorCode ec, std::size_t moved) {
                          done_ = true;
                          result_ = ec;
                          moved_ = moved;
                        });
  KW_TRY_STATUS(wait(until));
  if (result_ == asio::error::eof) return std::size_t{0};
  // Without close_notify somebody else may have ended the stream.
  if (result_ == asio::ssl::error::stream_truncated)
    return fail(ErrorCode::kUnavailable, "the connection was cut");
  if (result_) return fail(ErrorCode::kUnavailable, "{}", result_.message());
  return moved_;
}

bool ClientConnection::is_idle() {
  char byte = 0;
  ssize_t got = ::recv(transport_->socket().native_handle(), &byte, 1, MSG_PEEK | MSG_DONTWAIT);
  return got < 0 && (errno == EAGAIN || errno == EWOULDBLOCK);
}

}  // namespace kw::net
