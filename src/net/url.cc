// A strict reader of http and https URLs.
#include "net/url.h"

#include <algorithm>
#include <charconv>

#include <boost/asio/ip/address.hpp>

#include "base/text.h"
#include "net/headers.h"

namespace kw::net {
namespace {

constexpr std::size_t kMaxUrl = 8192;
constexpr std::size_t kMaxHost = 255;  // of the domain name system

int hex_value(char c) {
  if (is_digit(c)) return c - '0';
  if (c >= 'a' && c <= 'f') return c - 'a' + 10;
  if (c >= 'A' && c <= 'F') return c - 'A' + 10;
  return -1;
}

bool is_letter_or_digit(char c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || is_digit(c);
}

bool is_host(std::string_view host) {
  return !host.empty() && host.size() <= kMaxHost &&
         std::all_of(host.begin(), host.end(), [](char c) {
           return is_letter_or_digit(c) || c == '-' || c == '.' || c == '_';
         });
}

bool is_ipv6(std::string_view host) {
  return host.size() >= 2 && host.size() <= 45 && std::count(host.begin(), host.end(), ':') >= 2 &&
         std::all_of(host.begin(), host.end(),
                     [](char c) { return hex_value(c) >= 0 || c == ':' || c == '.'; });
}

std::uint16_t default_port(std::string_view scheme) {
  return scheme == "https" ? 443 : 80;
}

tl::unexpected<Error> bad(std::string_view url, std::string_view why) {
  return fail(ErrorCode::kInvalidArgument, "URL \"{}\": {}", printable(url, 200), why);
}

// Takes "host", "host:8080" or "[::1]:8080" apart.
Status read_authority(std::string_view url, std::string_view authority, Url& out) {
  if (authority.find('@') != std::string_view::npos)
    return fail(ErrorCode::kInvalidArgument,
                "a URL with a user name or password is refused: give the key as a header");
  std::string_view host = authority;
  std::string_view rest;
  if (authority.starts_with('[')) {
    std::size_t end = authority.find(']');
    if (end == std::string_view::npos) return bad(url, "'[' without ']'");
    host = authority.substr(1, end - 1);
    rest = authority.substr(end + 1);
    if (!is_ipv6(host)) return bad(url, "what is in brackets is no IPv6 address");
  } else {
    std::size_t colon = std::min(authority.find(':'), authority.size());
    host = authority.substr(0, colon);
    rest = authority.substr(colon);
    if (!is_host(host))
      return bad(url, "no host name, or one with other characters than a-z0-9-._");
  }
  out.port = default_port(out.scheme);
  if (!rest.empty()) {
    std::string_view digits = rest.substr(1);
    auto [end, failed] = std::from_chars(digits.data(), digits.data() + digits.size(), out.port);
    if (rest[0] != ':' || failed != std::errc() || end != digits.data() + digits.size() ||
        out.port == 0)
      return bad(url, "the port must be a number from 1 to 65535");
  }
  out.host = host;
  std::transform(out.host.begin(), out.host.end(), out.host.begin(),
                 [](char c) { return c >= 'A' && c <= 'Z' ? static_cast<char>(c + 32) : c; });
  return {};
}

}  // namespace

std::string Url::authority() const {
  bool ipv6 = host.find(':') != std::string::npos;
  return fmt::format("{}{}{}:{}", ipv6 ? "[" : "", host, ipv6 ? "]" : "", port);
}

std::string Url::host_field() const {
  std::string field = authority();
  if (port == default_port(scheme)) field.resize(field.rfind(':'));
  return field;
}

Result<Url> parse_url(std::string_view text) {
  if (text.size() > kMaxUrl) return bad(text, "longer than 8192 bytes");
  std::size_t separator = text.find("://");
  Url url;
  for (std::string_view scheme : {"http", "https"}) {
    if (equals_ignoring_case(text.substr(0, std::min(separator, text.size())), scheme))
      url.scheme = scheme;
  }
  if (separator == std::string_view::npos || url.scheme.empty())
    return bad(text, "must start with http:// or https://");
  bool visible =
      std::all_of(text.begin(), text.end(), [](char c) { return c > ' ' && c < '\x7f'; });
  if (!visible)
    return bad(text, "has white space, control or non-ASCII bytes: percent-encode them");
  std::string_view rest = text.substr(separator + 3);
  if (rest.find('#') != std::string_view::npos) return bad(text, "a fragment (#) is never sent");
  std::size_t path = std::min(rest.find_first_of("/?"), rest.size());
  KW_TRY_STATUS(read_authority(text, rest.substr(0, path), url));
  url.target = rest.substr(path);
  if (!url.target.starts_with('/')) url.target.insert(0, "/");
  return url;
}

bool is_loopback_host(std::string_view host) {
  namespace ip = boost::asio::ip;
  if (host == "localhost") return true;
  boost::system::error_code no_address;
  ip::address address = ip::make_address(host, no_address);
  if (no_address) return false;
  if (address.is_v6() && address.to_v6().is_v4_mapped())
    address = ip::make_address_v4(ip::v4_mapped, address.to_v6());
  return address.is_loopback();
}

std::optional<std::string> percent_decode(std::string_view text) {
  std::string out;
  out.reserve(text.size());
  for (std::size_t i = 0; i < text.size(); ++i) {
    if (text[i] != '%') {
      out += text[i];
      continue;
    }
    if (i + 2 >= text.size()) return std::nullopt;
    int high = hex_value(text[i + 1]);
    int low = hex_value(text[i + 2]);
    if (high < 0 || low < 0 || high + low == 0) return std::nullopt;
    out += static_cast<char>(high * 16 + low);
    i += 2;
  }
  return out;
}

std::string percent_encode(std::string_view text) {
  std::string out;
  for (char c : text) {
    if (is_letter_or_digit(c) || c == '-' || c == '.' || c == '_' || c == '~') {
      out += c;
    } else {
      out += fmt::format("%{:02X}", static_cast<unsigned char>(c));
    }
  }
  return out;
}

std::optional<std::vector<std::pair<std::string, std::string>>> parse_query(
    std::string_view query) {
  std::vector<std::pair<std::string, std::string>> out;
  while (!query.empty()) {
    std::size_t end = std::min(query.find('&'), query.size());
    std::string pair(query.substr(0, end));
    query.remove_prefix(std::min(end + 1, query.size()));
    if (pair.empty()) continue;
    std::replace(pair.begin(), pair.end(), '+', ' ');
    std::size_t equals = std::min(pair.find('='), pair.size());
    auto name = percent_decode(std::string_view(pair).substr(0, equals));
    auto value = percent_decode(std::string_view(pair).substr(std::min(equals + 1, pair.size())));
    if (!name || !value) return std::nullopt;
    out.emplace_back(std::move(*name), std::move(*value));
  }
  return out;
}

}  // namespace kw::net
