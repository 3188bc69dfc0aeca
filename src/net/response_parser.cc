// Beast's parser with our callbacks and limits.
#include "net/response_parser.h"

#include <optional>
#include <utility>

#include <boost/asio/buffer.hpp>
#include <boost/beast/http/basic_parser.hpp>

#include "base/check.h"
#include "base/text.h"

namespace kw::net {
namespace {

namespace asio = boost::asio;
namespace http = boost::beast::http;
using boost::beast::error_code;
using boost::beast::string_view;

class BeastResponseParser : public http::basic_parser<false> {
 public:
  int status = 0;
  Headers headers;
  std::string body;
  bool header_complete = false;

 private:
  void on_request_impl(http::verb /*verb*/, string_view /*method*/, string_view /*target*/,
                       int /*version*/, error_code& /*ec*/) override {}

  void on_response_impl(int code, string_view /*reason*/, int /*version*/,
                        error_code& ec) override {
    status = code;
    if (code < 100 || code > 599 || code == 101) ec = http::error::bad_status;
  }

  void on_field_impl(http::field field, string_view name, string_view value,
                     error_code& ec) override {
    if (header_complete) return;  // a trailer
    std::string_view text(value.data(), value.size());
    if (field == http::field::transfer_encoding && !equals_ignoring_case(text, "chunked"))
      ec = http::error::bad_transfer_encoding;
    headers.add({name.data(), name.size()}, text);
  }

  void on_header_impl(error_code& /*ec*/) override { header_complete = true; }
  void on_body_init_impl(const boost::optional<std::uint64_t>& /*length*/,
                         error_code& /*ec*/) override {}
  std::size_t on_body_impl(string_view bytes, error_code& /*ec*/) override {
    body.append(bytes.data(), bytes.size());
    return bytes.size();
  }
  void on_chunk_header_impl(std::uint64_t /*size*/, string_view /*extensions*/,
                            error_code& /*ec*/) override {}
  std::size_t on_chunk_body_impl(std::uint64_t /*remain*/, string_view bytes,
                                 error_code& /*ec*/) override {
    body.append(bytes.data(), bytes.size());
    return bytes.size();
  }
  void on_finish_impl(error_code& /*ec*/) override {}
};

}  // namespace

struct ResponseParser::State {
  bool to_head = false;
  std::size_t max_header_bytes = 0;
  std::size_t interim = 0;
  std::size_t header_bytes = 0;  // of this answer, taken so far
  std::optional<BeastResponseParser> parser;

  BeastResponseParser& running() {
    KW_CHECK(parser.has_value());
    return *parser;
  }
  void begin() {
    parser.emplace();
    parser->eager(false);
    // Beast's own limit depends on how the bytes come in pieces: ours is the narrower one.
    parser->header_limit(static_cast<std::uint32_t>(2 * max_header_bytes));
    parser->body_limit(boost::none);
    parser->skip(to_head);
    header_bytes = 0;
  }
  tl::unexpected<Error> too_long() const {
    return fail(ErrorCode::kResourceExhausted, "the answer's header or trailer is longer than {}",
                format_bytes(max_header_bytes));
  }
};

ResponseParser::ResponseParser(bool to_head, std::size_t max_header_bytes)
    : state_(std::make_unique<State>()) {
  state_->to_head = to_head;
  state_->max_header_bytes = max_header_bytes;
  state_->begin();
}
ResponseParser::~ResponseParser() = default;

Result<std::size_t> ResponseParser::feed(std::string_view bytes) {
  constexpr std::size_t kMaxInterim = 16;
  std::size_t consumed = 0;
  while (!bytes.empty() && !done()) {
    BeastResponseParser& parser = state_->running();
    const bool in_header = !parser.header_complete;
    // As in request_parser.cc: Beast relies on a chunked body's least rest.
    if (!in_header && parser.chunked() && bytes.size() < kMaxWaitingOfChunks) break;
    error_code ec;
    parser.eager(!in_header);
    std::size_t taken = parser.put(asio::const_buffer(bytes.data(), bytes.size()), ec);
    consumed += taken;
    bytes.remove_prefix(taken);
    if (in_header) state_->header_bytes += taken;
    if (state_->header_bytes > state_->max_header_bytes || ec == http::error::header_limit)
      return state_->too_long();
    if (ec && ec != http::error::need_more)
      return fail(ErrorCode::kUnsupported, "the answer is malformed: {}", ec.message());
    if (parser.is_done() && parser.status / 100 == 1) {
      if (++state_->interim > kMaxInterim)
        return fail(ErrorCode::kUnsupported, "the answer is malformed: too many 1xx answers");
      state_->begin();
      continue;
    }
    if (taken == 0) break;
  }
  const std::size_t before = header_done() ? 0 : state_->header_bytes;
  if (!done() && before + bytes.size() > state_->max_header_bytes) return state_->too_long();
  return consumed;
}

Status ResponseParser::end_of_stream() {
  if (done()) return {};
  error_code ec = http::error::partial_message;
  if (header_done() && ends_with_stream()) state_->running().put_eof(ec);
  if (!ec) return {};
  return fail(ErrorCode::kUnavailable, "the connection was closed {}",
              header_done() ? "in the middle of the answer" : "before the answer");
}

bool ResponseParser::header_done() const {
  return state_->running().header_complete && state_->running().status / 100 != 1;
}

bool ResponseParser::done() const {
  return header_done() && state_->running().is_done();
}

bool ResponseParser::keep_alive() const {
  return done() && state_->running().keep_alive();
}

bool ResponseParser::ends_with_stream() const {
  return header_done() && state_->running().need_eof();
}

int ResponseParser::status() const {
  return state_->running().status;
}

const Headers& ResponseParser::headers() const {
  return state_->running().headers;
}

std::string ResponseParser::take_body() {
  return std::exchange(state_->running().body, {});
}

}  // namespace kw::net
