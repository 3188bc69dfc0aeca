// A call: take or open a connection, send, read; keep the connection when it can serve again.
#include "net/client.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <ctime>
#include <mutex>
#include <utility>

#include "base/text.h"
#include "net/client_connection.h"
#include "net/connection_pool.h"
#include "net/name_resolver.h"
#include "net/response_parser.h"

namespace kw::net {
namespace {

using Clock = ClientConnection::Clock;
using Until = ClientConnection::Until;

// What a call does with the body: decides when the header is there.
struct Sink {
  // Gets the answer without its body. True: pieces go to on_bytes; false: they are collected.
  std::function<bool(const ClientResponse&)> streams;
  std::function<Result<bool>(std::string_view)> on_bytes;  // false ends the call
};

// One attempt's outcome beside its answer.
struct Attempt {
  Result<ClientResponse> response;
  bool nothing_came = false;  // failed without a byte of an answer
};

// Seconds, or a date (RFC 9110, section 10.2.3).
std::optional<std::chrono::seconds> read_retry_after(const Headers& headers) {
  const std::string* text = headers.find("Retry-After");
  if (text == nullptr || text->empty()) return std::nullopt;
  std::int32_t seconds = 0;
  auto [end, failed] = std::from_chars(text->data(), text->data() + text->size(), seconds);
  if (failed == std::errc() && end == text->data() + text->size() && seconds >= 0)
    return std::chrono::seconds(seconds);
  std::tm date{};
  if (::strptime(text->c_str(), "%a, %d %b %Y %H:%M:%S GMT", &date) == nullptr) return std::nullopt;
  return std::chrono::seconds(std::max<std::time_t>(0, ::timegm(&date) - std::time(nullptr)));
}

class Call {
 public:
  Call(const ClientOptions& options, const ClientRequest& request, const Url& url, const Sink& sink)
      : options_(options),
        request_(request),
        url_(url),
        sink_(sink),
        timeouts_(request.timeouts.value_or(options.timeouts)),
        end_(Clock::now() + timeouts_.total) {}

  Until until(std::chrono::milliseconds at_most, std::string_view what) const {
    auto at = Clock::now() + at_most;
    if (at >= end_) return {end_, "the call took longer than its total timeout", request_.stop};
    return {at, what, request_.stop};
  }
  Until until_connected() const {
    return until(timeouts_.connect, "not connected within the connect timeout");
  }

  Attempt run(ClientConnection& connection) {
    Status sent = connection.write(request_text(), until(timeouts_.total, ""));
    // A server that refuses a body may answer and close before it has read it.
    bool closed = !sent && sent.error().code() == ErrorCode::kUnavailable;
    if (!sent && !closed) return {tl::unexpected(sent.error()), false};
    ResponseParser parser(request_.method == "HEAD", options_.max_header_bytes);
    auto response = receive(connection, parser);
    keep_ = response && response->complete && !closed && parser.keep_alive() && unread_.empty();
    if (!response && closed && !got_bytes_) return {tl::unexpected(sent.error()), true};
    bool unavailable = !response && response.error().code() == ErrorCode::kUnavailable;
    return {std::move(response), unavailable && !got_bytes_};
  }

  bool connection_can_serve_again() const { return keep_; }

 private:
  std::string request_text() const {
    std::string text =
        fmt::format("{} {} HTTP/1.1\r\nHost: {}\r\nUser-Agent: {}\r\n", request_.method,
                    url_.target, url_.host_field(), options_.user_agent);
    for (const Headers::Field& field : request_.headers.fields())
      text.append(field.name).append(": ").append(field.value).append("\r\n");
    bool may_have_body = request_.method != "GET" && request_.method != "HEAD";
    if (may_have_body || !request_.body.empty())
      text += fmt::format("Content-Length: {}\r\n", request_.body.size());
    return text.append("\r\n").append(request_.body);
  }

