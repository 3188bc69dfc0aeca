#include "openai/wire.h"

#include <algorithm>
#include <cstdlib>
#include <utility>

#include "base/text.h"
#include "openai/chat_stream.h"

namespace kw::openai {
namespace {

using std::chrono::milliseconds;

// Less than servers keep an idle connection (uvicorn, below vLLM and SGLang: 5 s).
constexpr milliseconds kKeepIdle{4000};
constexpr milliseconds kModelsTimeout{30000};

Result<std::string> read_key(const ChatSettings& settings, const Endpoint& endpoint) {
  if (settings.key_env.empty()) return std::string();
  // NOLINTNEXTLINE(concurrency-mt-unsafe): never written
  const char* value = std::getenv(settings.key_env.c_str());
  std::string key(value == nullptr ? "" : trim(value));
  if (key.empty())
    return fail(ErrorCode::kInvalidArgument, "the environment has no {} with the key of {}",
                settings.key_env, endpoint.authority);
  if (!net::is_field_value(key))
    return fail(ErrorCode::kInvalidArgument, "the key in {} cannot be sent", settings.key_env);
  if (!endpoint.private_path && !settings.allow_plaintext_key)
    return fail(ErrorCode::kInvalidArgument,
                "the key in {} would be sent to {} in the clear: use https, or allow it",
                settings.key_env, endpoint.authority);
  return key;
}

Outcome outcome_of(ErrorCode code, bool head_came) {
  switch (code) {
    case ErrorCode::kUnavailable:
      return head_came ? Outcome::kCut : Outcome::kConnection;
    case ErrorCode::kDeadlineExceeded:
      return Outcome::kTimeout;
    case ErrorCode::kPermissionDenied:
      return Outcome::kUntrusted;
    case ErrorCode::kResourceExhausted:
      return Outcome::kTooLarge;
    case ErrorCode::kUnsupported:
      return Outcome::kMalformed;
    case ErrorCode::kCancelled:
      return Outcome::kCancelled;
    default:
      return Outcome::kRefused;
  }
}

// Where a redirect leads, without its query.
std::string redirect_of(const net::Headers& headers) {
  const std::string* where = headers.find("Location");
  return where == nullptr ? "nowhere" : where->substr(0, where->find_first_of("?#"));
}

// Puts together what is known of one attempt.
class Reading {
 public:
  // Messages are cut only after wire has taken the key out of them.
  Reading(const Wire& wire, std::size_t max_bytes) : wire_(wire), stream_(max_bytes) {}

  void head(const net::ClientResponse& response) {
    reply_.http_status = response.status;
    reply_.retry_after = response.retry_after;
    if (const std::string* id = response.headers.find("x-request-id"))
      reply_.request_id = wire_.clean(*id).substr(0, 200);
    media_type_is_stream_ = net::has_media_type(response.headers, "text/event-stream");
    if (const std::string* type = response.headers.find("Content-Type")) media_type_ = *type;
  }

  bool event(const net::SseEvent& event) { return stream_.take(event); }

  // `message` is not printable yet.
  Reply end(const Result<net::ClientResponse>& response) {
    read(response);
    reply_.computed = reply_.outcome == Outcome::kAnswered || reply_.outcome == Outcome::kCut ||
                      reply_.outcome == Outcome::kTimeout ||
                      reply_.outcome == Outcome::kMalformed ||
                      reply_.outcome == Outcome::kTooLarge || reply_.outcome == Outcome::kCancelled;
    if (reply_.outcome == Outcome::kAnswered) {
      reply_.usage = reply_.parts.usage;
      reply_.id = reply_.parts.id;
      return std::move(reply_);
    }
    reply_.usage = stream_.usage();
    reply_.id = stream_.id();
    reply_.partial = stream_.partial();
    reply_.received_bytes = std::max(reply_.received_bytes, stream_.bytes());
    return std::move(reply_);
  }

 private:
  void set(Outcome outcome, std::string message) {
    reply_.outcome = outcome;
    reply_.message = std::move(message);
  }
  void set(ReadResult<AnswerParts> parts) {
    if (parts)
      reply_.parts = std::move(*parts);
    else
      set(parts.error().outcome, std::move(parts.error().message));
  }
  bool is_error_status() const {
    return reply_.http_status != 0 && (reply_.http_status < 200 || reply_.http_status >= 300);
  }

  void read(const Result<net::ClientResponse>& response) {
    if (is_error_status()) return read_error_status(response);
    // What is wrong with the text comes before what happened to the connection.
    if (const auto& failure = stream_.failure()) return set(failure->outcome, failure->message);
    if (stream_.whole()) return set(stream_.answer());
    if (!response) {
      return set(outcome_of(response.error().code(), reply_.http_status != 0),
                 response.error().message());
    }
    if (stream_.begun() || (media_type_is_stream_ && response->body.empty()))
      return set(Outcome::kCut, "the stream ended before the answer did");
    read_whole(response->body);
  }

  void read_whole(const std::string& body) {
    auto parts = read_answer(body);
    if (!parts && parts.error().outcome == Outcome::kMalformed) {
      reply_.received_bytes = body.size();
      return set(Outcome::kMalformed,
                 fmt::format("{} (Content-Type \"{}\"; it begins: {})", parts.error().message,
                             media_type_, wire_.clean(body).substr(0, 300)));
    }
    set(std::move(parts));
  }

