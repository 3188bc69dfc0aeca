// Many things at once, with a bounded number in flight.
#pragma once
#include <cstddef>
#include <functional>
#include <stop_token>
#include <vector>

#include "base/result.h"
#include "kernelwright/services.h"

namespace kw::front {

// Does one thing on a thread and returns what is to happen with its result.
using Finish = std::function<Status()>;
using Work = std::function<Finish(std::size_t index, std::stop_token stop)>;

// Calls work for each index below count, `jobs` at a time, and each Finish one call at a time, in
// order of completion. An error of a Finish ends everything: what is in flight is stopped, nothing
// new begins, and run_all returns the error. Returns when all is done or, after a stop, when what
// was in flight is: kCancelled then.
// groups: as in Judging.
Status run_all(std::size_t count, int jobs, const Work& work, const std::stop_token& stop,
               std::vector<std::size_t> groups = {});

struct Judging {
  std::size_t count = 0;
  int jobs = 1;
  // A group for each index: judgements of one group can share a session, and turns.h says their
  // order. Empty: all are judged in the order of their indices.
  std::vector<std::size_t> groups = {};
  std::function<gym::EvalRequest(std::size_t)>
      request;  // called once for each index below count, from any thread
  std::function<Status(std::size_t, Result<task::Verdict>)> done;
};

// Judges many requests by run_all: done is the end of each.
Status judge_all(gym::Judge& judge, const Judging& work, const std::stop_token& stop);

}  // namespace kw::front
