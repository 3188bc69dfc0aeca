// Threads take indices from a counter; results pass through one lock.
#include "judging.h"

#include <algorithm>
#include <atomic>
#include <mutex>
#include <optional>
#include <thread>
#include <vector>

namespace kw::front {

Status judge_all(Judge& judge, const Judging& work, const std::stop_token& stop) {
  std::stop_source ending;
  std::stop_callback forward(stop, [&] { ending.request_stop(); });
  std::atomic<std::size_t> next{0};
  std::mutex mutex;
  std::optional<Error> failure;  // guarded by mutex
  auto run = [&] {
    while (!ending.stop_requested()) {
      std::size_t index = next.fetch_add(1);
      if (index >= work.count) return;
      auto verdict = judge.judge(work.request(index), ending.get_token());
      std::lock_guard lock(mutex);
      // A judgement cut short by somebody else's failure says nothing.
      if (failure) return;
      auto status = work.done(index, std::move(verdict));
      if (status) continue;
      failure = std::move(status).error();
      ending.request_stop();
    }
  };
  {
    std::vector<std::jthread> threads;
    std::size_t count = std::min(work.count, static_cast<std::size_t>(std::max(work.jobs, 1)));
    for (std::size_t i = 0; i < count; ++i) threads.emplace_back(run);
  }
  if (failure) return tl::unexpected(std::move(*failure));
  if (stop.stop_requested()) return fail(ErrorCode::kCancelled, "interrupted");
  return {};
}

}  // namespace kw::front
