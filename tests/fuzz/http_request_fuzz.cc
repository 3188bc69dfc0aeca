// Requests of the server: any bytes, in pieces of any size, give the same requests and the same
// refusal (but for one that the last bytes of a cut chunked body would bring); what is accepted
// keeps the promises of net/request_parser.h, and is accepted again, as one request that says the
// same, when it is written anew or forwarded.
#include "fuzz.h"
#include "net/forwarded_request.h"
#include "net/request_parser.h"
#include "net/router.h"
#include "net/url.h"

namespace kw::fuzz {
namespace {

using net::RequestParser;

struct RequestsRead {
  std::string text;  // of all requests and of the refusal
  std::vector<net::Request> requests;
  std::size_t unread = 0;  // bytes that wait for more
};

constexpr std::size_t kMaxBody = 4096;

net::Limits small_limits() {
  net::Limits limits;
  limits.target_bytes = 512;
  limits.header_bytes = 2048;
  limits.header_fields = 16;
  return limits;
}

// True when this request is at its end.
bool feed_all(RequestParser& parser, std::string& unread, RequestsRead& out, bool& refused) {
  for (;;) {
    std::size_t consumed = 0;
    RequestParser::Event event = parser.feed(unread, consumed);
    KW_CHECK(consumed <= unread.size());
    unread.erase(0, consumed);
    if (event == RequestParser::Event::kHeader) parser.limit_body(kMaxBody);
    if (event == RequestParser::Event::kError) {
      int status = parser.error().status;
      KW_CHECK(status >= 400 && status <= 505);
      KW_CHECK(parser.error().message.size() <= kMaxMessage);
      out.text += "refused " + std::to_string(status);
      refused = true;
      return true;
    }
    if (event == RequestParser::Event::kComplete) {
      const net::Request& request = parser.request();
      out.text += request.method + " " + request.path + "?" + request.query + "\n";
      for (const auto& field : request.headers.fields())
        out.text += field.name + ": " + field.value + "\n";
      out.text += request.body + "\n";
      out.requests.push_back(request);
      return true;
    }
    if (event == RequestParser::Event::kNeedMore && consumed == 0) {
      KW_CHECK(unread.size() <= small_limits().header_bytes);
      return false;
    }
  }
}

RequestsRead requests_in(std::string_view bytes, std::size_t piece) {
  RequestsRead out;
  net::Limits limits = small_limits();
  auto parser = std::make_unique<RequestParser>(limits);
  std::string unread;
  bool refused = false;
  while (!bytes.empty() && !refused) {
    unread += bytes.substr(0, piece);
    bytes.remove_prefix(std::min(piece, bytes.size()));
    while (!refused && feed_all(*parser, unread, out, refused)) {
      parser = std::make_unique<RequestParser>(limits);
      if (unread.empty()) break;
    }
  }
  out.unread = unread.size();
  return out;
}

bool same_but_for_a_cut_end(const RequestsRead& pieces, const RequestsRead& whole) {
  if (pieces.text == whole.text) return true;
  return pieces.unread < RequestParser::kMaxWaitingOfChunks &&
         whole.text.starts_with(pieces.text + "refused ");
}

void check_request(const net::Request& request) {
  const net::Headers& headers = request.headers;
  KW_CHECK(net::is_token(request.method));
  KW_CHECK(request.path.starts_with('/') || request.path == "*");
  KW_CHECK(net::percent_decode(request.path));
  KW_CHECK(headers.count("Content-Length") + headers.count("Transfer-Encoding") <= 1);
  KW_CHECK(headers.count("Host") == 1 || request.minor_version == 0);
  KW_CHECK(request.body.size() <= kMaxBody);
  for (const auto& field : headers.fields()) {
    KW_CHECK(net::is_token(field.name));
    KW_CHECK(net::is_field_value(field.value));
  }
  if (const std::string* length = headers.find("Content-Length"))
    KW_CHECK(std::stoull(*length) == request.body.size());
}

std::string as_text(const net::Request& request) {
  std::string out = request.method + " " + request.path;
  if (!request.query.empty()) out += "?" + request.query;
  out += request.minor_version == 1 ? " HTTP/1.1\r\n" : " HTTP/1.0\r\n";
  for (const auto& field : request.headers.fields()) {
    if (!net::equals_ignoring_case(field.name, "Content-Length") &&
        !net::equals_ignoring_case(field.name, "Transfer-Encoding"))
      out += field.name + ": " + field.value + "\r\n";
  }
  return out + "Content-Length: " + std::to_string(request.body.size()) + "\r\n\r\n" + request.body;
}

void check_forwarded(const net::Request& request) {
  const std::string anew = net::forwarded_request(request, {"http", "leader", 8100, "/"});
  if (request.path == "*") return KW_CHECK(anew.empty());
  KW_CHECK(!anew.empty());
  // Host, Via and a length may be added.
  if (anew.size() > small_limits().header_bytes) return;
  if (request.headers.fields().size() + 3 > small_limits().header_fields) return;
  const RequestsRead again = requests_in(anew, anew.size());
  KW_CHECK(again.requests.size() == 1);
  const net::Request& read = again.requests[0];
  KW_CHECK(read.method == (request.method == "HEAD" ? "GET" : request.method));
  KW_CHECK(read.path == request.path && read.query == request.query && read.body == request.body);
  KW_CHECK(*read.headers.find("Host") == "leader:8100");
  KW_CHECK(!read.headers.has("Connection") && !read.headers.has("Transfer-Encoding"));
  KW_CHECK(net::was_forwarded(read));
}

}  // namespace

KW_FUZZ(http_request, text) {
  RequestsRead whole = requests_in(text, text.size() + 1);
  KW_CHECK(same_but_for_a_cut_end(requests_in(text, 1), whole));
  KW_CHECK(same_but_for_a_cut_end(requests_in(text, 7), whole));
  static const net::Router router = [] {
    net::Router out;
    for (const char* pattern : {"/", "/v1/{a}/b", "/v1/x/{b}", "/files/{rest...}"})
      out.add("GET", pattern, [](net::Request, net::Responder) {});
    return out;
  }();
  for (const net::Request& request : whole.requests) {
    check_request(request);
    check_forwarded(request);
    router.match(request.method, request.path);
    net::parse_query(request.query);
    std::string anew = as_text(request);
    if (anew.size() > small_limits().header_bytes) continue;
    // A length may be added to them.
    if (request.headers.fields().size() >= small_limits().header_fields) continue;
    RequestsRead again = requests_in(anew, anew.size());
    KW_CHECK(again.requests.size() == 1);
    KW_CHECK(again.requests[0].path == request.path);
    KW_CHECK(again.requests[0].body == request.body);
  }
}

}  // namespace kw::fuzz
