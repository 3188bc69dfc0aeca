// Pace: how fast a server's workers judge, and so when a task begins and when a full server has
// room again.
#pragma once
#include <chrono>
#include <cstddef>
#include <optional>
#include <string>

#include "gym/queue/queue.h"

namespace kw::service {

struct Pace {
  using Cost = gym::Queue::Cost;

  Cost task{0};           // the mean of late
  std::size_t slots = 0;  // tasks that the workers judge at once; 1 or more

  // Until work that is before a task has begun to be judged, where all slots are busy.
  double seconds_until_start(Cost work_before) const;
};

// Why a submission is not accepted now, and when it may be.
struct NoRoom {
  std::string why = {};
  std::chrono::seconds after{0};
};

// A caller who must come again is told this, within these limits; kUnknown where nothing has been
// measured or no worker is there.
struct RetryAfter {
  static constexpr std::chrono::seconds kUnknown{2}, kMin{1}, kMax{600};
};

// When so many tasks have begun. share: the part of the slots that they get.
std::chrono::seconds retry_after(const std::optional<Pace>& pace, std::size_t tasks,
                                 double share = 1);
// How many tasks have so many bytes, where others have `bytes` in `tasks`; 1 or more.
std::size_t tasks_of_bytes(std::size_t excess, std::size_t bytes, std::size_t tasks);

}  // namespace kw::service
