#include "kernelwright/model/server_settings.h"

#include <algorithm>
#include <array>
#include <cstdlib>

#include <unistd.h>

#include "base/json.h"
#include "base/text.h"
#include "kernelwright/cli/settings.h"
#include "net/url.h"
#include "os/file.h"
#include "service/address_file.h"

namespace kw::front {
namespace {

constexpr const char* kUsualKey = "KERNELWRIGHT_API_KEY";

std::string key_variable(const ServerOptions& server) {
  if (!server.key_env.empty()) return server.key_env;
  // NOLINTNEXTLINE(concurrency-mt-unsafe): read before threads start, never written
  const char* usual = std::getenv(kUsualKey);
  return usual != nullptr && *usual != '\0' ? kUsualKey : "";
}

Result<openai::ServerPlace> place_in(const std::string& address_file) {
  const auto text = os::read_file(address_file);
  if (!text)
    return fail(ErrorCode::kUnavailable, "no server has written its address yet: {}",
                text.error().message());
  auto address = service::address_from_text(*text);
  if (!address) return tl::unexpected(std::move(address).error().with_context(address_file));
  return openai::ServerPlace{address->url, address->certificate};
}

}  // namespace

bool is_server_url(const std::string& model) {
  return model.starts_with("http://") || model.starts_with("https://");
}

bool is_server(const std::string& model) {
  return is_server_url(model) || model.ends_with(".json");
}

bool is_on_this_host(const std::string& model) {
  Result<openai::ServerPlace> place = openai::ServerPlace{.base_url = model};
  if (!is_server_url(model)) place = place_in(model);
  if (!place) return false;
  auto url = net::parse_url(place->base_url);
  std::array<char, 256> name{};
  (void)::gethostname(name.data(), name.size() - 1);
  return url && (net::is_loopback_host(url->host) || url->host == name.data());
}

bool is_priced(const ServerOptions& server) {
  return server.prompt_price > 0 || server.completion_price > 0;
}

Result<openai::ChatSettings> server_settings(const ServerOptions& server, const std::string& model,
                                             int concurrency, const Services& services) {
  KW_TRY_STATUS(check_ranges(server, OptionNames::kFlags));
  if (server.max_cost > 0 && !is_priced(server))
    return fail(ErrorCode::kInvalidArgument,
                "--max-cost needs --prompt-price or --completion-price: without them what an "
                "answer costs is not known");
  openai::ChatSettings out;
  out.base_url = model;
  if (!is_server_url(model)) {
    KW_TRY(openai::ServerPlace place, place_in(model));
    out.base_url = std::move(place.base_url);
    out.ca_text = std::move(place.ca_text);
    out.find = [model] { return place_in(model); };
  }
  out.key_env = key_variable(server);
  out.allow_plaintext_key = server.allow_plaintext;
  out.ca_file = server.ca_file;
  out.rates.requests_per_minute = server.requests_per_minute;
  out.rates.tokens_per_minute = server.tokens_per_minute;
  out.retries.tries = server.tries;
  out.timeouts.deadline =
      std::chrono::milliseconds(static_cast<std::int64_t>(server.deadline_seconds * 1000));
  out.budget = {server.max_cost, static_cast<std::int64_t>(server.max_total_tokens)};
  out.prices.prompt = server.prompt_price;
  out.prices.completion = server.completion_price;
  if (server.cached_prompt_price > 0) out.prices.cached_prompt = server.cached_prompt_price;
  out.rates.burst = std::chrono::seconds(server.burst_seconds);
  if (server.hedge_seconds > 0)
    out.hedge_after =
        std::chrono::milliseconds(static_cast<std::int64_t>(server.hedge_seconds * 1000));
  out.concurrency = concurrency;
  out.on_attempt = [&console = services.console](const openai::Attempt& attempt) {
    if (attempt.outcome == openai::Outcome::kAnswered ||
        attempt.outcome == openai::Outcome::kCancelled)
      return;
    console.err(fmt::format(
        "{}: try {}: {}{}: {}\n", attempt.tag, attempt.number, to_string(attempt.outcome),
        attempt.http_status == 0 ? "" : fmt::format(" (HTTP {})", attempt.http_status),
        printable(attempt.message, 300)));
  };
  return out;
}

Result<std::string> model_name(openai::ChatClient& client, const std::string& given,
                               const std::stop_token& stop) {
  if (!given.empty()) return given;
  auto names = client.models(stop);
  if (!names)
    return tl::unexpected(std::move(names).error().with_context("asking for the model's name"));
  if (names->size() == 1) return names->front();
  if (names->empty())
    return fail(ErrorCode::kInvalidArgument, "the server lists no model: give --model-name");
  constexpr std::size_t kShown = 10;
  const std::size_t count = names->size();
  names->resize(std::min(count, kShown));
  return fail(ErrorCode::kInvalidArgument, "the server has {} models: give --model-name, as {}{}",
              count, printable(join(*names, ", "), 500), count > kShown ? ", ..." : "");
}

}  // namespace kw::front
