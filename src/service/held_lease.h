// HeldLease: what a worker does about a lease that it has. Pure: the caller has the clock, calls
// the server and judges.
#pragma once
#include <chrono>

#include "base/result.h"
#include "service/task_messages.h"

namespace kw::service {

// One caller at a time.
class HeldLease {
 public:
  // seconds: of the lease, as the server said.
  explicit HeldLease(double seconds) : seconds_(seconds) {}

  // Between two renewals; also how long one may take.
  std::chrono::milliseconds renewal_pause() const;

  // Takes a renewal's answer. False: nobody takes an answer any more, and the judgement is to be
  // stopped. A server that cannot be reached may come back with the lease.
  bool goes_on_after(const Result<bool>& renewed);

  // The report that ends it. failure: nullptr when the judgement has an answer. is_stopped: the
  // worker ends.
  ReportKind report_of(const Error* failure, bool is_stopped) const;

 private:
  double seconds_;
  bool is_over_ = false;
};

}  // namespace kw::service
