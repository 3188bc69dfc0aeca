// Server-sent events: the same in pieces of any size; what was read is written and read again.
#include "fuzz.h"
#include "net/sse.h"

namespace kw::fuzz {
namespace {

std::vector<net::SseEvent> events_in(std::string_view bytes, std::size_t piece) {
  std::vector<net::SseEvent> out;
  net::SseParser parser;
  for (; !bytes.empty(); bytes.remove_prefix(std::min(piece, bytes.size()))) {
    KW_CHECK(accepted(parser.feed(bytes.substr(0, piece), [&](const net::SseEvent& event) {
      out.push_back(event);
      return true;
    })));
  }
  return out;
}

void check_equal(const std::vector<net::SseEvent>& a, const std::vector<net::SseEvent>& b) {
  KW_CHECK(a.size() == b.size());
  for (std::size_t i = 0; i < a.size(); ++i)
    KW_CHECK(a[i].type == b[i].type && a[i].data == b[i].data && a[i].id == b[i].id);
}

}  // namespace

KW_FUZZ(event_stream, text) {
  std::vector<net::SseEvent> events = events_in(text, text.size() + 1);
  check_equal(events_in(text, 1), events);
  check_equal(events_in(text, 3), events);
  std::string written;
  for (const net::SseEvent& event : events) {
    KW_CHECK(event.data.find('\r') == std::string::npos);
    // An empty id is not written, and the one before would stay.
    if (event.id.empty()) written += "id\n";
    written += net::format_event(event);
  }
  check_equal(events_in(written, written.size() + 1), events);
  events_in(net::format_comment(text), 64);
  KW_CHECK(events_in(net::format_comment(text), 64).empty());
}

}  // namespace kw::fuzz
