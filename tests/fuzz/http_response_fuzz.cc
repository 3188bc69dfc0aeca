// Answers that the client reads: the same in pieces of any size (but for the last bytes of a cut
// chunked body), and bounded.
#include "fuzz.h"
#include "net/response_parser.h"

namespace kw::fuzz {
namespace {

constexpr std::size_t kMaxHeader = 1024;

std::string answer_in(std::string_view bytes, std::size_t piece, bool to_head) {
  net::ResponseParser parser(to_head, kMaxHeader);
  std::string unread;
  std::string body;
  while (!bytes.empty() && !parser.done()) {
    unread += bytes.substr(0, piece);
    bytes.remove_prefix(std::min(piece, bytes.size()));
    auto consumed = parser.feed(unread);
    if (!accepted(consumed)) return "refused";
    KW_CHECK(*consumed <= unread.size());
    unread.erase(0, *consumed);
    KW_CHECK(parser.done() || unread.size() <= kMaxHeader);
    body += parser.take_body();
  }
  auto end = parser.end_of_stream();
  if (!accepted(end)) return "cut " + body;
  KW_CHECK(parser.status() >= 200 && parser.status() <= 599);
  KW_CHECK(!to_head || body.empty());
  return std::to_string(parser.status()) + body;
}

bool same_but_for_a_cut_end(const std::string& pieces, const std::string& whole) {
  if (whole == pieces || whole == "refused") return true;
  return whole.starts_with("cut ") && whole.starts_with(pieces) &&
         whole.size() - pieces.size() < net::ResponseParser::kMaxWaitingOfChunks;
}

}  // namespace

KW_FUZZ(http_response, text) {
  for (bool to_head : {false, true}) {
    std::string whole = answer_in(text, text.size() + 1, to_head);
    KW_CHECK(same_but_for_a_cut_end(answer_in(text, 7, to_head), whole));
  }
}

}  // namespace kw::fuzz
