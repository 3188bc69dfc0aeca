#include "kernelwright/model/server_settings.h"

#include <algorithm>
#include <cstdlib>

#include "base/json.h"
#include "base/text.h"
#include "kernelwright/cli/settings.h"
#include "net/url.h"

namespace kw::front {
namespace {

constexpr const char* kUsualKey = "KERNELWRIGHT_API_KEY";

std::string key_variable(const ServerOptions& server) {
  if (!server.key_env.empty()) return server.key_env;
  // NOLINTNEXTLINE(concurrency-mt-unsafe): read before threads start, never written
  const char* usual = std::getenv(kUsualKey);
  return usual != nullptr && *usual != '\0' ? kUsualKey : "";
}

}  // namespace

bool is_server_url(const std::string& model) {
  return model.starts_with("http://") || model.starts_with("https://");
}

bool is_on_this_host(const std::string& model) {
  auto url = net::parse_url(model);
  return url && (url->host == "localhost" || url->host == "::1" || url->host.starts_with("127."));
}

bool is_priced(const ServerOptions& server) {
  return server.prompt_price > 0 || server.completion_price > 0;
}

Result<openai::ChatSettings> server_settings(const ServerOptions& server, const std::string& url,
                                             int concurrency, const Services& services) {
  KW_TRY_STATUS(check_ranges(server, OptionNames::kFlags));
  if (server.max_cost > 0 && !is_priced(server))
    return fail(ErrorCode::kInvalidArgument,
                "--max-cost needs --prompt-price or --completion-price: without them what an "
                "answer costs is not known");
  openai::ChatSettings out;
  out.base_url = url;
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