  // Reads once into unread_ and gives it to the parser. False at the end of the stream.
  Result<bool> more(ClientConnection& connection, ResponseParser& parser, const Until& until) {
    KW_TRY(std::size_t bytes, connection.read(buffer_, until));
    if (bytes == 0) {
      KW_TRY_STATUS(parser.end_of_stream());
      return false;
    }
    got_bytes_ = true;
    unread_.append(buffer_.data(), bytes);
    KW_TRY(std::size_t consumed, parser.feed(unread_));
    unread_.erase(0, consumed);
    return true;
  }

  Result<ClientResponse> receive(ClientConnection& connection, ResponseParser& parser) {
    ClientResponse out;
    Until header = until(timeouts_.first_byte, "no answer within the first-byte timeout");
    while (!parser.header_done()) KW_TRY_STATUS(more(connection, parser, header));
    out.status = parser.status();
    out.headers = parser.headers();
    out.retry_after = read_retry_after(out.headers);
    if (request_.on_head) request_.on_head(out);
    bool streamed = sink_.streams && sink_.streams(out);
    for (bool open = true;;) {
      std::string piece = parser.take_body();
      if (streamed && !piece.empty()) {
        KW_TRY(bool go_on, sink_.on_bytes(piece));
        if (!go_on) {
          out.complete = false;
          return out;
        }
      } else {
        out.body += piece;
      }
      if (out.body.size() > options_.max_body_bytes)
        return fail(ErrorCode::kResourceExhausted, "the answer is longer than {}",
                    format_bytes(options_.max_body_bytes));
      if (parser.done() || !open) return out;
      KW_TRY(open, more(connection, parser,
                        until(timeouts_.idle, "the answer stopped for the idle timeout")));
    }
  }

  const ClientOptions& options_;
  const ClientRequest& request_;
  const Url& url_;
  const Sink& sink_;
  ClientTimeouts timeouts_;
  Clock::time_point end_;
  std::array<char, 16384> buffer_{};
  std::string unread_;
  bool got_bytes_ = false;
  bool keep_ = false;
};

Status check_request(const ClientRequest& request) {
  if (!is_token(request.method))
    return fail(ErrorCode::kInvalidArgument, "\"{}\" is no HTTP method",
                printable(request.method, 40));
  for (const Headers::Field& field : request.headers.fields()) {
    constexpr std::array<std::string_view, 5> kOurs = {"Host", "Content-Length", "Connection",
                                                       "Transfer-Encoding", "User-Agent"};
    bool ours = std::any_of(kOurs.begin(), kOurs.end(), [&](std::string_view name) {
      return equals_ignoring_case(name, field.name);
    });
    // The value may be a secret.
    if (ours || !is_token(field.name) || !is_field_value(field.value))
      return fail(ErrorCode::kInvalidArgument, "the field \"{}\" {}", printable(field.name, 100),
                  ours ? "is set by the client itself" : "cannot be sent");
  }
  return {};
}

bool is_idempotent(std::string_view method) {
  constexpr std::array<std::string_view, 5> kIdempotent = {"GET", "HEAD", "OPTIONS", "PUT",
                                                           "DELETE"};
  return std::find(kIdempotent.begin(), kIdempotent.end(), method) != kIdempotent.end();
}

bool is_event_stream(const ClientResponse& head) {
  return head.status == 200 && has_media_type(head.headers, "text/event-stream");
}

}  // namespace

struct Client::Impl {
  explicit Impl(ClientOptions o)
      : options(std::move(o)), pool(options.idle_connections, options.keep_idle) {}

  ClientOptions options;
  std::mutex tls_mutex;
  TlsContext tls;  // made when first needed: reading the system's certificates takes 10 ms
  NameResolver names;
  ConnectionPool pool;

  Result<TlsContext> tls_for(const Url& url) {
    if (url.scheme != "https") return TlsContext();
    std::lock_guard lock(tls_mutex);
    if (!tls) {
      KW_TRY(tls, make_client_tls(options.ca_file));
    }
    return tls;
  }

