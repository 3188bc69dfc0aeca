// The slots of a worker: threads that each do one thing after the other.
#pragma once
#include <functional>
#include <stop_token>

#include "base/result.h"

namespace kw::service {

// Calls work on `count` threads, and returns when all have returned. The first that returns stops
// the others, as `stop` does. The first error, if there is one.
Status run_slots(int count, const std::stop_token& stop,
                 const std::function<Status(const std::stop_token&)>& work);

}  // namespace kw::service
