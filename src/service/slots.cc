#include "service/slots.h"

#include <mutex>
#include <thread>
#include <vector>

namespace kw::service {

Status run_slots(int count, const std::stop_token& stop,
                 const std::function<Status(const std::stop_token&)>& work) {
  std::stop_source ending;
  std::stop_callback forward(stop, [&] { ending.request_stop(); });
  std::mutex mutex;
  Status out;  // guarded by mutex
  {
    std::vector<std::jthread> slots;
    for (int i = 0; i < count; ++i)
      slots.emplace_back([&] {
        const Status status = work(ending.get_token());
        std::lock_guard lock(mutex);
        if (!status && out) out = status;
        ending.request_stop();
      });
  }
  return out;
}

}  // namespace kw::service
