// Reading: from bytes to a request that is refused or handed to its handler.
#include "net/connection.h"

#include <algorithm>
#include <exception>
#include <utility>

#include <boost/asio/post.hpp>
#include <fmt/format.h>

#include "base/check.h"
#include "base/log.h"
#include "net/replies.h"

namespace kw::net {

using BoostError = boost::system::error_code;

Connection::Connection(ServerCore& core, IoLoop& loop, std::unique_ptr<Transport> transport,
                       std::string peer, bool admitted)
    : core_(core),
      loop_(loop),
      limits_(core.options.limits),
      transport_(std::move(transport)),
      peer_(std::move(peer)),
      admitted_(admitted),
      timer_(loop.io) {
  if (admitted_) core_.open_connections.add(1);
}

void Connection::start() {
  loop_.connections.insert(shared_from_this());
  if (!transport_->encrypted()) return begin_request();
  set_phase_deadline(Clock::now() + limits_.header_timeout);
  transport_->handshake([self = shared_from_this(), this](BoostError ec) {
    if (phase_ == Phase::kClosed) return;
    if (ec) return on_failed_handshake(ec);
    begin_request();
  });
}

// A client that speaks HTTP without TLS is told so in its own language.
void Connection::on_failed_handshake(const BoostError& error) {
  if (!is_plain_http(error)) return close();
  // Not within the transport's own callback.
  boost::asio::post(loop_.io, [self = shared_from_this(), this] {
    if (phase_ == Phase::kClosed) return;
    transport_ = make_plain_transport(std::move(transport_->socket()));
    answer(error_response(400, "this port speaks TLS: the URL must begin with https://"), false);
  });
}

void Connection::refuse(const Response& response) {
  loop_.connections.insert(shared_from_this());
  answer(response, false);
}

void Connection::begin_request() {
  bool first = phase_ == Phase::kHandshake;
  phase_ = Phase::kRequest;
  parser_.emplace(limits_);
  header_clock_ = whole_request_ = false;
  head_written_ = head_only_ = chunked_ = whole_answer_ = false;
  keep_ = true;
  match_ = {};
  set_phase_deadline(Clock::now() + (first ? limits_.header_timeout : limits_.idle_timeout));
  process();
}

void Connection::read() {
  if (reading_) return;
  reading_ = true;
  transport_->read_some(boost::asio::buffer(in_),
                        [self = shared_from_this(), this](BoostError ec, std::size_t bytes) {
                          reading_ = false;
                          if (phase_ == Phase::kClosed) return;
                          if (ec) return on_end_of_stream();
                          on_read(bytes);
                        });
}

void Connection::on_read(std::size_t bytes) {
  core_.received_bytes.add(bytes);
  // What follows a refused request is of no use.
  if (phase_ == Phase::kLinger || (phase_ == Phase::kAnswer && !whole_request_)) return read();
  unread_.append(in_.data(), bytes);
  if (phase_ == Phase::kRequest) {
    body_received_ += bytes;
    return process();
  }
  if (unread_.size() < limits_.header_bytes) read();
}

void Connection::on_end_of_stream() {
  if (phase_ == Phase::kAnswer && record_) end_record(499);
  close();
}

RequestParser& Connection::parser() {
  KW_CHECK(parser_.has_value());
  return *parser_;
}

void Connection::process() {
  while (phase_ == Phase::kRequest) {
    std::size_t consumed = 0;
    RequestParser::Event event = parser().feed(unread_, consumed);
    unread_.erase(0, consumed);
    switch (event) {
      case RequestParser::Event::kNeedMore:
        if (consumed > 0 && !unread_.empty()) break;
        if (parser().started() && !header_clock_) {
          header_clock_ = true;
          set_phase_deadline(Clock::now() + limits_.header_timeout);
        }
        if (record_) {
          if (!count_body()) return;
          std::chrono::seconds earned(body_received_ / limits_.body_bytes_per_second);
          set_phase_deadline(header_time_ + limits_.body_timeout + earned);
        }
        return read();
      case RequestParser::Event::kHeader:
        if (!on_header()) return;
        break;
      case RequestParser::Event::kComplete:
        if (count_body()) on_request();
        return;
      case RequestParser::Event::kError: {
        const RequestParser::Failure& error = parser().error();
        if (!record_) begin_record();
        return answer(error_response(error.status, error.message), false);
      }
    }
  }
}

void Connection::begin_record() {
  const Request& request = parser().request();
  header_time_ = Clock::now();
  record_ = AccessRecord{peer_, request.method, request.path, request.route, 0, 0, {}};
  core_.running.begin();
  core_.running_requests.add(1);
}

// False, and answered, when the bodies of all connections are too much together.
bool Connection::count_body() {
  std::size_t size = parser().request().body.size();
  std::size_t more = size - std::exchange(body_counted_, size);
  if (core_.body_bytes.fetch_add(more) + more <= limits_.body_bytes_in_all) return true;
  answer(retry_later(std::chrono::seconds(1), "the server holds too many requests", 503), false);
  return false;
}

// True when the body is to be read.
bool Connection::on_header() {
  body_received_ = unread_.size();
  Request& request = parser().request();
  request.peer = peer_;
  head_only_ = request.method == "HEAD";
  match_ = core_.router.match(request.method, request.path);
  if (match_.route != nullptr) request.route = match_.route->pattern;
  begin_record();
  ++requests_;
  bool most = limits_.requests_per_connection != 0 && requests_ >= limits_.requests_per_connection;
  keep_ = parser().keep_alive() && !most;
  if (auto response = refusal()) {
    // A body that nobody reads ends the connection.
    whole_request_ = !parser().has_body();
    answer(*response, keep_ && whole_request_);
    return false;
  }
  std::size_t most_body = match_.route->options.max_body_bytes;
  parser().limit_body(most_body != 0 ? most_body : limits_.body_bytes);
  if (request.minor_version == 1 && request.headers.has("Expect") && parser().has_body() &&
      unread_.empty()) {
    auto length = parser().content_length();
    if (length && *length > (most_body != 0 ? most_body : limits_.body_bytes)) return true;  // 413
    next_.bytes += "HTTP/1.1 100 Continue\r\n\r\n";
    flush();
  }
  return phase_ == Phase::kRequest;
}

// The answer to a request that is refused for what its header says.
std::optional<Response> Connection::refusal() {
  const Request& request = parser().request();
  if (core_.draining)
    return retry_later(std::chrono::seconds(1), "the server is about to stop", 503);
  const std::string* expect = request.headers.find("Expect");
  if (expect != nullptr && !equals_ignoring_case(*expect, "100-continue"))
    return error_response(417, "the only Expect here is 100-continue");
  if (auto refused = ask_gate()) return refused;
  if (match_.route == nullptr) {
    if (request.method == "OPTIONS" && (!match_.allow.empty() || request.path == "*")) {
      Response options{204, {}, ""};
      if (!match_.allow.empty()) options.headers.add("Allow", match_.allow);
      return options;
    }
    if (match_.allow.empty()) return error_response(404, "there is nothing at this path");
    Response response = error_response(
        405, fmt::format("this path does not answer this method, but: {}", match_.allow));
    response.headers.add("Allow", match_.allow);
    return response;
  }
  const std::string* encoding = request.headers.find("Content-Encoding");
  if (encoding != nullptr && !equals_ignoring_case(*encoding, "identity"))
    return error_response(415, "compressed bodies are not read here");
  if (match_.route->options.needs_length && !request.headers.has("Content-Length") &&
      !request.headers.has("Transfer-Encoding"))
    return error_response(411, "a body with Content-Length or in chunks is needed");
  return std::nullopt;
}

std::optional<Response> Connection::ask_gate() {
  if (!core_.options.gate) return std::nullopt;
  try {
    return core_.options.gate(parser().request());
  } catch (const std::exception& e) {
    log::error(fmt::format("http: the gate threw: {}", e.what()));
    return error_response(500, "internal error");
  }
}

void Connection::on_request() {
  phase_ = Phase::kAnswer;
  whole_request_ = true;
  set_phase_deadline(limits_.request_deadline.count() == 0
                         ? Clock::time_point::max()
                         : header_time_ + limits_.request_deadline);
  exchange_ = std::make_shared<Exchange>(limits_.send_buffer_bytes, std::this_thread::get_id(),
                                         [weak = weak_from_this(), &io = loop_.io] {
                                           boost::asio::post(io, [weak] {
                                             if (auto self = weak.lock()) self->pull();
                                           });
                                         });
  Request request = std::move(parser().request());
  request.parameters = std::move(match_.parameters);
  HandlerPool::Job job{&match_.route->handler, std::move(request), Responder(exchange_)};
  if (!core_.handlers.submit(job)) {
    std::exchange(exchange_, nullptr)->detach();
    return answer(retry_later(std::chrono::seconds(1), "too many requests wait here", 503), keep_);
  }
  if (unread_.size() < limits_.header_bytes) read();
}

void Connection::set_phase_deadline(Clock::time_point when) {
  phase_deadline_ = when;
  watch();
}

void Connection::watch() {
  Clock::time_point due = std::min(phase_deadline_, write_deadline_);
  if (due >= armed_) return;  // it rings early, and looks again
  armed_ = due;
  timer_.expires_at(due);
  timer_.async_wait([weak = weak_from_this()](BoostError ec) {
    if (ec) return;
    if (auto self = weak.lock()) self->on_timer();
  });
}

void Connection::on_timer() {
  armed_ = Clock::time_point::max();
  if (phase_ == Phase::kClosed) return;
  if (Clock::now() < std::min(phase_deadline_, write_deadline_)) return watch();
  loop_.when_free([weak = weak_from_this()] {
    if (auto self = weak.lock()) self->on_due();
  });
}

// A deadline may have been moved since its timer rang.
void Connection::on_due() {
  if (phase_ == Phase::kClosed) return;
  Clock::time_point now = Clock::now();
  if (now >= write_deadline_) {
    if (record_) end_record(499);
    return close();
  }
  if (now >= phase_deadline_) return on_phase_deadline();
  watch();
}

void Connection::on_phase_deadline() {
  phase_deadline_ = Clock::time_point::max();
  if (phase_ == Phase::kRequest && parser().started()) {
    if (!record_) begin_record();
    return answer(error_response(408, "the request did not arrive in time"), false);
  }
  if (phase_ == Phase::kAnswer && exchange_) {
    auto late = std::exchange(exchange_, nullptr);
    late->request_stop();
    late->detach();
    if (!head_written_) return answer(error_response(504, "the request took too long"), false);
    if (record_) end_record(504);
  }
  close();
}

}  // namespace kw::net
