#include "service/pace.h"

#include <algorithm>
#include <cmath>

namespace kw::service {
namespace {

double seconds(Pace::Cost cost) {
  return std::chrono::duration<double>(cost).count();
}

}  // namespace

// Tasks under way are half over on average.
double Pace::seconds_until_start(Cost work_before) const {
  return (seconds(work_before) + seconds(task) / 2) / static_cast<double>(slots);
}

std::chrono::seconds retry_after(const std::optional<Pace>& pace, std::size_t tasks, double share) {
  if (!pace) return RetryAfter::kUnknown;
  const double whole =
      static_cast<double>(tasks) * seconds(pace->task) / (static_cast<double>(pace->slots) * share);
  const double most = static_cast<double>(RetryAfter::kMax.count());
  const auto rounded = static_cast<std::chrono::seconds::rep>(std::ceil(std::min(whole, most)));
  return std::max(std::chrono::seconds(rounded), RetryAfter::kMin);
}

std::size_t tasks_of_bytes(std::size_t excess, std::size_t bytes, std::size_t tasks) {
  if (bytes == 0) return 1;
  const double out =
      static_cast<double>(excess) * static_cast<double>(tasks) / static_cast<double>(bytes);
  return std::max<std::size_t>(static_cast<std::size_t>(std::ceil(out)), 1);
}

}  // namespace kw::service
