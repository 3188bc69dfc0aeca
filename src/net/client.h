// The HTTP/1.1 client: blocking calls for worker threads, whole or streamed, over kept connections.
// Follows no redirect, uses no proxy, keeps no cookie and retries no request that could have been
// carried out.
#pragma once
#include <chrono>
#include <cstddef>
#include <filesystem>
#include <functional>
#include <memory>
#include <optional>
#include <stop_token>
#include <string>
#include <string_view>

#include "base/json.h"
#include "base/result.h"
#include "net/headers.h"
#include "net/sse.h"

namespace kw::net {

struct ClientTimeouts {
  std::chrono::milliseconds connect{5000};      // name, TCP and TLS, together
  std::chrono::milliseconds first_byte{60000};  // request sent to header received
  std::chrono::milliseconds idle{60000};        // between two pieces of the body
  std::chrono::milliseconds total{600000};      // of a call
};

struct ClientOptions {
  ClientTimeouts timeouts = {};
  // PEM certificates that are trusted for https. Empty: those of the file that the environment
  // variable SSL_CERT_FILE names, else the system's.
  std::filesystem::path ca_file = {};
  std::string ca_text = {};                             // such certificates; goes before ca_file
  std::size_t max_header_bytes = 65536;                 // of an answer
  std::size_t max_body_bytes = std::size_t{64} << 20U;  // of an answer that is not streamed
  std::size_t max_event_bytes = std::size_t{4} << 20U;  // of one server-sent event
  std::size_t idle_connections = 16;                    // kept for each origin
  std::chrono::milliseconds keep_idle{20000};  // less than servers wait for the next request
  std::string user_agent = "kernelwright";
};

struct ClientResponse;

struct ClientRequest {
  std::string method = "GET";
  std::string url;
  Headers headers;  // Host, Content-Length, Connection and User-Agent are the client's
  std::string body;
  std::optional<ClientTimeouts> timeouts;  // other than the client's
  std::stop_token stop;                    // ends the call with kCancelled
  // Sees the answer without its body as soon as that is there: what is known of a call that fails
  // later. On the calling thread.
  std::function<void(const ClientResponse&)> on_head;
};

struct ClientResponse {
  int status = 0;  // any: 404 is an answer, not an Error
  Headers headers;
  std::string body;                                 // empty when it was streamed
  bool complete = true;                             // false: a callback ended the call early
  std::optional<std::chrono::seconds> retry_after;  // the field, in seconds from now
};

// Thread-safe: calls of several threads share the kept connections, each using one alone.
// Errors name "host:port" and what failed:
//   kInvalidArgument   URL, method or fields cannot be sent
//   kUnavailable       no such host, refused, reset, closed before the answer's end
//   kDeadlineExceeded  a timeout; says which
//   kPermissionDenied  the TLS certificate is not trusted; says whose certificates are
//   kResourceExhausted the answer is over a limit
//   kUnsupported       what came is no HTTP/1.1 that is read here, or no TLS
//   kCancelled         ClientRequest::stop
class Client {
 public:
  static Result<std::unique_ptr<Client>> make(ClientOptions options = {});
  ~Client();  // no call may be under way; may wait for a name look-up that hangs
  Client(const Client&) = delete;
  Client& operator=(const Client&) = delete;

  Result<ClientResponse> send(const ClientRequest& request);
  Result<ClientResponse> get(const std::string& url);
  Result<ClientResponse> post_json(const std::string& url, const Json& body, Headers headers = {});

  // The body in pieces as they come, whatever the status; false from on_bytes ends the call.
  Result<ClientResponse> stream(const ClientRequest& request,
                                const std::function<bool(std::string_view)>& on_bytes);
  // The events of a text/event-stream with status 200; any other answer comes whole in `body`.
  // false from on_event ends the call (complete = false).
  Result<ClientResponse> events(const ClientRequest& request,
                                const std::function<bool(const SseEvent&)>& on_event);

 private:
  struct Impl;
  explicit Client(std::unique_ptr<Impl> impl);
  std::unique_ptr<Impl> impl_;
};

}  // namespace kw::net
