// Starts the ranks of one machine from one command: forks, so before the first thread.
#pragma once
#include <atomic>
#include <functional>

#include "base/result.h"
#include "train/parallel/launch.h"

namespace kw::train {

// Forks `count` processes (1 to 512) that each call `run` and exit with its result, and waits for
// all. They meet at a free port of 127.0.0.1, and are killed when this process dies. When `stop`
// becomes true, they get SIGTERM. Returns the exit status of the first one that failed, 2 for one
// that a signal ended, else 0. Call it without other threads, and before a GPU is used.
Result<int> start_ranks(int count, const std::atomic<bool>& stop,
                        const std::function<int(const Launch&)>& run);

}  // namespace kw::train
