#include "service/service_client.h"

#include <algorithm>
#include <cstdlib>
#include <utility>

#include "base/error_names.h"
#include "base/random.h"
#include "base/text.h"
#include "net/url.h"
#include "os/pause.h"

namespace kw::service {
namespace {

constexpr std::chrono::milliseconds kFirstPause{100}, kLongestPause{2000};

ErrorCode code_of_status(int status) {
  if (status == 401 || status == 403) return ErrorCode::kPermissionDenied;
  if (status == 404) return ErrorCode::kNotFound;
  if (status == 429) return ErrorCode::kResourceExhausted;
  if (status >= 500) return ErrorCode::kUnavailable;
  return ErrorCode::kInvalidArgument;
}

Error error_of(const net::ClientResponse& response) {
  ErrorCode code = code_of_status(response.status);
  std::string message = fmt::format("status {}", response.status);
  const auto body = parse_json(response.body);
  if (body && body->is_object() && body->contains("error") && (*body)["error"].is_object()) {
    const Json& error = (*body)["error"];
    if (error.contains("message") && error["message"].is_string())
      message = printable(error["message"].get<std::string>(), 4000);
    if (error.contains("code") && error["code"].is_string())
      code = error_code_from_string(error["code"].get<std::string>()).value_or(code);
  }
  return {code, message};
}

bool is_of_the_way(ErrorCode code) {
  return code == ErrorCode::kUnavailable || code == ErrorCode::kDeadlineExceeded ||
         code == ErrorCode::kResourceExhausted;
}

}  // namespace

std::string token_of_environment() {
  const char* value = std::getenv("KERNELWRIGHT_API_KEY");  // NOLINT(concurrency-mt-unsafe)
  return value == nullptr ? "" : value;
}

std::string unique_name() {
  return fmt::format("{:016x}{:016x}", entropy_seed(), entropy_seed());
}

Status send_problem(ServiceClient& client, const Json& problem, const std::stop_token& stop) {
  auto known = client.call_patiently("POST", "/v1/problems", {{"problem", problem}}, stop);
  if (!known) return tl::unexpected(std::move(known).error());
  return {};
}

ServiceClient::ServiceClient(ServiceClientOptions options, std::unique_ptr<net::Client> client)
    : options_(std::move(options)), client_(std::move(client)) {}

Result<std::unique_ptr<ServiceClient>> ServiceClient::make(ServiceClientOptions options) {
  KW_TRY(const net::Url url, net::parse_url(options.url));
  if (url.target != "/")
    return fail(ErrorCode::kInvalidArgument, "{}: expected a URL without a path",
                printable(options.url, 200));
  const bool is_secret = url.scheme == "https" || net::is_loopback_host(url.host);
  if (!options.token.empty() && !is_secret && !options.allow_plaintext)
    return fail(ErrorCode::kInvalidArgument,
                "{}: the token would be sent over http to another machine: use https://, or allow "
                "plaintext",
                url.origin());
  options.url = url.origin();
  KW_TRY(auto client, net::Client::make({.ca_file = options.ca_file}));
  return std::unique_ptr<ServiceClient>(new ServiceClient(std::move(options), std::move(client)));
}

Result<Json> ServiceClient::call(const std::string& method, const std::string& path,
                                 const Json& body, const std::stop_token& stop) {
  net::ClientRequest request;
  request.method = method;
  request.url = options_.url + path;
  request.stop = stop;
  if (!options_.token.empty()) request.headers.add("Authorization", "Bearer " + options_.token);
  if (!body.is_null()) {
    request.headers.add("Content-Type", "application/json");
    request.body = body.dump();
  }
  KW_TRY(const net::ClientResponse response, client_->send(request));
  if (response.status != 200) return tl::unexpected(error_of(response));
  return parse_json(response.body);
}

Result<Json> ServiceClient::call_patiently(const std::string& method, const std::string& path,
                                           const Json& body, const std::stop_token& stop) {
  const auto end = std::chrono::steady_clock::now() + options_.patience;
  std::chrono::milliseconds wait = kFirstPause;
  while (true) {
    Result<Json> out = call(method, path, body, stop);
    if (out || !is_of_the_way(out.error().code())) return out;
    if (std::chrono::steady_clock::now() + wait > end) return out;
    options_.on_retry(out.error());
    if (!os::pause(wait, stop)) return fail(ErrorCode::kCancelled, "stopped");
    wait = std::min(wait * 2, kLongestPause);
  }
}

}  // namespace kw::service
