// Money and tokens that a client may spend. A request reserves its worst case before it is sent,
// so that many at once do not overspend together.
#pragma once
#include <condition_variable>
#include <cstdint>
#include <mutex>
#include <stop_token>

#include "base/result.h"
#include "openai/chat_client.h"

namespace kw::openai {

struct Amount {
  double cost = 0;
  std::int64_t tokens = 0;
};

// Any thread.
class BudgetKeeper {
 public:
  explicit BudgetKeeper(const Budget& limit)
      : limit_(limit), spent_{limit.spent_cost, limit.spent_tokens} {}

  // Waits while the worst cases of other requests stand in the way, at most `within`.
  // kResourceExhausted when it would not fit without them either; kDeadlineExceeded, kCancelled.
  Status reserve(const Amount& worst, std::chrono::nanoseconds within, const std::stop_token& stop);
  void release(const Amount& worst);
  void spend(const Amount& amount);
  // Whether all that is reserved still fits: before a retry, when a failure has cost something.
  Status check() const;

 private:
  bool fits(const Amount& reserved, const Amount& more) const;
  tl::unexpected<Error> exhausted(const Amount& worst) const;

  const Budget limit_;
  mutable std::mutex mutex_;
  std::condition_variable_any change_;
  Amount spent_, reserved_;
};

}  // namespace kw::openai
