// Work on threads that ends early at the first error or stop.
#pragma once
#include <condition_variable>
#include <functional>
#include <mutex>
#include <optional>
#include <stop_token>
#include <string>
#include <utility>

#include "base/result.h"
#include "os/workers.h"

namespace kw::os {

// Thread-safe, but for post and finish: the thread that made it.
class TaskGroup {
 public:
  // stop ends the group as an error would; `stopped` is then the message of finish().
  TaskGroup(int threads, std::stop_token stop, std::string stopped)
      : stop_(std::move(stop)),
        stopped_(std::move(stopped)),
        on_stop_(stop_, [this] { ending_.request_stop(); }),
        workers_(threads, static_cast<std::size_t>(threads)) {}
  // Asks running tasks to stop, and waits for them.
  ~TaskGroup() {
    ending_.request_stop();
    wait();
  }
  TaskGroup(const TaskGroup&) = delete;
  TaskGroup& operator=(const TaskGroup&) = delete;

  // Waits while every thread has the next one already. Work that waits when the group ends is run
  // all the same: it looks at ending().
  void post(std::function<void()> work) {
    {
      std::lock_guard lock(mutex_);
      ++in_flight_;
    }
    workers_.post([this, work = std::move(work)](const std::stop_token&) {
      work();
      std::lock_guard lock(mutex_);
      --in_flight_;
      idle_.notify_all();
    });
  }

  void end(Error error) {
    std::lock_guard lock(mutex_);
    if (!error_) error_ = std::move(error);
    ending_.request_stop();
  }
  bool ending() const { return ending_.stop_requested(); }
  std::stop_token token() const { return ending_.get_token(); }

  // Waits for everything. The first error of end(); kCancelled after a stop; else posted, which
  // says how the posting went.
  Status finish(Status posted) {
    wait();
    std::lock_guard lock(mutex_);
    if (error_) return tl::unexpected(std::move(*error_));
    if (stop_.stop_requested()) return fail(ErrorCode::kCancelled, "{}", stopped_);
    return posted;
  }

 private:
  void wait() {
    std::unique_lock lock(mutex_);
    idle_.wait(lock, [this] { return in_flight_ == 0; });
  }

  const std::stop_token stop_;
  const std::string stopped_;
  std::stop_source ending_;
  std::stop_callback<std::function<void()>> on_stop_;
  std::mutex mutex_;
  std::condition_variable idle_;
  int in_flight_ = 0;           // under mutex_
  std::optional<Error> error_;  // under mutex_
  Workers workers_;             // last: its threads use the others
};

}  // namespace kw::os
