// Requests and tokens a minute, shared by all threads of a client, and the pauses that its server
// asks for.
#pragma once
#include <cstdint>
#include <mutex>

#include "base/result.h"
#include "openai/chat_client.h"
#include "openai/clock.h"

namespace kw::openai {

// A token bucket that may go below zero: a taker waits until the level is back at zero, so takers
// go in the order in which they came, whatever they take. Not thread-safe.
class TokenBucket {
 public:
  // rate: a second; 0: no limit. It starts full.
  TokenBucket(double rate, double capacity, Clock::Time now)
      : rate_(rate), capacity_(capacity), level_(capacity), at_(now) {}

  Clock::Time take(double amount, Clock::Time now);  // when the taker may go on
  void give_back(double amount, Clock::Time now);    // negative: it was more

 private:
  void advance(Clock::Time now);

  double rate_, capacity_, level_;
  Clock::Time at_;
};

// Any thread.
class RateLimiter {
 public:
  RateLimiter(const Rates& rates, Clock& clock);

  // Waits for the turn of a request with so many tokens. kDeadlineExceeded at once when that is
  // after the deadline, kCancelled: nothing was taken then.
  Status acquire(std::int64_t tokens, Clock::Time deadline, const std::stop_token& stop);
  bool try_acquire(std::int64_t tokens);  // without waiting
  // A request is over that had `tokens`, and used so many.
  void settle(std::int64_t tokens, std::int64_t used);
  // Nobody starts before.
  void pause_until(Clock::Time time);

 private:
  Clock::Time take(std::int64_t tokens, Clock::Time now);
  void give_back(std::int64_t tokens);

  Clock& clock_;
  std::mutex mutex_;
  TokenBucket requests_, tokens_;
  Clock::Time paused_until_{};
};

}  // namespace kw::openai