  Result<std::unique_ptr<ClientConnection>> open(const Url& url, const TlsContext& context,
                                                 const Until& until) {
    auto connection = ClientConnection::open(url, names, context, until);
    if (connection || connection.error().code() != ErrorCode::kPermissionDenied) return connection;
    return fail(ErrorCode::kPermissionDenied, "{} ({})", connection.error().message(),
                who_is_trusted());
  }

  std::string who_is_trusted() const {
    if (!options.ca_text.empty()) return "trusted is the certificate that was given for it";
    const std::string file = trusted_file(options.ca_file).string();
    return "trusted are the certificates of " + (file.empty() ? "the system" : file);
  }

  Result<ClientResponse> attempt(const ClientRequest& request, const Url& url, const Sink& sink) {
    KW_TRY(TlsContext context, tls_for(url));
    Call call(options, request, url, sink);
    auto connection = pool.take(url.origin());
    bool reused = connection != nullptr;
    for (;;) {
      if (!connection) {
        KW_TRY(connection, open(url, context, call.until_connected()));
      }
      Attempt done = call.run(*connection);
      if (call.connection_can_serve_again()) pool.put(url.origin(), std::move(connection));
      // A kept connection may have been closed just before; a new one tells.
      if (!(reused && done.nothing_came && is_idempotent(request.method)))
        return std::move(done.response);
      connection.reset();
      reused = false;
    }
  }

  Result<ClientResponse> call(const ClientRequest& request, const Sink& sink) {
    KW_TRY(Url url, parse_url(request.url));
    KW_TRY_STATUS(check_request(request));
    auto response = attempt(request, url, sink);
    if (!response) return tl::unexpected(std::move(response).error().with_context(url.authority()));
    return response;
  }
};

Client::Client(std::unique_ptr<Impl> impl) : impl_(std::move(impl)) {}
Client::~Client() = default;

Result<std::unique_ptr<Client>> Client::make(ClientOptions options) {
  auto impl = std::make_unique<Impl>(std::move(options));
  if (!impl->options.ca_text.empty()) {
    KW_TRY(impl->tls, make_client_tls_of(impl->options.ca_text));
  } else if (!impl->options.ca_file.empty()) {
    KW_TRY(impl->tls, make_client_tls(impl->options.ca_file));
  }
  return std::unique_ptr<Client>(new Client(std::move(impl)));
}

Result<ClientResponse> Client::send(const ClientRequest& request) {
  return impl_->call(request, {});
}

Result<ClientResponse> Client::get(const std::string& url) {
  ClientRequest request;
  request.url = url;
  return send(request);
}

Result<ClientResponse> Client::post_json(const std::string& url, const Json& body,
                                         Headers headers) {
  ClientRequest request;
  request.method = "POST";
  request.url = url;
  request.headers = std::move(headers);
  request.headers.set("Content-Type", "application/json");
  request.body = body.dump(-1, ' ', false, Json::error_handler_t::replace);
  return send(request);
}

Result<ClientResponse> Client::stream(const ClientRequest& request,
                                      const std::function<bool(std::string_view)>& on_bytes) {
  return impl_->call(request,
                     {[](const ClientResponse&) { return true; },
                      [&](std::string_view bytes) -> Result<bool> { return on_bytes(bytes); }});
}

Result<ClientResponse> Client::events(const ClientRequest& request,
                                      const std::function<bool(const SseEvent&)>& on_event) {
  SseParser parser(impl_->options.max_event_bytes);
  bool go_on = true;
  auto on_bytes = [&](std::string_view bytes) -> Result<bool> {
    KW_TRY_STATUS(parser.feed(bytes, [&](const SseEvent& event) {
      go_on = on_event(event);
      return go_on;
    }));
    return go_on;
  };
  return impl_->call(request, {is_event_stream, on_bytes});
}

}  // namespace kw::net
