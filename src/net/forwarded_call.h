// Private: one request on its way to another server and back, a state machine on the Forwarder's
// io thread.
#pragma once
#include <array>
#include <chrono>
#include <cstddef>
#include <functional>
#include <list>
#include <memory>
#include <optional>
#include <set>
#include <stop_token>
#include <string>
#include <string_view>
#include <vector>

#include <boost/asio/io_context.hpp>
#include <boost/asio/ip/tcp.hpp>
#include <boost/asio/steady_timer.hpp>

#include "net/http_message.h"
#include "net/metrics.h"
#include "net/responder.h"
#include "net/response_parser.h"
#include "net/tls.h"
#include "net/transport.h"
#include "net/url.h"

namespace kw::net {

class ForwardedCall;

inline constexpr std::chrono::seconds kForwardRetryAfter{1};

// The server that calls go to, and connections to it that wait for their next request. Of the io
// thread alone.
class ForwardTarget {
 public:
  ForwardTarget(Url url, TlsContext context) : origin(std::move(url)), tls(std::move(context)) {}

  const Url origin;
  const TlsContext tls;  // nullptr for http

  // The one used last, or nullptr. Those that are too old or were closed by the peer are dropped.
  std::unique_ptr<Transport> take();
  void put(std::unique_ptr<Transport> transport);

 private:
  struct Idle {
    std::unique_ptr<Transport> transport;
    std::chrono::steady_clock::time_point since;
  };
  std::list<Idle> idle_;  // oldest first
};

// The calls of a Forwarder share this. Everything but `io` is the io thread's.
struct ForwarderCore {
  std::chrono::milliseconds connect_timeout;
  Counter& answered;  // calls, by their end
  Counter& refused;
  Counter& broken;
  Counter& left;
  boost::asio::io_context io{1};
  std::set<std::shared_ptr<ForwardedCall>> calls = {};
};

class ForwardedCall : public std::enable_shared_from_this<ForwardedCall> {
 public:
  using Adapt = std::function<void(Response&)>;
  ForwardedCall(ForwarderCore& core, std::shared_ptr<ForwardTarget> target, const Request& request,
                Responder responder, Adapt adapt);

  void start();
  // Answers with 503 and `why`, or cuts the answer that is under way.
  void give_up(std::string_view why);

 private:
  using BoostError = boost::system::error_code;

  void connect();
  void on_connected(const BoostError& error);
  void exchange();
  void write();
  void read();
  void on_read(const BoostError& error, std::size_t bytes);
  void on_answer();
  void begin_stream(Response head);
  void pass_on();
  void on_broken(std::string_view why);
  void on_unreachable(std::string_view why);
  void keep_connection();
  void leave();
  void end();
  // Runs `next` unless the call is over or has another connection by then.
  template <typename Next>
  auto unless_over(Next next);

  ForwarderCore& core_;
  const std::shared_ptr<ForwardTarget> target_;
  const std::string text_;  // the request
  const bool is_repeatable_;
  const int minor_version_;
  std::unique_ptr<Responder> responder_;  // until the answer begins
  const Adapt adapt_;

  std::unique_ptr<Transport> transport_;
  std::vector<std::unique_ptr<Transport>> retired_;  // until the callbacks are through
  int connection_ = 0;                               // counts them
  bool is_reused_ = false;
  bool is_over_ = false;
  std::size_t written_ = 0;  // of text_
  bool is_writing_ = false;

  std::array<char, 16384> in_{};
  std::string unread_;
  bool got_bytes_ = false;
  std::unique_ptr<ResponseParser> parser_;
  std::string body_;  // of an answer that is sent as a whole
  std::unique_ptr<ResponseStream> stream_;
  std::string piece_;  // that the stream has no room for yet

  boost::asio::steady_timer timer_;
  boost::asio::ip::tcp::resolver resolver_;
  std::optional<std::stop_callback<std::function<void()>>> on_leave_;
};

}  // namespace kw::net
