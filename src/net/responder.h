// How a handler answers: whole with send(), or piece by piece with stream().
//
// Both objects may be moved to, and used from, any thread, by one thread at a time. They outlive
// the connection and the server safely: what is written then goes nowhere. Nothing here throws.
#pragma once
#include <cstddef>
#include <memory>
#include <stop_token>
#include <string_view>

#include "net/http_message.h"

namespace kw::net {

class Exchange;

// What became of a piece of a stream.
enum class Wrote {
  kTaken,  // in the send buffer
  kFull,   // not taken: the peer is slower than the stream, and the send buffer has its fill
  kGone,   // the client, its deadline or the server ended the connection: give up
};

// An answer under way. Without finish() its destruction cuts the connection, so that the client
// sees that the answer is not whole.
class ResponseStream {
 public:
  explicit ResponseStream(std::shared_ptr<Exchange> exchange);
  ResponseStream(ResponseStream&& other) noexcept;
  ResponseStream& operator=(ResponseStream&& other) noexcept;
  ~ResponseStream();

  // Never waits. A piece is taken whole when the send buffer is not full yet.
  Wrote try_write(std::string_view bytes);
  // Waits until there is room: true, or false when the connection is gone. A peer that takes
  // nothing for ServerOptions::limits.write_timeout is gone. Not on an io thread (KW_CHECK).
  bool write(std::string_view bytes);
  // The answer is whole. Waits for nothing.
  void finish();
  std::size_t waiting_bytes() const;  // written and not yet handed to the system
  std::stop_token stop_token() const;

 private:
  std::shared_ptr<Exchange> exchange_;
};

// The duty to answer one request. Destroyed unused it answers 500.
class Responder {
 public:
  explicit Responder(std::shared_ptr<Exchange> exchange);
  Responder(Responder&& other) noexcept;
  Responder& operator=(Responder&& other) noexcept;
  ~Responder();

  // One of these, once (KW_CHECK).
  void send(Response response);
  // Sends status and fields; head.body is the first piece. The pieces are framed as chunks.
  ResponseStream stream(Response head);

  // Stop is requested when nobody waits for the answer any more: the client disconnected, the
  // request's deadline passed, or the server stops. Callbacks run on an io thread: they must be
  // short and must not wait. Not requested when the answer has been sent. Comes just before kGone.
  std::stop_token stop_token() const;

 private:
  std::shared_ptr<Exchange> exchange_;
};

// 200 with the fields of an event stream; pieces are those of net/sse.h.
Response event_stream_head();

}  // namespace kw::net
