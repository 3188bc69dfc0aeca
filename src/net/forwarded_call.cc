// Connect or take a connection, write the request, read the answer, and hand it on.
#include "net/forwarded_call.h"

#include <algorithm>
#include <charconv>
#include <utility>

#include <boost/asio/connect.hpp>
#include <boost/asio/error.hpp>
#include <boost/asio/post.hpp>
#include <fmt/format.h>
#include <openssl/ssl.h>
#include <sys/socket.h>

#include "net/dead_peer.h"
#include "net/forwarded_request.h"
#include "net/replies.h"

namespace kw::net {
namespace {

namespace asio = boost::asio;
using tcp = asio::ip::tcp;

constexpr std::size_t kMaxHeaderBytes = 65536;
constexpr std::size_t kMaxIdle = 64;
constexpr std::chrono::seconds kKeepIdle{20};  // less than a server waits for the next request
constexpr std::chrono::milliseconds kRoomPause{10};  // until a full stream is tried again
// An answer is sent as a whole, with its length, up to here: then its client gets an error where
// the connection breaks, instead of a part.
constexpr std::size_t kMaxWholeBytes = std::size_t{16} << 20U;

bool is_repeatable(std::string_view method) {
  constexpr std::array<std::string_view, 5> kIdempotent = {"GET", "HEAD", "OPTIONS", "PUT",
                                                           "DELETE"};
  return std::ranges::find(kIdempotent, method) != kIdempotent.end();
}

// Nothing without the field, or where it is no number.
std::optional<std::size_t> length_of(const Headers& fields) {
  const std::string* text = fields.find("Content-Length");
  std::size_t out = 0;
  if (text == nullptr) return std::nullopt;
  const auto [end, error] = std::from_chars(text->data(), text->data() + text->size(), out);
  if (error != std::errc() || end != text->data() + text->size()) return std::nullopt;
  return out;
}

}  // namespace

std::unique_ptr<Transport> ForwardTarget::take() {
  const auto now = std::chrono::steady_clock::now();
  while (!idle_.empty() && now - idle_.front().since > kKeepIdle) idle_.pop_front();
  while (!idle_.empty()) {
    std::unique_ptr<Transport> out = std::move(idle_.back().transport);
    idle_.pop_back();
    char byte = 0;
    const ssize_t got = ::recv(out->socket().native_handle(), &byte, 1, MSG_PEEK | MSG_DONTWAIT);
    if (got < 0 && (errno == EAGAIN || errno == EWOULDBLOCK)) return out;
  }
  return nullptr;
}

void ForwardTarget::put(std::unique_ptr<Transport> transport) {
  idle_.push_back({std::move(transport), std::chrono::steady_clock::now()});
  if (idle_.size() > kMaxIdle) idle_.pop_front();
}

ForwardedCall::ForwardedCall(ForwarderCore& core, std::shared_ptr<ForwardTarget> target,
                             const Request& request, Responder responder, Adapt adapt)
    : core_(core),
      target_(std::move(target)),
      text_(forwarded_request(request, target_->origin)),
      is_repeatable_(is_repeatable(request.method)),
      minor_version_(request.minor_version),
      responder_(std::make_unique<Responder>(std::move(responder))),
      adapt_(std::move(adapt)),
      timer_(core.io),
      resolver_(core.io) {}

template <typename Next>
auto ForwardedCall::unless_over(Next next) {
  return [self = shared_from_this(), connection = connection_, next = std::move(next)](
             const BoostError& error, const auto&... more) {
    if (!self->is_over_ && connection == self->connection_) next(error, more...);
  };
}

void ForwardedCall::start() {
  core_.calls.insert(shared_from_this());
  on_leave_.emplace(responder_->stop_token(), [weak = weak_from_this(), &io = core_.io] {
    asio::post(io, [weak] {
      if (auto self = weak.lock()) self->leave();
    });
  });
  if (text_.empty()) {
    Response response = error_response(400, "the request cannot be forwarded");
    adapt_(response);
    core_.refused.add();
    responder_->send(std::move(response));
    return end();
  }
  transport_ = target_->take();
  is_reused_ = transport_ != nullptr;
  if (is_reused_) return exchange();
  connect();
}

void ForwardedCall::connect() {
  transport_ = make_plain_transport(tcp::socket(core_.io));
  timer_.expires_after(core_.connect_timeout);
  timer_.async_wait(unless_over([this](const BoostError& error) {
    if (!error) on_unreachable("not connected in time");
  }));
  const Url& to = target_->origin;
  BoostError not_an_address;
  const auto address = asio::ip::make_address(to.host, not_an_address);
  if (!not_an_address) {
    transport_->socket().async_connect(
        {address, to.port}, unless_over([this](const BoostError& error) { on_connected(error); }));
    return;
  }
  resolver_.async_resolve(
      to.host, std::to_string(to.port), tcp::resolver::numeric_service,
      unless_over([this](const BoostError& error, const tcp::resolver::results_type& found) {
        if (error) return on_unreachable(error.message());
        asio::async_connect(transport_->socket(), found,
                            unless_over([this](const BoostError& failed, const auto& /*end*/) {
                              on_connected(failed);
                            }));
      }));
}

void ForwardedCall::on_connected(const BoostError& error) {
  if (error) return on_unreachable(error.message());
  BoostError unused;
  transport_->socket().set_option(tcp::no_delay(true),
                                  unused);  // NOLINT(bugprone-unused-return-value): a hint
  notice_dead_peer(transport_->socket().native_handle());
  if (!target_->tls) return exchange();
  transport_ =
      make_tls_client(std::move(transport_->socket()), *target_->tls, target_->origin.host);
  transport_->handshake(unless_over([this](const BoostError& failed) {
    if (!failed) return exchange();
    const SSL* ssl = tls_handle(*transport_);
    const long verified = ssl == nullptr ? X509_V_OK : SSL_get_verify_result(ssl);
    if (verified != X509_V_OK)
      return on_unreachable(fmt::format("its TLS certificate is not trusted: {}",
                                        X509_verify_cert_error_string(verified)));
    on_unreachable(fmt::format("TLS handshake: {}", failed.message()));
  }));
}

void ForwardedCall::exchange() {
  timer_.cancel();
  parser_ = std::make_unique<ResponseParser>(false, kMaxHeaderBytes);
  written_ = 0;
  write();
  read();
}

void ForwardedCall::write() {
  is_writing_ = true;
  transport_->write_some(asio::buffer(text_.data() + written_, text_.size() - written_),
                         unless_over([this](const BoostError& error, std::size_t bytes) {
                           // A server that refuses a body may answer before it has read it: what
                           // can be read tells.
                           if (error) return;
                           written_ += bytes;
                           is_writing_ = written_ < text_.size();
                           if (is_writing_) write();
                         }));
}

void ForwardedCall::read() {
  transport_->read_some(
      asio::buffer(in_),
      unless_over([this](const BoostError& error, std::size_t bytes) { on_read(error, bytes); }));
}

void ForwardedCall::on_read(const BoostError& error, std::size_t bytes) {
  if (error) return on_broken(error == asio::error::eof ? "it was closed" : error.message());
  got_bytes_ = true;
  unread_.append(in_.data(), bytes);
  const Result<std::size_t> taken = parser_->feed(unread_);
  if (!taken) return on_broken(taken.error().message());
  unread_.erase(0, *taken);
  if (!parser_->header_done()) return read();
  on_answer();
}

// The header is there, and perhaps more.
void ForwardedCall::on_answer() {
  if (stream_) return pass_on();
  if (parser_->ends_with_stream()) return on_broken("the answer does not tell its end");
  const std::optional<std::size_t> length = length_of(parser_->headers());
  const bool is_stream = parser_->headers().has("Transfer-Encoding") ||
                         (length.value_or(0) > kMaxWholeBytes && minor_version_ == 1);
  Response head{parser_->status(), end_to_end_fields(parser_->headers()), {}};
  if (is_stream) return begin_stream(std::move(head));
  body_ += parser_->take_body();
  if (!parser_->done()) return read();
  head.body = std::move(body_);
  adapt_(head);
  keep_connection();
  core_.answered.add();
  responder_->send(std::move(head));
  end();
}

void ForwardedCall::begin_stream(Response head) {
  stream_ = std::make_unique<ResponseStream>(responder_->stream(std::move(head)));
  responder_.reset();
  pass_on();
}

void ForwardedCall::pass_on() {
  piece_ += parser_->take_body();
  if (!piece_.empty()) {
    const Wrote wrote = stream_->try_write(piece_);
    if (wrote == Wrote::kGone) return leave();
    if (wrote == Wrote::kFull) {  // nothing more is read until there is room
      timer_.expires_after(kRoomPause);
      timer_.async_wait(unless_over([this](const BoostError& error) {
        if (!error) pass_on();
      }));
      return;
    }
    piece_.clear();
  }
  if (!parser_->done()) return read();
  keep_connection();
  core_.answered.add();
  stream_->finish();
  end();
}

void ForwardedCall::keep_connection() {
  if (!is_writing_ && unread_.empty() && parser_->keep_alive()) target_->put(std::move(transport_));
}

void ForwardedCall::on_unreachable(std::string_view why) {
  give_up(
      fmt::format("{} leads, and cannot be reached from here: {}", target_->origin.origin(), why));
}

void ForwardedCall::on_broken(std::string_view why) {
  // A kept connection may have been closed just before; a new one tells.
  if (std::exchange(is_reused_, false) && !got_bytes_ && is_repeatable_) {
    ++connection_;
    transport_->close();
    retired_.push_back(std::move(transport_));
    return connect();
  }
  give_up(
      fmt::format("the connection to {}, which leads, broke, and the request may have been "
                  "carried out: {}",
                  target_->origin.origin(), why));
}

void ForwardedCall::give_up(std::string_view why) {
  if (is_over_) return;
  core_.broken.add();
  if (responder_) {
    Response response = retry_later(kForwardRetryAfter, why, 503);
    adapt_(response);
    responder_->send(std::move(response));
  }
  end();
}

void ForwardedCall::leave() {
  if (is_over_) return;
  core_.left.add();
  end();
}

// A stream that is not finished by now is cut. The call was counted before its answer went out:
// whoever has the answer finds it in the metrics.
void ForwardedCall::end() {
  const auto self = shared_from_this();
  is_over_ = true;
  on_leave_.reset();
  responder_.reset();
  stream_.reset();
  timer_.cancel();
  resolver_.cancel();
  if (transport_) transport_->close();
  core_.calls.erase(self);
}

}  // namespace kw::net
