#include "service/held_lease.h"

namespace kw::service {

std::chrono::milliseconds HeldLease::renewal_pause() const {
  constexpr double kRenewals = 3;  // in a lease's time
  return std::chrono::duration_cast<std::chrono::milliseconds>(
      std::chrono::duration<double>(seconds_ / kRenewals));
}

bool HeldLease::goes_on_after(const Result<bool>& renewed) {
  is_over_ = renewed ? !*renewed : !may_retry(renewed.error().code());
  return !is_over_;
}

ReportKind HeldLease::report_of(const Error* failure, bool is_stopped) const {
  if (failure == nullptr) return ReportKind::kComplete;
  const bool is_given_back = is_over_ || (is_stopped && failure->code() == ErrorCode::kCancelled);
  return is_given_back ? ReportKind::kRelease : ReportKind::kFail;
}

}  // namespace kw::service
