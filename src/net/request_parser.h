// From bytes to requests, without a socket: what the server reads, and what the fuzzer feeds.
//
// A first pass over the header refuses whatever two programs could read differently (bare CR or LF,
// folded lines, control bytes), Beast's parser then takes it apart and decodes the body, and its
// callbacks check the rest: one Content-Length, of digits only; Transfer-Encoding exactly
// "chunked"; never both; one Host; a target that is a path. Trailer fields and chunk extensions are
// read and dropped.
#pragma once
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include "net/http_message.h"
#include "net/limits.h"

namespace kw::net {

// One request. Not thread-safe.
class RequestParser {
 public:
  enum class Event {
    kNeedMore,
    kHeader,    // once, before the body: now limit_body() may be called
    kComplete,  // request() is whole; the bytes after it belong to the next one
    kError,     // error() says which answer to give; the connection cannot go on
  };
  struct Failure {
    int status = 400;
    std::string message;
  };

  explicit RequestParser(const Limits& limits);
  ~RequestParser();

  // Takes from the front of `bytes` and says how many in `consumed`; the rest is to be given again,
  // with more behind it. Never more than header_bytes stay unconsumed; of a chunked body, fewer
  // than kMaxWaitingOfChunks bytes are not looked at until more come.
  static constexpr std::size_t kMaxWaitingOfChunks = 5;
  Event feed(std::string_view bytes, std::size_t& consumed);

  // After kHeader: kError with 413 from the next feed() when the body is longer.
  void limit_body(std::size_t bytes);

  bool started() const;  // a byte of the request has been seen
  bool has_body() const;
  std::optional<std::uint64_t> content_length() const;
  bool keep_alive() const;
  Request& request();
  const Failure& error() const;

 private:
  struct State;
  std::unique_ptr<State> state_;
};

}  // namespace kw::net
