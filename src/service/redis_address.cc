#include <charconv>

#include "base/text.h"
#include "service/redis_connection.h"

namespace kw::service {
namespace {

constexpr std::string_view kRedisScheme = "redis://";

template <typename Number>
bool read_up_to(std::string_view text, Number most, Number& out) {
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), out);
  return error == std::errc() && end == text.data() + text.size() && out <= most;
}

}  // namespace

std::string RedisAddress::text() const {
  return host.find(':') == std::string::npos
             ? fmt::format("{}{}:{}/{}", kRedisScheme, host, port, database)
             : fmt::format("{}[{}]:{}/{}", kRedisScheme, host, port, database);
}

Result<RedisAddress> redis_address(std::string_view url) {
  const auto wrong = [&](const char* what) {
    return fail(ErrorCode::kInvalidArgument, "\"{}\" {}; it is redis://HOST:PORT/DATABASE",
                printable(url, 200), what);
  };
  if (url.starts_with("rediss://"))
    return fail(ErrorCode::kInvalidArgument,
                "rediss://: this build speaks no TLS to Redis, as Debian's hiredis has none: give "
                "redis:// through a tunnel on this machine");
  if (!url.starts_with(kRedisScheme)) return wrong("is no address of a Redis server");
  if (url.find('@') != std::string_view::npos)
    return fail(ErrorCode::kInvalidArgument,
                "the address of a Redis server has no password here: it stands in "
                "KERNELWRIGHT_REDIS_PASSWORD");
  RedisAddress out;
  std::string_view rest = url.substr(kRedisScheme.size());
  if (const std::size_t slash = rest.find('/'); slash != std::string_view::npos) {
    const std::string_view database = rest.substr(slash + 1);
    if (!database.empty() && (!read_up_to(database, 1'000'000, out.database) || out.database < 0))
      return wrong("has no number of a database");
    rest = rest.substr(0, slash);
  }
  const std::size_t bracket = rest.find(']');
  const std::size_t colon = rest.find(':', bracket == std::string_view::npos ? 0 : bracket);
  if (colon != std::string_view::npos) {
    if (!read_up_to<std::uint16_t>(rest.substr(colon + 1), 65535, out.port) || out.port == 0)
      return wrong("has no port between 1 and 65535");
    rest = rest.substr(0, colon);
  }
  if (rest.starts_with('[') && rest.ends_with(']')) rest = rest.substr(1, rest.size() - 2);
  if (rest.empty()) return wrong("has no host");
  out.host = rest;
  return out;
}

}  // namespace kw::service
