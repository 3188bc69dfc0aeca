// Private: one connection of the client, with blocking calls that end at a deadline.
#pragma once
#include <chrono>
#include <cstddef>
#include <memory>
#include <span>
#include <stop_token>
#include <string>
#include <string_view>

#include <boost/asio/io_context.hpp>

#include "base/result.h"
#include "net/name_resolver.h"
#include "net/tls.h"
#include "net/transport.h"
#include "net/url.h"

namespace kw::net {

// Used by one thread at a time. After an error of a call it is of no more use.
class ClientConnection {
 public:
  using Clock = std::chrono::steady_clock;
  // When a wait ends: at `at` with kDeadlineExceeded and `what`, or with kCancelled.
  struct Until {
    Clock::time_point at;
    std::string_view what;  // "no answer in time"
    std::stop_token stop;
  };

  // tls: for https. kUnavailable, kDeadlineExceeded, kPermissionDenied, kCancelled; kUnsupported
  // where the server does not speak TLS.
  static Result<std::unique_ptr<ClientConnection>> open(const Url& url, NameResolver& names,
                                                        const TlsContext& tls, const Until& until);

  Status write(std::string_view bytes, const Until& until);
  // At least one byte; 0 at the end of the stream.
  Result<std::size_t> read(std::span<char> buffer, const Until& until);
  // False when the peer has closed it, or has sent what nobody asked for.
  bool is_idle();

 private:
  ClientConnection() = default;
  Status connect(const NameResolver::Endpoints& endpoints, const Until& until);
  // Runs io_ until done_.
  Status wait(const Until& until);
  Status handshake(const Until& until);

  boost::asio::io_context io_{1};
  TlsContext tls_;
  std::unique_ptr<Transport> transport_;
  bool done_ = false;
  Transport::ErrorCode result_;
  std::size_t moved_ = 0;
};

}  // namespace kw::net
