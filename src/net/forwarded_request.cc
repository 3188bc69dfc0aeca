#include "net/forwarded_request.h"

#include <algorithm>
#include <array>
#include <string_view>

#include <fmt/format.h>

namespace kw::net {
namespace {

// Protocol and pseudonym: more than one server between client and leader is a mistake.
constexpr std::string_view kVia = "1.1 kernelwright";

bool is_of_one_connection(std::string_view name) {
  constexpr std::array<std::string_view, 12> kNames = {"Connection",
                                                       "Content-Length",
                                                       "Expect",
                                                       "Host",
                                                       "Keep-Alive",
                                                       "Proxy-Authorization",
                                                       "Proxy-Authenticate",
                                                       "Proxy-Connection",
                                                       "TE",
                                                       "Trailer",
                                                       "Transfer-Encoding",
                                                       "Upgrade"};
  return std::ranges::any_of(
      kNames, [&](std::string_view each) { return equals_ignoring_case(name, each); });
}

bool is_target(std::string_view text) {
  return text.starts_with('/') && std::ranges::all_of(text, [](char c) {
           auto byte = static_cast<unsigned char>(c);
           return byte > 0x20 && byte != 0x7f;
         });
}

}  // namespace

Headers end_to_end_fields(const Headers& fields) {
  Headers out;
  for (const Headers::Field& field : fields.fields()) {
    const bool is_named = std::ranges::any_of(fields.fields(), [&](const Headers::Field& each) {
      return equals_ignoring_case(each.name, "Connection") &&
             has_list_token(each.value, field.name);
    });
    if (!is_named && !is_of_one_connection(field.name)) out.add(field.name, field.value);
  }
  return out;
}

bool was_forwarded(const Request& request) {
  return std::ranges::any_of(request.headers.fields(), [](const Headers::Field& field) {
    return equals_ignoring_case(field.name, "Via") && has_list_token(field.value, kVia);
  });
}

std::string forwarded_request(const Request& request, const Url& origin) {
  const std::string target =
      request.query.empty() ? request.path : request.path + "?" + request.query;
  Headers fields = end_to_end_fields(request.headers);
  fields.add("Via", kVia);
  const bool can_be_sent = is_token(request.method) && is_target(target) &&
                           std::ranges::all_of(fields.fields(), [](const Headers::Field& field) {
                             return is_token(field.name) && is_field_value(field.value);
                           });
  if (!can_be_sent) return {};
  const std::string method = request.method == "HEAD" ? "GET" : request.method;
  std::string out =
      fmt::format("{} {} HTTP/1.1\r\nHost: {}\r\n", method, target, origin.host_field());
  for (const Headers::Field& field : fields.fields())
    out.append(field.name).append(": ").append(field.value).append("\r\n");
  if (method != "GET" || !request.body.empty())
    out += fmt::format("Content-Length: {}\r\n", request.body.size());
  return out.append("\r\n").append(request.body);
}

}  // namespace kw::net
