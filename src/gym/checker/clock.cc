#include "gym/checker/clock.h"

#include <thread>

namespace kw::gym {
namespace {

class HostClock final : public CheckerClock {
 public:
  Time now() override { return std::chrono::steady_clock::now(); }
  void sleep_for(std::chrono::nanoseconds duration) override {
    std::this_thread::sleep_for(duration);
  }
};

}  // namespace

CheckerClock& host_clock() {
  static HostClock clock;
  return clock;
}

}  // namespace kw::gym
