// One complete(): its tries, waits and books.
#pragma once
#include <chrono>
#include <memory>
#include <mutex>
#include <optional>
#include <stop_token>
#include <string>

#include "openai/backoff.h"
#include "openai/budget.h"
#include "openai/chat_client.h"
#include "openai/ledger.h"
#include "openai/rate_limiter.h"
#include "openai/slots.h"
#include "openai/wire.h"

namespace kw::openai {

// What all requests of a client share.
struct ClientParts {
  ClientParts(ChatSettings chosen, std::unique_ptr<Wire> made, Clock& of)
      : settings(std::move(chosen)),
        wire(std::move(made)),
        clock(of),
        limiter(settings.rates, clock),
        slots(settings.concurrency),
        budget(settings.budget),
        backoff(settings.retries, settings.jitter_seed) {}

  const ChatSettings settings;
  const std::unique_ptr<Wire> wire;
  Clock& clock;
  RateLimiter limiter;
  Slots slots;
  BudgetKeeper budget;
  Backoff backoff;
  Ledger ledger;
};

// Used once, by one thread.
class RequestRun {
 public:
  RequestRun(ClientParts& parts, const ChatRequest& request, std::stop_token stop);
  Result<ChatAnswer> run();

 private:
  Result<ChatAnswer> run_tries();
  Result<Reply> attempt();
  Reply attempt_hedged(std::chrono::milliseconds after);
  Status wait_for_turn();
  Reply send(bool hedge, const std::stop_token& stop);
  std::optional<Reply> send_hedge(const std::stop_token& stop);
  void book(const Reply& reply, bool hedge, std::chrono::milliseconds took);
  text::Usage usage_of(const Reply& reply) const;
  double cost_of(const text::Usage& usage) const;

  Status wait_for_retry(const Reply& reply);
  std::chrono::milliseconds delay_after(const Reply& reply);
  tl::unexpected<Error> failure(ErrorCode code, const Reply& reply, const std::string& end) const;
  ChatAnswer answer(Reply reply) const;

  std::chrono::nanoseconds left() const { return deadline_ - parts_.clock.now(); }
  std::int64_t worst_tokens() const { return worst_.tokens; }

  ClientParts& parts_;
  const ChatRequest& request_;
  const std::stop_token stop_;
  const Clock::Time deadline_;
  const std::int64_t prompt_tokens_;  // estimated
  Amount worst_;                      // of one attempt
  std::string body_;
  int tries_ = 0, malformed_ = 0;
  std::chrono::nanoseconds waited_{0};
  std::mutex books_mutex_;  // a hedged pair books from two threads
  double cost_ = 0;
  bool cost_known_ = true;
};

}  // namespace kw::openai
