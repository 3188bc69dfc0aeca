// Hands a handler's answer to the exchange that it shares with the connection.
#include "net/responder.h"

#include <utility>

#include "base/check.h"
#include "net/exchange.h"

namespace kw::net {

ResponseStream::ResponseStream(std::shared_ptr<Exchange> exchange)
    : exchange_(std::move(exchange)) {}
ResponseStream::ResponseStream(ResponseStream&& other) noexcept = default;

ResponseStream& ResponseStream::operator=(ResponseStream&& other) noexcept {
  std::swap(exchange_, other.exchange_);
  return *this;
}

ResponseStream::~ResponseStream() {
  if (exchange_) exchange_->abandon();
}

Wrote ResponseStream::try_write(std::string_view bytes) {
  KW_CHECK(exchange_);
  return exchange_->try_write(bytes);
}

bool ResponseStream::write(std::string_view bytes) {
  KW_CHECK(exchange_);
  return exchange_->write(bytes);
}

void ResponseStream::finish() {
  KW_CHECK(exchange_);
  exchange_->finish();
}

std::size_t ResponseStream::waiting_bytes() const {
  KW_CHECK(exchange_);
  return exchange_->waiting_bytes();
}

std::stop_token ResponseStream::stop_token() const {
  KW_CHECK(exchange_);
  return exchange_->stop_token();
}

Responder::Responder(std::shared_ptr<Exchange> exchange) : exchange_(std::move(exchange)) {}
Responder::Responder(Responder&& other) noexcept = default;

Responder& Responder::operator=(Responder&& other) noexcept {
  std::swap(exchange_, other.exchange_);
  return *this;
}

Responder::~Responder() {
  if (exchange_) exchange_->abandon();
}

void Responder::send(Response response) {
  KW_CHECK(exchange_);
  std::exchange(exchange_, nullptr)->send(std::move(response));
}

ResponseStream Responder::stream(Response head) {
  KW_CHECK(exchange_);
  exchange_->start(std::move(head));
  return ResponseStream(std::exchange(exchange_, nullptr));
}

std::stop_token Responder::stop_token() const {
  KW_CHECK(exchange_);
  return exchange_->stop_token();
}

Response event_stream_head() {
  Response head;
  head.headers.add("Content-Type", "text/event-stream");
  head.headers.add("Cache-Control", "no-cache");
  head.headers.add("X-Accel-Buffering", "no");  // a proxy (nginx) must not hold events back
  return head;
}

}  // namespace kw::net
