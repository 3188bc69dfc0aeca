// The HTTP/1.1 server that services are built on (docs/net.md).
//
// Theory of operation: each io thread owns its connections alone; nothing of a connection is
// shared but the Exchange, through which a handler answers from any thread. Handlers run on
// threads of their own, so that one that waits holds up no other connection.
#pragma once
#include <chrono>
#include <cstdint>
#include <filesystem>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include "base/result.h"
#include "net/http_message.h"
#include "net/limits.h"
#include "net/metrics.h"
#include "net/router.h"

namespace kw::net {

struct TlsFiles {
  std::filesystem::path certificate;  // PEM, the chain with the server's own first
  std::filesystem::path key;          // PEM
};

struct TlsText {
  std::string certificate, key;  // PEM, as in the files
};

struct ServerOptions {
  std::string address = "127.0.0.1";  // IPv4 or IPv6, no name
  std::uint16_t port = 0;             // 0: any free one; Server::port() tells
  std::optional<TlsFiles> tls;
  std::optional<TlsText> tls_text;  // instead of files
  bool allow_plaintext = false;     // without TLS, listen on others than loopback addresses
  int io_threads = 1;
  int handler_threads = 4;              // 0: handlers run on the io threads and must not wait
  std::size_t waiting_requests = 1024;  // for a handler thread; over it: 503
  int socket_buffer_bytes = 0;          // of the system, for sending; 0: the system decides
  Limits limits;
  // Looks at each request before its body is read: an answer refuses it. On an io thread.
  std::function<std::optional<Response>(const Request&)> gate;
  // Gets one line a request, without query, fields or body; empty: log::info. On an io thread.
  std::function<void(std::string_view)> access_log;
  MetricRegistry* metrics = nullptr;  // must outlive the server; nullptr: not counted
};

class Server {
 public:
  // Listens when it returns. kInvalidArgument for a bad address, a TLS file that is bad or whose
  // certificate has expired, or plaintext on a public address; kUnavailable when the port is taken.
  static Result<std::unique_ptr<Server>> start(ServerOptions options, Router router);
  ~Server();  // stop(0), unless stopped
  Server(const Server&) = delete;
  Server& operator=(const Server&) = delete;

  std::uint16_t port() const;
  std::string origin() const;  // "http://127.0.0.1:8080"

  // Reads the TLS files again, for connections from now on. After an error (as of start()) the old
  // certificate stays. Any thread; only of a server with TLS files.
  Status renew_tls();

  // Closes the listening socket; requests that come on open connections get 503. Waits until those
  // that run are answered, at most `grace`; then requests the stop of the rest, closes every
  // connection and waits for the handlers that run. True when none was cut. Any thread but the
  // server's own; a second call returns what the first did.
  bool stop(std::chrono::milliseconds grace);

 private:
  struct Impl;
  explicit Server(std::unique_ptr<Impl> impl);
  std::unique_ptr<Impl> impl_;
};

}  // namespace kw::net
