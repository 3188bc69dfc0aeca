// The strict pass over the header, and Beast's parser with our callbacks.
#include "net/request_parser.h"

#include <algorithm>

#include <boost/asio/buffer.hpp>
#include <boost/beast/http/basic_parser.hpp>

#include "base/check.h"
#include "base/text.h"
#include "net/url.h"

namespace kw::net {
namespace {

namespace asio = boost::asio;
namespace http = boost::beast::http;
using boost::beast::error_code;
using boost::beast::string_view;
using Failure = RequestParser::Failure;

// Until a chunked body is done, this much of it is still to come: "0\r\n\r\n". Beast 1.81 relies on
// getting that much after a last chunk that it saw in part (assertion in parse_chunk_header).
constexpr std::size_t kMinChunked = RequestParser::kMaxWaitingOfChunks;

std::string_view view(string_view text) {
  return {text.data(), text.size()};
}

// Finds the end of the header, and what must not be in it, one byte at a time.
class HeaderScan {
 public:
  explicit HeaderScan(const Limits& limits) : limits_(limits) {}

  // The header's length when its end is in `bytes`, which begins as it did before.
  std::optional<std::size_t> scan(std::string_view bytes) {
    for (; at_ < bytes.size(); ++at_) {
      if (at_ >= limits_.header_bytes) return refuse(431, "the header is too long");
      char c = bytes[at_];
      if (c == '\n') {
        if (previous_ != '\r') return refuse(400, "a line ends without CR");
        if (at_ - line_ == 1) return at_ + 1;
        if (++lines_ > limits_.header_fields + 1) return refuse(431, "too many header fields");
        line_ = at_ + 1;
      } else if (previous_ == '\r') {
        return refuse(400, "a CR without LF");
      } else if ((static_cast<unsigned char>(c) < 0x20 && c != '\t' && c != '\r') || c == 0x7f) {
        return refuse(400, "a control byte in the header");
      } else if (at_ == line_ && (c == ' ' || c == '\t')) {
        return refuse(400, "a folded header field, or white space before the request line");
      } else if (lines_ == 0 && at_ > limits_.target_bytes + kMaxAroundTarget) {
        return refuse(414, "the request target is too long");
      }
      previous_ = c;
    }
    return std::nullopt;
  }

  const std::optional<Failure>& failure() const { return failure_; }

 private:
  static constexpr std::size_t kMaxAroundTarget = 40;  // the method, the version, spaces

  std::nullopt_t refuse(int status, std::string_view message) {
    failure_ = Failure{status, std::string(message)};
    return std::nullopt;
  }

  const Limits& limits_;
  std::size_t at_ = 0, line_ = 0, lines_ = 0;
  char previous_ = '\0';
  std::optional<Failure> failure_;
};

// "/a/b?c", or "http://host/a/b?c" without its origin, or "*" of OPTIONS.
std::optional<std::string_view> origin_form(std::string_view method, std::string_view target) {
  for (std::string_view scheme : {"http://", "https://"}) {
    if (!equals_ignoring_case(target.substr(0, scheme.size()), scheme)) continue;
    std::size_t end = target.find_first_of("/?", scheme.size());
    if (end == scheme.size()) return std::nullopt;
    target = end == std::string_view::npos ? "/" : target.substr(end);
  }
  if (target.starts_with('/') || (target == "*" && method == "OPTIONS")) return target;
  return std::nullopt;
}

bool is_dot_segment(std::string_view segment) {
  auto text = percent_decode(segment);
  return text && (*text == "." || *text == "..");
}

std::optional<Failure> check_target(std::string_view path, std::string_view query) {
  bool visible =
      std::all_of(path.begin(), path.end(), [](char c) { return c > ' ' && c < '\x7f'; }) &&
      std::all_of(query.begin(), query.end(), [](char c) { return c > ' ' && c < '\x7f'; });
  if (!visible) return Failure{400, "the request target has other than visible ASCII characters"};
  if (path.find('#') != std::string_view::npos || query.find('#') != std::string_view::npos)
    return Failure{400, "the request target has a fragment"};
  if (!percent_decode(path)) return Failure{400, "the request target has a wrong percent escape"};
  std::vector<std::string> segments = split(path, '/');
  if (std::any_of(segments.begin(), segments.end(), is_dot_segment))
    return Failure{400, "the request target has a segment \".\" or \"..\""};
  return std::nullopt;
}

class BeastRequestParser : public http::basic_parser<true> {
 public:
  Request request;
  std::optional<Failure> failure;
  std::size_t target_bytes = 0;  // the limit
  bool header_done = false;

