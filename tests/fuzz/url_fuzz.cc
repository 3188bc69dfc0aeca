// URLs, escapes and query strings: what is accepted is written and read as the same.
#include "fuzz.h"
#include "net/url.h"

namespace kw::fuzz {

KW_FUZZ(url, text) {
  auto url = net::parse_url(text);
  if (accepted(url)) {
    KW_CHECK(url->port != 0);
    KW_CHECK(url->target.starts_with('/'));
    for (char c : url->text()) KW_CHECK(c > ' ' && c < '\x7f');
    auto again = net::parse_url(url->text());
    KW_CHECK(again);
    KW_CHECK(again->text() == url->text());
    KW_CHECK(again->host_field() == url->host_field());
  }
  if (auto decoded = net::percent_decode(text)) {
    KW_CHECK(decoded->size() <= text.size());
    if (decoded->find('\0') == std::string::npos)
      KW_CHECK(net::percent_decode(net::percent_encode(*decoded)) == decoded);
  }
  if (auto pairs = net::parse_query(text)) {
    std::string written;
    bool has_nul = false;
    for (const auto& [name, value] : *pairs) {
      written += net::percent_encode(name) + "=" + net::percent_encode(value) + "&";
      has_nul = has_nul || (name + value).find('\0') != std::string::npos;
    }
    if (!has_nul) KW_CHECK(net::parse_query(written) == pairs);
  }
}

}  // namespace kw::fuzz
