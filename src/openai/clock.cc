#include "openai/clock.h"

#include <condition_variable>
#include <mutex>

namespace kw::openai {
namespace {

class SystemClock : public Clock {
 public:
  Time now() override { return std::chrono::steady_clock::now(); }
  bool wait_until(Time time, const std::stop_token& stop) override {
    std::mutex mutex;
    std::condition_variable_any never;
    std::unique_lock lock(mutex);
    never.wait_until(lock, stop, time, [] { return false; });
    return !stop.stop_requested();
  }
};

}  // namespace

Clock& system_clock() {
  static SystemClock clock;
  return clock;
}

}  // namespace kw::openai
