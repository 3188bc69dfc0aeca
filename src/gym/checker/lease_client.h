// The checker's side of the timing lease: it asks the supervisor over its control socket.
#pragma once
#include <chrono>

#include "base/result.h"
#include "gym/checker/timing_lease.h"
#include "gym/messages/checker_messages.h"
#include "os/message.h"

namespace kw::gym {

// control: borrowed.
class LeaseClient final : public TimingLease {
 public:
  explicit LeaseClient(int control) : control_(control) {}

  Status take() override {
    KW_TRY_STATUS(os::send_message(control_, to_json(Signal::kLease)));
    KW_TRY(os::Message message, os::receive_message(control_, std::chrono::milliseconds(-1)));
    KW_TRY(Signal signal, signal_from_json(message.body));
    if (signal != Signal::kGranted)
      return fail(ErrorCode::kInternal, "the supervisor did not grant the timing lease");
    return {};
  }
  // A supervisor that is gone is noticed at the next request.
  void give_back() override {
    static_cast<void>(os::send_message(control_, to_json(Signal::kRelease)).has_value());
  }

 private:
  int control_;
};

}  // namespace kw::gym
