// Answering: from an exchange, or an error of our own, to bytes; and the connection's end.
#include <algorithm>
#include <utility>

#include <fmt/format.h>

#include "base/check.h"
#include "base/log.h"
#include "net/connection.h"
#include "net/replies.h"

namespace kw::net {

using BoostError = boost::system::error_code;

// An answer that is not a handler's.
void Connection::answer(const Response& response, bool keep) {
  phase_ = Phase::kAnswer;
  phase_deadline_ = Clock::time_point::max();  // the write's remains
  keep_ = keep;
  start_answer(response, response.body.size());
  append_body(response.body);
  whole_answer_ = true;
  if (!whole_request_ || unread_.size() < limits_.header_bytes) read();
  flush();
}

void Connection::pull() {
  if (!exchange_ || phase_ != Phase::kAnswer) return;
  Exchange::Taken taken = exchange_->take();
  if (taken.abandoned) {
    std::exchange(exchange_, nullptr)->detach();
    if (!head_written_ && !taken.head) return answer(error_response(500, "internal error"), keep_);
    if (record_) end_record(500);
    return close();
  }
  if (taken.head) {
    if (!is_sendable(*taken.head)) {
      log::error(fmt::format("http: the handler of {} gave a status or field that cannot be sent",
                             record_ ? record_->route : ""));
      std::exchange(exchange_, nullptr)->detach();
      return answer(error_response(500, "internal error"), keep_);
    }
    bool whole = taken.finished && !taken.streamed;
    start_answer(*taken.head,
                 whole ? std::optional<std::size_t>(taken.bytes.size()) : std::nullopt);
  }
  next_.counted += taken.bytes.size();
  append_body(taken.bytes);
  if (taken.finished && !whole_answer_) {
    if (chunked_ && !head_only_) append_last_chunk(next_.bytes);
    whole_answer_ = true;
  }
  flush();
}

void Connection::start_answer(const Response& head, std::optional<std::size_t> length) {
  if (core_.draining) keep_ = false;
  int minor_version = parser_ && parser_->started() ? parser_->request().minor_version : 1;
  chunked_ = !length && minor_version == 1;
  if (!length && !chunked_) keep_ = false;  // HTTP/1.0: the connection's end is the answer's
  head_only_ = head_only_ || !may_have_body(head.status);
  head_written_ = true;
  if (record_) record_->status = head.status;
  append_head(next_.bytes, head, {length, chunked_, keep_, minor_version}, loop_.date());
}

void Connection::append_body(std::string_view bytes) {
  if (head_only_) return;
  if (chunked_) {
    append_chunk(next_.bytes, bytes);
  } else {
    next_.bytes.append(bytes);
  }
}

void Connection::flush() {
  if (writing_) return;
  if (next_.bytes.empty()) {
    if (next_.counted > 0 && exchange_) exchange_->written(std::exchange(next_.counted, 0));
    if (whole_answer_) end_answer();
    return;
  }
  std::swap(out_, next_);
  out_at_ = 0;
  writing_ = true;
  write();
}

void Connection::write() {
  write_deadline_ = Clock::now() + limits_.write_timeout;
  watch();
  transport_->write_some(
      boost::asio::buffer(out_.bytes.data() + out_at_, out_.bytes.size() - out_at_),
      [self = shared_from_this(), this](BoostError ec, std::size_t bytes) {
        if (phase_ == Phase::kClosed) return;
        if (ec) return on_end_of_stream();
        on_written(bytes);
      });
}

void Connection::on_written(std::size_t bytes) {
  core_.sent_bytes.add(bytes);
  if (record_) record_->sent_bytes += bytes;
  out_at_ += bytes;
  if (out_at_ < out_.bytes.size()) return write();
  writing_ = false;
  write_deadline_ = Clock::time_point::max();
  if (exchange_) exchange_->written(out_.counted);
  // A long answer's memory is given back; a short one's serves the next.
  if (out_.bytes.capacity() > in_.size()) out_.bytes = {};
  out_.bytes.clear();
  out_.counted = 0;
  flush();
}

void Connection::end_answer() {
  if (exchange_) std::exchange(exchange_, nullptr)->detach();
  if (record_) end_record(record_->status);
  if (keep_ && !core_.draining) return begin_request();
  linger();
}

void Connection::end_record(int status) {
  KW_CHECK(record_.has_value());
  record_->status = status;
  record_->duration = Clock::now() - header_time_;
  loop_.record(*record_);
  record_.reset();
  core_.body_bytes -= std::exchange(body_counted_, 0);
  core_.running_requests.add(-1);
  core_.running.end();
}

// A socket that is closed with unread bytes resets the connection, which could take the answer from
// the client: we say that we are done, and read until the client is too.
void Connection::linger() {
  phase_ = Phase::kLinger;
  set_phase_deadline(Clock::now() + limits_.linger_timeout);
  unread_.clear();
  bool encrypted = transport_->encrypted();
  transport_->shutdown([self = shared_from_this(), this, encrypted](BoostError /*ec*/) {
    if (encrypted && phase_ == Phase::kLinger) close();
  });
  if (!encrypted) read();
}

void Connection::close() {
  if (phase_ == Phase::kClosed) return;
  auto self = shared_from_this();
  phase_ = Phase::kClosed;
  if (auto exchange = std::exchange(exchange_, nullptr)) {
    exchange->request_stop();  // first: who is told "gone" may look at the token
    exchange->detach();
  }
  if (record_) end_record(499);
  timer_.cancel();
  transport_->close();
  if (admitted_) {
    core_.addresses.leave(peer_);
    core_.open_connections.add(-1);
  } else {
    --core_.refused_open;
  }
  loop_.connections.erase(self);
}

}  // namespace kw::net
