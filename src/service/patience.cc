#include "service/patience.h"

#include <algorithm>
#include <utility>

namespace kw::service {
namespace {

constexpr std::chrono::milliseconds kLongestPause{2000};

bool is_of_the_way(ErrorCode code) {
  return code == ErrorCode::kUnavailable || code == ErrorCode::kDeadlineExceeded ||
         code == ErrorCode::kResourceExhausted;
}

}  // namespace

std::optional<std::chrono::milliseconds> Patience::pause_after(const Error& error, Time now) {
  if (!is_of_the_way(error.code()) || now + pause_ > end_) return std::nullopt;
  return std::exchange(pause_, std::min(pause_ * 2, kLongestPause));
}

}  // namespace kw::service
