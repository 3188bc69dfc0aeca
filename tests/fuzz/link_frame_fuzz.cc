// Frames and messages of the link: the same in pieces of any size; what was read is written and
// read again.
#include "fuzz.h"
#include "link/frame.h"
#include "link/model_messages.h"

namespace kw::fuzz {
namespace {

constexpr std::size_t kMaxFrameBody = 4096;

// The bodies before the first that cannot be.
std::vector<std::string> frames_in(std::string_view bytes, std::size_t piece) {
  std::vector<std::string> out;
  link::FrameParser parser(kMaxFrameBody);
  for (; !bytes.empty(); bytes.remove_prefix(std::min(piece, bytes.size()))) {
    parser.feed(bytes.substr(0, piece));
    for (;;) {
      auto body = parser.next();
      if (!accepted(body)) return out;
      if (!*body) break;
      KW_CHECK(!(*body)->empty() && (*body)->size() <= kMaxFrameBody);
      out.emplace_back(**body);
    }
  }
  return out;
}

bool is_engines(const Json& value) {
  return value.is_object() && value.contains("engine");
}

void check_message(std::string_view body) {
  auto value = parse_json(body);
  if (!accepted(value)) return;
  if (is_engines(*value)) {
    value->erase("engine");
    round_trip(value->dump(-1, ' ', false, Json::error_handler_t::replace),
               link::engine_message_from_json,
               [](const link::EngineMessage& message) { return to_json(message); });
  } else {
    round_trip(body, link::front_message_from_json,
               [](const link::FrontMessage& message) { return to_json(message); });
  }
}

}  // namespace

KW_FUZZ(link_frame, text) {
  const std::vector<std::string> bodies = frames_in(text, text.size() + 1);
  KW_CHECK(frames_in(text, 1) == bodies);
  KW_CHECK(frames_in(text, 3) == bodies);
  std::string written;
  for (const std::string& body : bodies) {
    KW_CHECK(link::append_frame(written, body));
    check_message(body);
  }
  KW_CHECK(text.substr(0, written.size()) == written);
  check_message(text);  // most inputs are no frames
}

}  // namespace kw::fuzz