  bool has(std::string_view name) const { return request.headers.has(name); }

 private:
  void refuse(int status, std::string message, error_code& ec) {
    failure = Failure{status, std::move(message)};
    ec = http::error::bad_value;
  }

  void on_request_impl(http::verb /*verb*/, string_view method, string_view target, int version,
                       error_code& ec) override {
    request.method = view(method);
    request.minor_version = version % 10;
    if (target.size() > target_bytes) return refuse(414, "the request target is too long", ec);
    auto origin = origin_form(request.method, view(target));
    if (!origin) return refuse(400, "the request target must be a path", ec);
    std::size_t mark = std::min(origin->find('?'), origin->size());
    request.path = origin->substr(0, mark);
    request.query = origin->substr(std::min(mark + 1, origin->size()));
    if (auto bad = check_target(request.path, request.query))
      return refuse(bad->status, std::move(bad->message), ec);
  }

  void on_response_impl(int /*code*/, string_view /*reason*/, int /*version*/,
                        error_code& /*ec*/) override {}

  void on_field_impl(http::field field, string_view name, string_view value,
                     error_code& ec) override {
    if (header_done) return;  // a trailer
    bool single = field == http::field::content_length || field == http::field::transfer_encoding ||
                  field == http::field::host || field == http::field::content_type ||
                  field == http::field::authorization || field == http::field::expect;
    if (single && has(view(name))) return refuse(400, fmt::format("two fields {}", view(name)), ec);
    if (field == http::field::content_length &&
        !std::all_of(value.begin(), value.end(), kw::is_digit))
      return refuse(400, "Content-Length is no number", ec);
    if (field == http::field::transfer_encoding) {
      if (request.minor_version == 0) return refuse(400, "Transfer-Encoding in HTTP/1.0", ec);
      if (!equals_ignoring_case(view(value), "chunked"))
        return refuse(501, "the only Transfer-Encoding here is chunked", ec);
    }
    request.headers.add(view(name), view(value));
  }

  void on_header_impl(error_code& ec) override {
    header_done = true;
    if (request.minor_version == 1 && !has("Host")) refuse(400, "the field Host is missing", ec);
  }

  void on_body_init_impl(const boost::optional<std::uint64_t>& length,
                         error_code& /*ec*/) override {
    // A claim alone gets no more memory than this.
    constexpr std::uint64_t kMaxAhead = 65536;
    if (length) request.body.reserve(static_cast<std::size_t>(std::min(*length, kMaxAhead)));
  }

  std::size_t on_body_impl(string_view body, error_code& /*ec*/) override {
    request.body.append(body.data(), body.size());
    return body.size();
  }

  void on_chunk_header_impl(std::uint64_t /*size*/, string_view /*extensions*/,
                            error_code& /*ec*/) override {}

  std::size_t on_chunk_body_impl(std::uint64_t /*remain*/, string_view body,
                                 error_code& /*ec*/) override {
    request.body.append(body.data(), body.size());
    return body.size();
  }

  void on_finish_impl(error_code& /*ec*/) override {}
};

}  // namespace

struct RequestParser::State {
  explicit State(const Limits& l) : limits(l), scan(limits) {
    parser.header_limit(static_cast<std::uint32_t>(limits.header_bytes));
    parser.body_limit(boost::none);
    parser.target_bytes = limits.target_bytes;
  }

