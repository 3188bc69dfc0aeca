#include "service/patience.h"

#include <algorithm>
#include <utility>

namespace kw::service {
namespace {

using std::chrono::milliseconds;

constexpr milliseconds kLongestPause{2000};

bool is_of_the_way(ErrorCode code) {
  return code == ErrorCode::kUnavailable || code == ErrorCode::kDeadlineExceeded ||
         code == ErrorCode::kResourceExhausted;
}

}  // namespace

std::optional<milliseconds> Patience::pause_after(const Error& error, Time now,
                                                  std::optional<std::chrono::seconds> asked) {
  if (!is_of_the_way(error.code()) || now + pause_ > end_) return std::nullopt;
  const milliseconds own = std::exchange(pause_, std::min(pause_ * 2, kLongestPause));
  const auto left = std::chrono::floor<std::chrono::seconds>(end_ - now);
  if (!asked || *asked < own) return own;
  if (*asked <= left) return *asked;
  return std::chrono::floor<milliseconds>(end_ - now);
}

}  // namespace kw::service
