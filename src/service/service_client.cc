#include "service/service_client.h"

#include <cstdlib>
#include <utility>

#include "base/error_names.h"
#include "base/random.h"
#include "base/text.h"
#include "net/url.h"
#include "os/file.h"
#include "os/pause.h"
#include "service/address_file.h"
#include "service/patience.h"
#include "service/work.h"

namespace kw::service {
namespace {

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

}  // namespace

std::string token_of_environment() {
  const char* value = std::getenv("KERNELWRIGHT_API_KEY");  // NOLINT(concurrency-mt-unsafe)
  return value == nullptr ? "" : value;
}

std::string unique_name() {
  return fmt::format("{:016x}{:016x}", entropy_seed(), entropy_seed());
}

Status send_parts(ServiceClient& client, const WorkParts& parts, const std::stop_token& stop) {
  const auto send = [&](const char* path, const char* key, const WorkPart& part) -> Status {
    if (part.whole.is_null()) return {};
    auto known = client.call_patiently("POST", path, {{key, part.whole}}, stop);
    if (!known) return tl::unexpected(std::move(known).error());
    return {};
  };
  KW_TRY_STATUS(send("/v1/problems", "problem", parts.problem));
  return send("/v1/baselines", "baseline", parts.baseline);
}

ServiceClient::ServiceClient(ServiceClientOptions options)
    : options_(std::move(options)), follows_(is_address_file(options_.url)) {}

Result<std::unique_ptr<ServiceClient>> ServiceClient::make(ServiceClientOptions options) {
  std::unique_ptr<ServiceClient> out(new ServiceClient(std::move(options)));
  if (!out->follows_) {
    KW_TRY(out->reached_, out->reach_url());
    out->options_.url = out->reached_->origin;
  }
  return out;
}

Result<ServiceClient::ReachedPtr> ServiceClient::reach_url() {
  return connect(options_.url, "", "");
}

Result<ServiceClient::ReachedPtr> ServiceClient::reach_file(const std::string& text) {
  auto address = address_from_text(text);
  if (!address) return tl::unexpected(std::move(address).error().with_context(options_.url));
  return connect(address->url, address->certificate, text);
}

Result<ServiceClient::ReachedPtr> ServiceClient::connect(const std::string& url,
                                                         const std::string& certificate,
                                                         const std::string& address) {
  KW_TRY(const net::Url parsed, net::parse_url(url));
  if (parsed.target != "/")
    return fail(ErrorCode::kInvalidArgument, "{}: expected a URL without a path",
                printable(url, 200));
  const bool is_secret = parsed.scheme == "https" || net::is_loopback_host(parsed.host);
  if (!options_.token.empty() && !is_secret && !options_.allow_plaintext)
    return fail(ErrorCode::kInvalidArgument,
                "{}: the token would be sent over http to another machine: use https://, or allow "
                "plaintext",
                parsed.origin());
  auto out = std::make_shared<Reached>();
  out->address = address;
  out->origin = parsed.origin();
  KW_TRY(out->client, net::Client::make({.ca_file = options_.ca_file, .ca_text = certificate}));
  return out;
}

Result<ServiceClient::ReachedPtr> ServiceClient::reach() {
  std::lock_guard lock(mutex_);
  if (reached_) return reached_;
  const auto text = os::read_file(options_.url);
  if (!text)
    return fail(ErrorCode::kUnavailable, "no server has written its address yet: {}",
                text.error().message());
  KW_TRY(reached_, reach_file(*text));
  return reached_;
}

// Whether the address file names another server now. Then calls go there.
bool ServiceClient::has_moved(const ReachedPtr& from) {
  std::lock_guard lock(mutex_);
  if (reached_ != from) return true;  // another call has seen it
  const auto text = os::read_file(options_.url);
  if (!text || *text == from->address) return false;
  auto found = reach_file(*text);
  if (!found) return false;
  reached_ = std::move(*found);
  return true;
}

// The request's URL is the path.
Result<Json> ServiceClient::call_at(const Reached& server, net::ClientRequest request,
                                    const Json& body,
                                    std::optional<std::chrono::seconds>& retry_after) const {
  request.url = server.origin + request.url;
  if (!options_.token.empty()) request.headers.add("Authorization", "Bearer " + options_.token);
  if (!body.is_null()) {
    request.headers.add("Content-Type", "application/json");
    request.body = body.dump();
  }
  auto response = server.client->send(request);
  // A successor listens before it has written its address: what is at the old one may be anything.
  if (!response && follows_ && response.error().code() == ErrorCode::kPermissionDenied)
    return fail(ErrorCode::kUnavailable, "{}", response.error().message());
  if (!response) return tl::unexpected(std::move(response).error());
  retry_after = response->retry_after;
  if (response->status != 200) return tl::unexpected(error_of(*response));
  return parse_json(response->body);
}

Result<Json> ServiceClient::call(const std::string& method, const std::string& path,
                                 const Json& body, const std::stop_token& stop,
                                 std::optional<std::chrono::milliseconds> most) {
  std::optional<std::chrono::seconds> unused;
  return call_once(method, path, body, stop, most, unused);
}

Result<Json> ServiceClient::call_once(const std::string& method, const std::string& path,
                                      const Json& body, const std::stop_token& stop,
                                      std::optional<std::chrono::milliseconds> most,
                                      std::optional<std::chrono::seconds>& retry_after) {
  net::ClientRequest request;
  request.method = method;
  request.url = path;
  request.stop = stop;
  if (most) request.timeouts = {*most, *most, *most, *most};
  while (true) {
    retry_after.reset();
    KW_TRY(const ReachedPtr server, reach());
    Result<Json> out = call_at(*server, request, body, retry_after);
    if (out || !follows_ || stop.stop_requested() || !has_moved(server)) return out;
  }
}

Result<Json> ServiceClient::call_patiently(const std::string& method, const std::string& path,
                                           const Json& body, const std::stop_token& stop) {
  Patience patience(Patience::Time::clock::now() + options_.patience);
  while (true) {
    std::optional<std::chrono::seconds> retry_after;
    Result<Json> out = call_once(method, path, body, stop, std::nullopt, retry_after);
    if (out) return out;
    const auto wait = patience.pause_after(out.error(), Patience::Time::clock::now(), retry_after);
    if (!wait) return out;
    options_.on_retry(out.error());
    if (!os::pause(*wait, stop)) return fail(ErrorCode::kCancelled, "stopped");
  }
}

}  // namespace kw::service