  Event fail(int status, std::string message) {
    failure = Failure{status, std::move(message)};
    return Event::kError;
  }

  Event fail(const error_code& ec) {
    if (parser.failure) return fail(parser.failure->status, parser.failure->message);
    if (ec == http::error::body_limit) return fail(413, "the body is too long");
    if (ec == http::error::header_limit) return fail(431, "the header is too long");
    if (ec == http::error::bad_version)
      return fail(505, "only HTTP/1.0 and HTTP/1.1 are spoken here");
    return fail(400, fmt::format("malformed request: {}", ec.message()));
  }

  Event feed_header(std::string_view bytes, std::size_t& consumed) {
    // One empty line before a request is forgiven (RFC 9112, section 2.2).
    if (!skipped_line && bytes.starts_with("\r\n")) {
      skipped_line = true;
      consumed = 2;
      return Event::kNeedMore;
    }
    if (bytes == "\r" && !skipped_line) return Event::kNeedMore;
    started = started || !bytes.empty();
    auto length = scan.scan(bytes);
    if (const auto& why = scan.failure(); why) return fail(why->status, why->message);
    if (!length) return Event::kNeedMore;
    error_code ec;
    parser.eager(false);
    consumed = parser.put(asio::const_buffer(bytes.data(), *length), ec);
    if (ec) return fail(ec);
    if (!parser.is_header_done() || consumed != *length)
      return fail(400, "malformed request: its header does not end where its empty line is");
    return Event::kHeader;
  }

  Event feed_body(std::string_view bytes, std::size_t& consumed) {
    if (parser.is_done()) return Event::kComplete;
    if (auto length = parser.content_length(); length && *length > body_limit)
      return fail(413, fmt::format("the body is longer than {}", format_bytes(body_limit)));
    if (bytes.empty() || (parser.chunked() && bytes.size() < kMinChunked)) return Event::kNeedMore;
    error_code ec;
    parser.eager(true);
    consumed = parser.put(asio::const_buffer(bytes.data(), bytes.size()), ec);
    if (ec && ec != http::error::need_more) return fail(ec);
    if (parser.is_done()) return Event::kComplete;
    // What stays is the line before a chunk, or trailers.
    if (bytes.size() - consumed > limits.header_bytes) return fail(431, "the trailer is too long");
    return Event::kNeedMore;
  }

  Limits limits;
  HeaderScan scan;
  BeastRequestParser parser;
  Failure failure;
  std::size_t body_limit = ~std::size_t{0};
  bool started = false;
  bool skipped_line = false;
  bool failed = false;
};

RequestParser::RequestParser(const Limits& limits) : state_(std::make_unique<State>(limits)) {}
RequestParser::~RequestParser() = default;

RequestParser::Event RequestParser::feed(std::string_view bytes, std::size_t& consumed) {
  consumed = 0;
  if (state_->failed) return Event::kError;
  Event event = state_->parser.header_done ? state_->feed_body(bytes, consumed)
                                           : state_->feed_header(bytes, consumed);
  state_->failed = event == Event::kError;
  return event;
}

void RequestParser::limit_body(std::size_t bytes) {
  state_->body_limit = bytes;
  state_->parser.body_limit(bytes);
}

bool RequestParser::started() const {
  return state_->started;
}

bool RequestParser::has_body() const {
  auto length = content_length();
  return state_->parser.chunked() || (length && *length > 0);
}

std::optional<std::uint64_t> RequestParser::content_length() const {
  if (!state_->parser.is_header_done()) return std::nullopt;
  auto length = state_->parser.content_length();
  return length ? std::optional<std::uint64_t>(*length) : std::nullopt;
}

bool RequestParser::keep_alive() const {
  return state_->parser.is_header_done() && state_->parser.keep_alive();
}

Request& RequestParser::request() {
  return state_->parser.request;
}

const RequestParser::Failure& RequestParser::error() const {
  return state_->failure;
}

}  // namespace kw::net
