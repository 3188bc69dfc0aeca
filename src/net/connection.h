// Private: one connection of the server, a state machine on its io thread.
//
// Theory of operation: bytes are read into unread_, the parser takes them from there. A whole
// request goes to its handler together with an Exchange; while the answer is under way one read
// stays pending, so that the client's leaving is seen (what a pipelining client sends then waits,
// bounded, for its turn). Answers go through next_ to out_, which is what the socket is writing.
// Two deadlines, of the phase and of the write under way, share one timer, which is only moved
// when it would ring too late.
#pragma once
#include <array>
#include <chrono>
#include <cstddef>
#include <memory>
#include <optional>
#include <string>

#include <boost/asio/steady_timer.hpp>

#include "net/exchange.h"
#include "net/request_parser.h"
#include "net/response_text.h"
#include "net/router.h"
#include "net/server_core.h"
#include "net/transport.h"

namespace kw::net {

class Connection : public std::enable_shared_from_this<Connection> {
 public:
  // admitted: counted in core.addresses, otherwise in core.refused_open; to be counted out.
  Connection(ServerCore& core, IoLoop& loop, std::unique_ptr<Transport> transport, std::string peer,
             bool admitted);

  void start();
  // For a connection over a limit: answers without reading a request.
  void refuse(const Response& response);
  // The server ends.
  void cut() { close(); }

 private:
  using Clock = std::chrono::steady_clock;
  enum class Phase { kHandshake, kRequest, kAnswer, kLinger, kClosed };
  // Bytes to write, and how many of them the exchange counts as waiting.
  struct Output {
    std::string bytes;
    std::size_t counted = 0;
  };

  void on_failed_handshake(const Transport::ErrorCode& error);
  void begin_request();
  void read();
  void on_read(std::size_t bytes);
  void on_end_of_stream();
  void process();
  bool on_header();
  void begin_record();
  bool count_body();
  std::optional<Response> refusal();
  std::optional<Response> ask_gate();
  void on_request();
  void pull();
  void answer(const Response& response, bool keep);
  void start_answer(const Response& head, std::optional<std::size_t> length);
  void append_body(std::string_view bytes);
  void flush();
  void write();
  void on_written(std::size_t bytes);
  void end_answer();
  void end_record(int status);
  void linger();
  void close();
  RequestParser& parser();  // there is one from the handshake on
  void set_phase_deadline(Clock::time_point when);
  void watch();
  void on_timer();
  void on_due();
  void on_phase_deadline();

  ServerCore& core_;
  IoLoop& loop_;
  const Limits& limits_;
  std::unique_ptr<Transport> transport_;
  std::string peer_;
  bool admitted_;
  Phase phase_ = Phase::kHandshake;

  std::array<char, 16384> in_;
  std::string unread_;
  bool reading_ = false;
  std::optional<RequestParser> parser_;
  bool header_clock_ = false;   // the header's first byte has come
  bool whole_request_ = false;  // all of it has been read
  std::size_t requests_ = 0;
  Clock::time_point header_time_;
  std::size_t body_received_ = 0;
  std::size_t body_counted_ = 0;  // in core_.body_bytes
  Router::Match match_;

  std::shared_ptr<Exchange> exchange_;
  Output out_, next_;
  std::size_t out_at_ = 0;
  bool writing_ = false;
  bool head_written_ = false;
  bool head_only_ = false;  // HEAD, or a status without a body
  bool chunked_ = false;
  bool whole_answer_ = false;  // nothing will be added to next_
  bool keep_ = true;
  std::optional<AccessRecord> record_;  // of the request that is counted as running

  boost::asio::steady_timer timer_;
  Clock::time_point armed_ = Clock::time_point::max();
  Clock::time_point phase_deadline_ = Clock::time_point::max();
  Clock::time_point write_deadline_ = Clock::time_point::max();
};

}  // namespace kw::net
