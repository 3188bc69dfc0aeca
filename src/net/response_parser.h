// From bytes to answers, without a socket: what the client reads.
#pragma once
#include <cstddef>
#include <memory>
#include <string>
#include <string_view>

#include "base/result.h"
#include "net/headers.h"

namespace kw::net {

// One answer; 1xx answers are skipped. Not thread-safe.
class ResponseParser {
 public:
  // to_head: the answer to a HEAD request, which has no body.
  ResponseParser(bool to_head, std::size_t max_header_bytes);
  ~ResponseParser();

  // Takes from the front of `bytes` and says how many; the rest is to be given again, with more
  // behind it. kUnsupported when this is no HTTP/1.1 answer, kResourceExhausted over the limit.
  // Of a chunked body, fewer than kMaxWaitingOfChunks bytes are not looked at until more come.
  static constexpr std::size_t kMaxWaitingOfChunks = 5;
  Result<std::size_t> feed(std::string_view bytes);
  // kUnavailable when the answer is not whole.
  Status end_of_stream();

  bool header_done() const;
  bool done() const;
  bool keep_alive() const;        // of use when done
  bool ends_with_stream() const;  // neither a length nor chunks
  int status() const;
  const Headers& headers() const;
  // What the last feed() decoded of the body.
  std::string take_body();

 private:
  struct State;
  std::unique_ptr<State> state_;
};

}  // namespace kw::net
