// Beast's parser with our callbacks and limits.
#include "net/response_parser.h"

#include <optional>
#include <utility>

#include <boost/asio/buffer.hpp>
#include <boost/beast/http/basic_parser.hpp>

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
  std::optional<BeastResponseParser> parser;

  void begin() {
    parser.emplace();
    parser->eager(true);
    parser->header_limit(static_cast<std::uint32_t>(max_header_bytes));
    parser->body_limit(boost::none);
    parser->skip(to_head);
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
  constexpr std::size_t kMostInterim = 16;
  std::size_t consumed = 0;
  while (!bytes.empty() && !done()) {
    BeastResponseParser& parser = *state_->parser;
    // As in request_parser.cc: Beast relies on a chunked body's least rest.
    if (header_done() && parser.chunked() && bytes.size() < kMostWaitingOfChunks) break;
    error_code ec;
    std::size_t taken = parser.put(asio::const_buffer(bytes.data(), bytes.size()), ec);
    consumed += taken;
    bytes.remove_prefix(taken);
    if (ec == http::error::header_limit)
      return fail(ErrorCode::kResourceExhausted, "the answer's header is longer than {}",
                  format_bytes(state_->max_header_bytes));
    if (ec && ec != http::error::need_more)
      return fail(ErrorCode::kUnsupported, "the answer is malformed: {}", ec.message());
    if (parser.is_done() && parser.status / 100 == 1) {
      if (++state_->interim > kMostInterim)
        return fail(ErrorCode::kUnsupported, "the answer is malformed: too many 1xx answers");
      state_->begin();
      continue;
    }
    if (taken == 0) break;
  }
  if (!done() && bytes.size() > state_->max_header_bytes)
    return fail(ErrorCode::kResourceExhausted, "the answer's header or trailer is longer than {}",
                format_bytes(state_->max_header_bytes));
  return consumed;
}

Status ResponseParser::end_of_stream() {
  if (done()) return {};
  error_code ec = http::error::partial_message;
  if (header_done() && ends_with_stream()) state_->parser->put_eof(ec);
  if (!ec) return {};
  return fail(ErrorCode::kUnavailable, "the connection was closed {}",
              header_done() ? "in the middle of the answer" : "before the answer");
}

bool ResponseParser::header_done() const {
  return state_->parser->header_complete && state_->parser->status / 100 != 1;
}

bool ResponseParser::done() const {
  return header_done() && state_->parser->is_done();
}

bool ResponseParser::keep_alive() const {
  return done() && state_->parser->keep_alive();
}

bool ResponseParser::ends_with_stream() const {
  return header_done() && state_->parser->need_eof();
}

int ResponseParser::status() const {
  return state_->parser->status;
}

const Headers& ResponseParser::headers() const {
  return state_->parser->headers;
}

std::string ResponseParser::take_body() {
  return std::exchange(state_->parser->body, {});
}

}  // namespace kw::net
