// URLs of the client, and the percent-encoding and query strings of both sides (RFC 3986).
#pragma once
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/result.h"

namespace kw::net {

struct Url {
  std::string scheme;  // "http" or "https"
  std::string host;    // lower case; an IPv6 address without its brackets
  std::uint16_t port = 0;
  std::string target;  // path and query, encoded, "/" at least

  // "127.0.0.1:80", "[::1]:443": for messages and connecting.
  std::string authority() const;
  // The value of the field Host: without the scheme's own port.
  std::string host_field() const;
  std::string origin() const { return scheme + "://" + authority(); }
  std::string text() const { return origin() + target; }
};

// http:// and https:// only. kInvalidArgument, naming what is wrong, for anything else: user names
// and passwords (they would reach logs), fragments, control bytes, white space, ports out of range.
Result<Url> parse_url(std::string_view text);

// Whether all that is sent to this host stays on this machine: "localhost", 127.0.0.0/8, ::1.
// host: as in Url.
bool is_loopback_host(std::string_view host);

// "%41" to "A". Nothing for an escape that is cut or not hexadecimal, and for "%00".
std::optional<std::string> percent_decode(std::string_view text);
// All but unreserved characters (letters, digits, "-._~") as escapes: good for a path segment or a
// value of a query.
std::string percent_encode(std::string_view text);

// "a=1&b=x%20y" in order; '+' is a space. Nothing where an escape is wrong.
std::optional<std::vector<std::pair<std::string, std::string>>> parse_query(std::string_view query);

}  // namespace kw::net
