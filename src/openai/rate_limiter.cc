#include "openai/rate_limiter.h"

#include <algorithm>

#include "base/text.h"

namespace kw::openai {
namespace {

using std::chrono::duration_cast;
using Seconds = std::chrono::duration<double>;

double capacity_of(double per_minute, std::chrono::seconds burst) {
  return per_minute / 60 * static_cast<double>(burst.count());
}

double ms_until(Clock::Time time, Clock::Time now) {
  return std::chrono::duration<double, std::milli>(time - now).count();
}

}  // namespace

void TokenBucket::advance(Clock::Time now) {
  if (now <= at_) return;
  level_ = std::min(capacity_, level_ + rate_ * Seconds(now - at_).count());
  at_ = now;
}

Clock::Time TokenBucket::take(double amount, Clock::Time now) {
  if (rate_ <= 0) return now;
  advance(now);
  level_ -= amount;
  if (level_ >= 0) return now;
  // A thousand years are enough for any wait, and fit in the clock's type.
  const double seconds = std::min(-level_ / rate_, 3e9);
  return now + duration_cast<Clock::Time::duration>(Seconds(seconds));
}

void TokenBucket::give_back(double amount, Clock::Time now) {
  if (rate_ <= 0) return;
  advance(now);
  level_ = std::min(capacity_, level_ + amount);
}

RateLimiter::RateLimiter(const Rates& rates, Clock& clock)
    : clock_(clock),
      // A burst is at least one request.
      requests_(rates.requests_per_minute / 60,
                std::max(1.0, capacity_of(rates.requests_per_minute, rates.burst)), clock.now()),
      tokens_(rates.tokens_per_minute / 60, capacity_of(rates.tokens_per_minute, rates.burst),
              clock.now()) {}

Clock::Time RateLimiter::take(std::int64_t tokens, Clock::Time now) {
  return std::max(requests_.take(1, now), tokens_.take(static_cast<double>(tokens), now));
}

void RateLimiter::give_back(std::int64_t tokens) {
  const Clock::Time now = clock_.now();
  requests_.give_back(1, now);
  tokens_.give_back(static_cast<double>(tokens), now);
}

Status RateLimiter::acquire(std::int64_t tokens, Clock::Time deadline,
                            const std::stop_token& stop) {
  Clock::Time turn;
  {
    std::lock_guard lock(mutex_);
    turn = take(tokens, clock_.now());
  }
  for (;;) {
    bool paused = false;
    {
      std::lock_guard lock(mutex_);
      paused = paused_until_ > turn;
      turn = std::max(turn, paused_until_);
      const Clock::Time now = clock_.now();
      if (turn > deadline) {
        give_back(tokens);
        return fail(
            ErrorCode::kDeadlineExceeded, "{} in {}, which is after the deadline",
            paused ? "the server asks to try again (Retry-After)" : "the rate limits have room",
            format_ms(ms_until(turn, now)));
      }
      if (now >= turn) return {};
    }
    if (!clock_.wait_until(turn, stop)) {
      std::lock_guard lock(mutex_);
      give_back(tokens);
      return fail(ErrorCode::kCancelled, "cancelled");
    }
  }
}

bool RateLimiter::try_acquire(std::int64_t tokens) {
  std::lock_guard lock(mutex_);
  const Clock::Time now = clock_.now();
  if (paused_until_ > now) return false;
  if (take(tokens, now) <= now) return true;
  give_back(tokens);
  return false;
}

void RateLimiter::settle(std::int64_t tokens, std::int64_t used) {
  std::lock_guard lock(mutex_);
  tokens_.give_back(static_cast<double>(tokens - used), clock_.now());
}

void RateLimiter::pause_until(Clock::Time time) {
  std::lock_guard lock(mutex_);
  paused_until_ = std::max(paused_until_, time);
}

}  // namespace kw::openai
