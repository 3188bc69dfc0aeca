// Server-sent events (text/event-stream), as the WHATWG HTML standard, section 9.2.6, says:
// a writer, and a parser that takes the stream in pieces.
#pragma once
#include <chrono>
#include <cstddef>
#include <functional>
#include <optional>
#include <string>
#include <string_view>

#include "base/result.h"

namespace kw::net {

struct SseEvent {
  std::string type;  // "" as written: a reader takes it for "message"
  std::string data;  // lines joined by LF
  std::string id;    // of this event or the last one that had one
};

// One event as text, each line of data a field of its own. CR and CRLF in data become LF for the
// reader. type and id must not have line breaks, nor the id NUL (KW_CHECK); "" leaves them out.
std::string format_event(const SseEvent& event);
// ": text": a comment, which keeps a connection from being taken for idle. Lines as data.
std::string format_comment(std::string_view text);

// Not thread-safe.
class SseParser {
 public:
  // max_event_bytes: of one event's lines, its names of fields included.
  explicit SseParser(std::size_t max_event_bytes = std::size_t{1} << 20U)
      : max_event_bytes_(max_event_bytes) {}

  // Calls on_event for each event that the bytes complete; false from it ends the parsing of these
  // bytes. An event without the empty line after it is dropped at the stream's end, as the standard
  // says. kResourceExhausted when an event is over the limit: the parser is then of no more use.
  // Bytes that are not UTF-8 are kept as they are.
  Status feed(std::string_view bytes, const std::function<bool(const SseEvent&)>& on_event);

  // The last "retry" field: how long to wait before connecting again.
  std::optional<std::chrono::milliseconds> retry() const { return retry_; }

 private:
  bool take_line(const std::function<bool(const SseEvent&)>& on_event);
  void take_field(std::string_view name, std::string_view value);

  std::size_t max_event_bytes_;
  std::string line_;
  std::string type_, data_, last_id_;
  std::optional<std::chrono::milliseconds> retry_;
  std::size_t event_bytes_ = 0;
  bool first_line_ = true;  // may begin with a byte order mark
  bool after_cr_ = false;   // an LF that comes now belongs to that line's end
};

}  // namespace kw::net
