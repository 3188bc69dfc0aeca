// Threads take indices in turns; results pass through one lock.
#include "kernelwright/eval/judging.h"

#include <algorithm>
#include <mutex>
#include <optional>
#include <thread>
#include <utility>

#include "base/check.h"
#include "kernelwright/eval/turns.h"

namespace kw::front {

Status run_all(std::size_t count, int jobs, const Work& work, const std::stop_token& stop,
               std::vector<std::size_t> groups) {
  groups.resize(groups.empty() ? count : groups.size());
  KW_CHECK(groups.size() == count);
  std::stop_source ending;
  std::stop_callback forward(stop, [&] { ending.request_stop(); });
  Turns turns(groups);
  std::mutex mutex;
  std::optional<Error> failure;  // guarded by mutex
  auto run = [&] {
    std::optional<std::size_t> group;
    while (!ending.stop_requested()) {
      const auto turn = turns.next(group);
      if (!turn) return;
      group = turn->group;
      Finish finish = work(turn->index, ending.get_token());
      std::lock_guard lock(mutex);
      // A judgement that was cut short by another failure says nothing.
      if (failure) return;
      auto status = finish();
      if (status) continue;
      failure = std::move(status).error();
      ending.request_stop();
    }
  };
  {
    std::vector<std::jthread> threads;
    std::size_t in_flight = std::min(count, static_cast<std::size_t>(std::max(jobs, 1)));
    for (std::size_t i = 0; i < in_flight; ++i) threads.emplace_back(run);
  }
  if (failure) return tl::unexpected(std::move(*failure));
  if (stop.stop_requested()) return fail(ErrorCode::kCancelled, "interrupted");
  return {};
}

Status judge_all(gym::Judge& judge, const Judging& work, const std::stop_token& stop) {
  auto one = [&](std::size_t index, std::stop_token stop_one) -> Finish {
    auto verdict = judge.judge(work.request(index), std::move(stop_one));
    return [&work, index, verdict = std::move(verdict)]() mutable {
      return work.done(index, std::move(verdict));
    };
  };
  return run_all(work.count, work.jobs, one, stop, work.groups);
}

}  // namespace kw::front
