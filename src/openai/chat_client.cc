#include "openai/chat_client.h"

#include <cmath>
#include <utility>

#include "openai/request_run.h"

namespace kw::openai {
namespace {

Status at_least(const char* setting, double value, double least) {
  if (value >= least && std::isfinite(value)) return {};
  return fail(ErrorCode::kInvalidArgument, "{}: expected {} or more, not {}", setting, least,
              value);
}

double ms(std::chrono::duration<double, std::milli> time) {
  return time.count();
}

Status check_settings(const ChatSettings& s) {
  KW_TRY_STATUS(at_least("concurrency", s.concurrency, 1));
  KW_TRY_STATUS(at_least("tries", s.retries.tries, 1));
  KW_TRY_STATUS(at_least("malformed_tries", s.malformed_tries, 1));
  KW_TRY_STATUS(at_least("first_delay", ms(s.retries.first_delay), 0));
  KW_TRY_STATUS(at_least("max_delay", ms(s.retries.max_delay), 0));
  KW_TRY_STATUS(at_least("requests_per_minute", s.rates.requests_per_minute, 0));
  KW_TRY_STATUS(at_least("tokens_per_minute", s.rates.tokens_per_minute, 0));
  KW_TRY_STATUS(at_least("burst", static_cast<double>(s.rates.burst.count()), 0));
  KW_TRY_STATUS(at_least("budget.cost", s.budget.cost, 0));
  KW_TRY_STATUS(at_least("budget.tokens", static_cast<double>(s.budget.tokens), 0));
  KW_TRY_STATUS(at_least("budget.spent_cost", s.budget.spent_cost, 0));
  KW_TRY_STATUS(at_least("budget.spent_tokens", static_cast<double>(s.budget.spent_tokens), 0));
  KW_TRY_STATUS(at_least("prices.prompt", s.prices.prompt, 0));
  KW_TRY_STATUS(at_least("prices.completion", s.prices.completion, 0));
  KW_TRY_STATUS(at_least("prices.cached_prompt", s.prices.cached_prompt.value_or(0), 0));
  KW_TRY_STATUS(at_least("timeouts.connect", ms(s.timeouts.connect), 1));
  KW_TRY_STATUS(at_least("timeouts.idle", ms(s.timeouts.idle), 1));
  KW_TRY_STATUS(at_least("timeouts.attempt", ms(s.timeouts.attempt), 1));
  KW_TRY_STATUS(at_least("timeouts.deadline", ms(s.timeouts.deadline), 1));
  return at_least("hedge_after", ms(s.hedge_after.value_or(std::chrono::milliseconds(0))), 0);
}

}  // namespace

struct ChatClient::Impl {
  ClientParts parts;
};

ChatClient::ChatClient(std::unique_ptr<Impl> impl) : impl_(std::move(impl)) {}
ChatClient::ChatClient(ChatClient&&) noexcept = default;
ChatClient& ChatClient::operator=(ChatClient&&) noexcept = default;
ChatClient::~ChatClient() = default;

Result<ChatClient> ChatClient::make(ChatSettings settings) {
  KW_TRY_STATUS(check_settings(settings));
  KW_TRY(auto wire, Wire::make(settings));
  Clock& clock = settings.clock == nullptr ? system_clock() : *settings.clock;
  return ChatClient(
      std::unique_ptr<Impl>(new Impl{ClientParts(std::move(settings), std::move(wire), clock)}));
}

Result<ChatAnswer> ChatClient::complete(const ChatRequest& request, const std::stop_token& stop) {
  return RequestRun(impl_->parts, request, stop).run();
}

Result<std::vector<std::string>> ChatClient::models(const std::stop_token& stop) {
  return impl_->parts.wire->models(stop);
}

Counts ChatClient::counts() const {
  return impl_->parts.ledger.counts();
}

const std::string& ChatClient::endpoint() const {
  return impl_->parts.wire->endpoint().chat_url;
}

}  // namespace kw::openai
