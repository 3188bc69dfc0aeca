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
  KW_TRY_STATUS(check_range("--tries", server.tries, 1, 1000));
  KW_TRY_STATUS(check_range("--deadline", server.deadline_seconds, 0.001, 1e6));
  KW_TRY_STATUS(check_range("--max-cost", server.max_cost, 0, 1e12));
  KW_TRY_STATUS(check_range("--max-total-tokens", server.max_total_tokens, 0, 1e15));
  KW_TRY_STATUS(check_range("--burst", server.burst_seconds, 1, 60));
  KW_TRY_STATUS(check_range("--hedge-after", server.hedge_seconds, 0, 1e6));
  KW_TRY_STATUS(check_range("--cached-prompt-price", server.cached_prompt_price, 0, 1e12));
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

Json to_json(const ServerOptions& server) {
  return {{"model_name", server.model_name},
          {"key_env", server.key_env},
          {"allow_plaintext", server.allow_plaintext},
          {"ca_file", server.ca_file},
          {"requests_per_minute", server.requests_per_minute},
          {"tokens_per_minute", server.tokens_per_minute},
          {"deadline_seconds", server.deadline_seconds},
          {"max_cost", server.max_cost},
          {"max_total_tokens", server.max_total_tokens},
          {"prompt_price", server.prompt_price},
          {"completion_price", server.completion_price},
          {"cached_prompt_price", server.cached_prompt_price},
          {"burst_seconds", server.burst_seconds},
          {"hedge_seconds", server.hedge_seconds}};
}

Result<ServerOptions> server_options_from_json(const Json& value, const std::string& where) {
  KW_TRY(ObjectReader r, ObjectReader::make(value, where));
  ServerOptions out;
  KW_TRY(out.model_name, r.string("model_name"));
  KW_TRY(out.key_env, r.string("key_env"));
  KW_TRY(out.allow_plaintext, r.boolean("allow_plaintext"));
  KW_TRY(out.ca_file, r.string("ca_file"));
  KW_TRY(out.requests_per_minute, r.number("requests_per_minute"));
  KW_TRY(out.tokens_per_minute, r.number("tokens_per_minute"));
  KW_TRY(out.deadline_seconds, r.number("deadline_seconds"));
  KW_TRY(out.max_cost, r.number("max_cost"));
  KW_TRY(out.max_total_tokens, r.number("max_total_tokens"));
  KW_TRY(out.prompt_price, r.number("prompt_price"));
  KW_TRY(out.completion_price, r.number("completion_price"));
  // Folders of before have none of these.
  KW_TRY(out.cached_prompt_price, r.number_or("cached_prompt_price", 0));
  KW_TRY(out.hedge_seconds, r.number_or("hedge_seconds", 0));
  KW_TRY(std::int64_t burst, r.integer_or("burst_seconds", out.burst_seconds));
  KW_TRY_STATUS(check_range(r.path("burst_seconds"), static_cast<double>(burst), 1, 60));
  out.burst_seconds = static_cast<int>(burst);
  KW_TRY_STATUS(r.no_other_keys());
  return out;
}

}  // namespace kw::front
