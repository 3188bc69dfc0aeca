#include "openai/budget.h"

namespace kw::openai {
namespace {

// Sums of prices are not exact: a budget for ten requests is one for ten.
constexpr double kRounding = 1e-9;

}  // namespace

bool BudgetKeeper::fits(const Amount& reserved, const Amount& more) const {
  const double cost = spent_.cost + reserved.cost + more.cost;
  if (limit_.cost > 0 && cost > limit_.cost * (1 + kRounding)) return false;
  return limit_.tokens <= 0 || spent_.tokens + reserved.tokens + more.tokens <= limit_.tokens;
}

tl::unexpected<Error> BudgetKeeper::exhausted(const Amount& worst) const {
  if (limit_.cost > 0 && spent_.cost + worst.cost > limit_.cost * (1 + kRounding))
    return fail(ErrorCode::kResourceExhausted,
                "the budget of {:.6g} has {:.6g} spent, and the request may cost {:.6g}",
                limit_.cost, spent_.cost, worst.cost);
  return fail(ErrorCode::kResourceExhausted,
              "the budget of {} tokens has {} spent, and the request may need {}", limit_.tokens,
              spent_.tokens, worst.tokens);
}

Status BudgetKeeper::reserve(const Amount& worst, std::chrono::nanoseconds within,
                             const std::stop_token& stop) {
  std::unique_lock lock(mutex_);
  bool never = false;
  const bool ready = change_.wait_for(lock, stop, within, [&] {
    never = !fits({}, worst);
    return never || fits(reserved_, worst);
  });
  if (never) return exhausted(worst);
  if (!ready && stop.stop_requested()) return fail(ErrorCode::kCancelled, "cancelled");
  if (!ready)
    return fail(ErrorCode::kDeadlineExceeded,
                "the budget has no room beside the requests under way before the deadline");
  reserved_.cost += worst.cost;
  reserved_.tokens += worst.tokens;
  return {};
}

void BudgetKeeper::release(const Amount& worst) {
  std::lock_guard lock(mutex_);
  reserved_.cost -= worst.cost;
  reserved_.tokens -= worst.tokens;
  if (reserved_.tokens == 0) reserved_.cost = 0;
  change_.notify_all();
}

void BudgetKeeper::spend(const Amount& amount) {
  std::lock_guard lock(mutex_);
  spent_.cost += amount.cost;
  spent_.tokens += amount.tokens;
  change_.notify_all();
}

Status BudgetKeeper::check() const {
  std::lock_guard lock(mutex_);
  if (fits(reserved_, {})) return {};
  return fail(ErrorCode::kResourceExhausted,
              "the budget has no room for another try: {:.6g} and {} tokens spent", spent_.cost,
              spent_.tokens);
}

}  // namespace kw::openai
