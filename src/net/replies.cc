// Ready-made answers.
#include "net/replies.h"

#include <utility>

#include "base/log.h"
#include "base/text.h"

namespace kw::net {
namespace {

std::string_view error_type(int status) {
  switch (status) {
    case 401:
      return "authentication_error";
    case 403:
      return "permission_error";
    case 404:
      return "not_found_error";
    case 429:
      return "rate_limit_error";
    default:
      return status >= 500 ? "server_error" : "invalid_request_error";
  }
}

Response make_error(int status, std::string_view message, const Json& code) {
  Json error = {{"message", std::string(message)},
                {"type", std::string(error_type(status))},
                {"param", nullptr},
                {"code", code}};
  return json_response(Json{{"error", std::move(error)}}, status);
}

}  // namespace

Response json_response(const Json& value, int status) {
  Response response;
  response.status = status;
  response.headers.add("Content-Type", "application/json");
  response.body = value.dump(-1, ' ', false, Json::error_handler_t::replace);
  return response;
}

Response text_response(std::string text, int status) {
  Response response;
  response.status = status;
  response.headers.add("Content-Type", "text/plain; charset=utf-8");
  response.body = std::move(text);
  return response;
}

Response error_response(int status, std::string_view message) {
  return make_error(status, message, nullptr);
}

Response error_response(const Error& error) {
  bool ours = error.code() == ErrorCode::kInternal;
  if (ours) log::error(fmt::format("http: internal error: {}", error.message()));
  return make_error(http_status(error.code()), ours ? "internal error" : error.message(),
                    std::string(to_string(error.code())));
}

Response retry_later(std::chrono::milliseconds after, std::string_view message, int status) {
  Response response = error_response(status, message);
  auto seconds = std::chrono::ceil<std::chrono::seconds>(after);
  response.headers.add("Retry-After", fmt::format("{}", seconds.count()));
  return response;
}

OrResponse<Json> json_body(const Request& request) {
  if (const std::string* type = request.headers.find("Content-Type")) {
    std::string_view essence = trim(std::string_view(*type).substr(0, type->find(';')));
    if (!equals_ignoring_case(essence, "application/json"))
      return tl::unexpected(
          error_response(415, fmt::format("Content-Type is \"{}\", but application/json is needed",
                                          printable(essence, 100))));
  }
  auto parsed = parse_json(request.body);
  if (!parsed)
    return tl::unexpected(error_response(std::move(parsed).error().with_context("request body")));
  return std::move(*parsed);
}

}  // namespace kw::net
