// The listening socket and the limits on connections.
#include "net/listener.h"

#include <utility>

#include <boost/asio/ip/address.hpp>
#include <boost/asio/post.hpp>

#include "base/log.h"
#include "net/connection.h"
#include "net/replies.h"
#include "net/transport.h"
#include "net/url.h"

namespace kw::net {
namespace {

namespace asio = boost::asio;
using tcp = asio::ip::tcp;
using BoostError = boost::system::error_code;

// How long to wait when the system has no descriptor left.
constexpr std::chrono::milliseconds kPause{100};
// Connections that wait for their 429 or 503 at a time; further ones are closed at once.
constexpr std::size_t kMaxRefused = 128;

}  // namespace

Listener::Listener(ServerCore& core, std::vector<std::unique_ptr<IoLoop>>& loops)
    : core_(core), loops_(loops), acceptor_(loops[0]->io), pause_(loops[0]->io) {}

Status Listener::open() {
  const ServerOptions& options = core_.options;
  BoostError ec;
  asio::ip::address address = asio::ip::make_address(options.address, ec);
  if (ec)
    return fail(ErrorCode::kInvalidArgument, "listen address \"{}\" is no IPv4 or IPv6 address",
                options.address);
  if (!core_.tls() && !options.allow_plaintext && !is_loopback_host(address.to_string()))
    return fail(ErrorCode::kInvalidArgument,
                "{} can be reached from outside: give a TLS certificate, or allow plaintext when a "
                "proxy adds TLS",
                options.address);
  tcp::endpoint wanted(address, options.port);
  acceptor_.open(wanted.protocol(), ec);
  if (!ec) acceptor_.set_option(tcp::acceptor::reuse_address(true), ec);
  if (!ec) acceptor_.bind(wanted, ec);
  if (!ec) acceptor_.listen(asio::socket_base::max_listen_connections, ec);
  if (ec)
    return fail(ErrorCode::kUnavailable, "cannot listen on {} port {}: {}", options.address,
                options.port, ec.message());
  endpoint_ = acceptor_.local_endpoint(ec);
  return {};
}

void Listener::accept() {
  IoLoop& loop = *loops_[next_++ % loops_.size()];
  acceptor_.async_accept(loop.io, [this, &loop](BoostError ec, tcp::socket socket) {
    if (!acceptor_.is_open()) return;
    if (ec) {
      log::warning(fmt::format("http: cannot accept a connection: {}", ec.message()));
      pause_.expires_after(kPause);
      pause_.async_wait([this](BoostError stopped) {
        if (!stopped && acceptor_.is_open()) accept();
      });
      return;
    }
    admit(loop, std::move(socket));
    accept();
  });
}

void Listener::admit(IoLoop& loop, tcp::socket socket) {
  BoostError ec;
  tcp::endpoint remote = socket.remote_endpoint(ec);
  if (ec) return;  // gone already
  core_.accepted.add();
  socket.set_option(tcp::no_delay(true), ec);
  if (core_.options.socket_buffer_bytes > 0)
    socket.set_option(asio::socket_base::send_buffer_size(core_.options.socket_buffer_bytes), ec);
  std::string peer = remote.address().to_string();
  AddressCounts::Entry entry = core_.addresses.enter(peer);
  bool admitted = entry == AddressCounts::Entry::kAdmitted;
  bool in_all = entry == AddressCounts::Entry::kTooManyInAll;
  if (!admitted) core_.count_refused(in_all ? "all" : "address");
  // A handshake costs more than a refusal may, and so do more refusals than this.
  const TlsContext tls = core_.tls();
  if (!admitted && (tls || core_.refused_open >= kMaxRefused)) return;
  if (!admitted) ++core_.refused_open;
  auto transport =
      tls ? make_tls_server(std::move(socket), *tls) : make_plain_transport(std::move(socket));
  auto connection =
      std::make_shared<Connection>(core_, loop, std::move(transport), std::move(peer), admitted);
  asio::post(loop.io, [connection, admitted, in_all] {
    if (admitted) return connection->start();
    connection->refuse(
        retry_later(std::chrono::seconds(1),
                    in_all ? "too many connections" : "too many connections from your address",
                    in_all ? 503 : 429));
  });
}

void Listener::close() {
  BoostError ec;
  acceptor_.close(ec);  // NOLINT(bugprone-unused-return-value): nothing is left to be done
  pause_.cancel();
}

}  // namespace kw::net
