// Writes what RFC 9112 asks for, and the Date of RFC 9110.
#include "net/response_text.h"

#include <algorithm>
#include <array>
#include <iterator>

#include <fmt/format.h>

namespace kw::net {
namespace {

bool is_ours(std::string_view name) {
  constexpr std::array<std::string_view, 4> kOurs = {"Content-Length", "Transfer-Encoding",
                                                     "Connection", "Date"};
  return std::any_of(kOurs.begin(), kOurs.end(),
                     [&](std::string_view ours) { return equals_ignoring_case(name, ours); });
}

}  // namespace

bool may_have_body(int status) {
  return status >= 200 && status != 204 && status != 304;
}

bool is_sendable(const Response& response) {
  const auto& fields = response.headers.fields();
  return response.status >= 200 && response.status <= 599 &&
         std::all_of(fields.begin(), fields.end(), [](const Headers::Field& field) {
           return is_token(field.name) && is_field_value(field.value);
         });
}

void append_head(std::string& out, const Response& response, const Framing& framing,
                 std::string_view date) {
  auto at = std::back_inserter(out);
  fmt::format_to(at, "HTTP/1.1 {} {}\r\nDate: {}\r\n", response.status,
                 reason_phrase(response.status), date);
  for (const Headers::Field& field : response.headers.fields()) {
    if (is_ours(field.name)) continue;
    out.append(field.name).append(": ").append(field.value).append("\r\n");
  }
  if (may_have_body(response.status)) {
    if (framing.length) fmt::format_to(at, "Content-Length: {}\r\n", *framing.length);
    if (framing.chunked) out += "Transfer-Encoding: chunked\r\n";
  }
  if (!framing.keep_alive) {
    out += "Connection: close\r\n";
  } else if (framing.minor_version == 0) {
    out += "Connection: keep-alive\r\n";
  }
  out += "\r\n";
}

void append_chunk(std::string& out, std::string_view bytes) {
  if (bytes.empty()) return;
  fmt::format_to(std::back_inserter(out), "{:x}\r\n", bytes.size());
  out.append(bytes).append("\r\n");
}

void append_last_chunk(std::string& out) {
  out += "0\r\n\r\n";
}

std::string http_date(std::time_t time) {
  constexpr std::array<std::string_view, 7> kDays = {"Sun", "Mon", "Tue", "Wed",
                                                     "Thu", "Fri", "Sat"};
  constexpr std::array<std::string_view, 12> kMonths = {"Jan", "Feb", "Mar", "Apr", "May", "Jun",
                                                        "Jul", "Aug", "Sep", "Oct", "Nov", "Dec"};
  std::tm utc{};
  gmtime_r(&time, &utc);
  return fmt::format("{}, {:02} {} {} {:02}:{:02}:{:02} GMT",
                     kDays[static_cast<std::size_t>(utc.tm_wday)], utc.tm_mday,
                     kMonths[static_cast<std::size_t>(utc.tm_mon)], utc.tm_year + 1900, utc.tm_hour,
                     utc.tm_min, utc.tm_sec);
}

}  // namespace kw::net
