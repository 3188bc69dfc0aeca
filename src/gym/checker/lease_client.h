// The checker's side of the timing lease: asks the supervisor and holds it for the length of a
// scope.
#pragma once
#include <chrono>

#include "base/json.h"
#include "base/result.h"
#include "os/message.h"

namespace kw::gym {

class LeaseScope {
 public:
  static Result<LeaseScope> take(int control) {
    KW_TRY_STATUS(os::send_message(control, Json{{"op", "lease"}}));
    KW_TRY(os::Message message, os::receive_message(control, std::chrono::milliseconds(-1)));
    if (message.body.value("op", "") != "granted")
      return fail(ErrorCode::kInternal, "the supervisor did not grant the timing lease");
    return LeaseScope(control);
  }
  LeaseScope(LeaseScope&& other) noexcept : control_(std::exchange(other.control_, -1)) {}
  LeaseScope& operator=(LeaseScope&&) = delete;
  LeaseScope(const LeaseScope&) = delete;
  ~LeaseScope() {
    // A supervisor that is gone is noticed at the next request.
    if (control_ >= 0)
      static_cast<void>(os::send_message(control_, Json{{"op", "release"}}).has_value());
  }

 private:
  explicit LeaseScope(int control) : control_(control) {}
  int control_;
};

}  // namespace kw::gym
