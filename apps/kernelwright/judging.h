// Judges many requests with a bounded number in flight.
#pragma once
#include <cstddef>
#include <functional>
#include <stop_token>

#include "base/result.h"
#include "services.h"

namespace kw::front {

struct Judging {
  std::size_t count = 0;
  int jobs = 1;
  std::function<gym::EvalRequest(std::size_t)>
      request;  // called once for each index below count, from any thread
  // Called for each index that was begun, one call at a time, in order of completion. An error ends
  // everything: what is in flight is stopped, nothing new begins, and judge_all returns the error.
  std::function<Status(std::size_t, Result<task::Verdict>)> done;
};

// Returns when all is done or, after a stop, when what was in flight is. kCancelled after a stop.
Status judge_all(Judge& judge, const Judging& work, const std::stop_token& stop);

}  // namespace kw::front