  void read_error_status(const Result<net::ClientResponse>& response) {
    const int status = reply_.http_status;
    if (status >= 300 && status < 400)
      return set(Outcome::kRedirected, response ? fmt::format("it redirects to {}: give that URL",
                                                              redirect_of(response->headers))
                                                : response.error().message());
    if (!response) return set(outcome_of_status(status, {}), response.error().message());
    const ServerError error = read_error(response->body);
    std::string message = error.message;
    if (!error.code.empty() && message.find(error.code) == std::string::npos)
      message += " (" + error.code + ")";
    set(outcome_of_status(status, error), std::move(message));
  }
  static Outcome outcome_of_status(int status, const ServerError& error) {
    return kw::openai::outcome_of(status, error);
  }

  const Wire& wire_;
  ChatStream stream_;
  Reply reply_;
  std::string media_type_;
  bool media_type_is_stream_ = false;
};

}  // namespace

Result<std::unique_ptr<Wire>> Wire::make(const ChatSettings& settings) {
  std::unique_ptr<Wire> out(new Wire(settings));
  KW_TRY(out->reached_, out->reach({settings.base_url, settings.ca_text}));
  out->endpoint_ = out->reached_->endpoint;
  KW_TRY(out->key_, read_key(settings, out->endpoint_));
  return out;
}

Result<Wire::ReachedPtr> Wire::reach(ServerPlace place) const {
  auto out = std::make_shared<Reached>();
  KW_TRY(out->endpoint, read_endpoint(place.base_url));
  net::ClientOptions options;
  options.ca_file = settings_.ca_file;
  options.ca_text = place.ca_text;
  options.max_body_bytes = settings_.max_answer_bytes;
  options.max_event_bytes = settings_.max_answer_bytes;
  options.idle_connections = static_cast<std::size_t>(settings_.concurrency);
  options.keep_idle = kKeepIdle;
  KW_TRY(out->http, net::Client::make(std::move(options)));
  out->place = std::move(place);
  return out;
}

Wire::ReachedPtr Wire::reached() const {
  const std::lock_guard lock(mutex_);
  return reached_;
}

// Whether the server is at another place now, where the key may be sent. Then calls go there.
bool Wire::has_moved(const ReachedPtr& from) const {
  if (!settings_.find) return false;
  const std::lock_guard lock(mutex_);
  if (reached_ != from) return true;  // another call has seen it
  auto place = settings_.find();
  if (!place || *place == from->place) return false;
  auto found = reach(std::move(*place));
  if (!found) return false;
  if (!key_.empty() && !(*found)->endpoint.private_path && !settings_.allow_plaintext_key)
    return false;
  reached_ = std::move(*found);
  return true;
}

net::ClientRequest Wire::request(const std::string& method, const std::string& url,
                                 milliseconds within, const std::stop_token& stop) const {
  net::ClientRequest out;
  out.method = method;
  out.url = url;
  out.headers.set("Accept", "application/json, text/event-stream");
  if (!key_.empty()) out.headers.set("Authorization", "Bearer " + key_);
  net::ClientTimeouts limits;
  const Timeouts& timeouts = settings_.timeouts;
  limits.total = std::clamp(within, milliseconds(1), timeouts.attempt);
  limits.connect = std::min(timeouts.connect, limits.total);
  limits.first_byte = limits.total;
  limits.idle = std::min(timeouts.idle, limits.total);
  out.timeouts = limits;
  out.stop = stop;
  return out;
}

Reply Wire::chat(const std::string& body, milliseconds within, const std::stop_token& stop) const {
  const ReachedPtr server = reached();
  net::ClientRequest call = request("POST", server->endpoint.chat_url, within, stop);
  call.headers.set("Content-Type", "application/json");
  call.body = body;
  Reading reading(*this, settings_.max_answer_bytes);
  call.on_head = [&reading](const net::ClientResponse& head) { reading.head(head); };
  auto response = server->http->events(
      call, [&reading](const net::SseEvent& event) { return reading.event(event); });
  Reply out = reading.end(response);
  // The caller names the host.
  const std::string host = server->endpoint.authority + ": ";
  if (out.message.starts_with(host)) out.message.erase(0, host.size());
  out.message = clean(out.message);
  out.partial = scrubbed(out.partial);
  const bool is_unreached = out.outcome == Outcome::kConnection || out.outcome == Outcome::kCut ||
                            out.outcome == Outcome::kUntrusted;
  // Anything may be at the old place.
  if (is_unreached && has_moved(server) && out.outcome == Outcome::kUntrusted)
    out.outcome = Outcome::kConnection;
  return out;
}

Result<std::vector<std::string>> Wire::models(const std::stop_token& stop) const {
  const ReachedPtr server = reached();
  const std::string& where = server->endpoint.models_url;
  const net::ClientRequest call = request("GET", where, kModelsTimeout, stop);
  auto response = server->http->send(call);
  if (!response && has_moved(server)) return models(stop);
  if (!response) return tl::unexpected(std::move(response).error());
  if (response->status != 200) {
    const ServerError said = read_error(response->body);
    return fail(error_code(kw::openai::outcome_of(response->status, said), response->status),
                "{}: HTTP {}: {}", where, response->status, clean(said.message));
  }
  auto names = read_models(response->body);
  if (!names) return fail(ErrorCode::kUnavailable, "{}: {}", where, clean(names.error().message));
  return std::move(*names);
}

std::string Wire::scrubbed(std::string_view text) const {
  std::string out(text);
  if (key_.empty()) return out;
  constexpr std::string_view kShown = "[key]";
  for (auto at = out.find(key_); at != std::string::npos; at = out.find(key_, at + kShown.size()))
    out.replace(at, key_.size(), kShown);
  return out;
}

std::string Wire::clean(std::string_view text) const {
  return printable(scrubbed(text), kMaxMessage);
}

}  // namespace kw::openai
