#include "service/patience.h"

#include <gtest/gtest.h>

namespace kw::service {
namespace {

using std::chrono::milliseconds;

TEST(Patience, WaitsLongerEachTimeUntilItEnds) {
  Patience::Time now{milliseconds(5000)};
  Patience patience(now + milliseconds(10000));
  const Error error(ErrorCode::kUnavailable, "");
  std::vector<std::int64_t> pauses;
  while (const auto pause = patience.pause_after(error, now)) {
    pauses.push_back(pause->count());
    now += *pause;
  }
  EXPECT_EQ(pauses, (std::vector<std::int64_t>{100, 200, 400, 800, 1600, 2000, 2000, 2000}));
}

TEST(Patience, WaitsAsLongAsTheServerAsksUntilItEnds) {
  Patience::Time now{milliseconds(5000)};
  Patience patience(now + milliseconds(10000));
  const auto pause = [&](std::chrono::seconds asked) {
    const auto out = patience.pause_after({ErrorCode::kResourceExhausted, ""}, now, asked);
    if (out) now += *out;
    return out;
  };
  EXPECT_EQ(pause(std::chrono::seconds(3)), milliseconds(3000));
  EXPECT_EQ(pause(std::chrono::seconds(0)), milliseconds(200));
  EXPECT_EQ(pause(std::chrono::hours(100000)), milliseconds(6800)) << "the last try";
  EXPECT_EQ(pause(std::chrono::seconds(1)), std::nullopt);
}

TEST(Patience, HelpsWithTheWayAndAFullServerAlone) {
  for (const ErrorCode code :
       {ErrorCode::kUnavailable, ErrorCode::kDeadlineExceeded, ErrorCode::kResourceExhausted,
        ErrorCode::kNotFound, ErrorCode::kPermissionDenied, ErrorCode::kAlreadyExists,
        ErrorCode::kUnsupported, ErrorCode::kCancelled}) {
    const bool helps = code == ErrorCode::kUnavailable || code == ErrorCode::kDeadlineExceeded ||
                       code == ErrorCode::kResourceExhausted;
    Patience patience(Patience::Time(milliseconds(1000)));
    EXPECT_EQ(patience.pause_after({code, ""}, {}).has_value(), helps) << to_string(code);
  }
}

}  // namespace
}  // namespace kw::service
