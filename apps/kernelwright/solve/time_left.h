// The time that a search still takes, by its pace and by the limits of its time.
#pragma once
#include <cstddef>
#include <cstdint>
#include <optional>

#include "runlog/tree.h"
#include "search/settings.h"

namespace kw::front {

struct Pace {
  double seconds = 0;        // since the program was started
  std::size_t finished = 0;  // attempts in it
};

// Seconds from now_ms, as events have it; nullopt where nothing says. Problems that have ended have
// no attempts left, however many they made.
std::optional<double> seconds_left(const runlog::Run& run, const search::Settings& settings,
                                   const Pace& pace, std::int64_t now_ms);

}  // namespace kw::front
