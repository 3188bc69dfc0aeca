// The loop of a worker that compiles ahead: it asks which tasks wait, compiles their candidates
// into the cache that it shares with workers that judge, and tells nobody. It has no leases, so
// nothing depends on it.
#pragma once
#include <chrono>
#include <functional>
#include <stop_token>
#include <string>
#include <string_view>

#include "gym/eval_request.h"
#include "service/abilities.h"
#include "service/service_client.h"

namespace kw::service {

struct AheadWorkerOptions {
  std::string name = {};
  int jobs = 1;  // compilers at once
  Abilities can = {};
  // Compiles, and says what became of it; an error is the machine's. From several threads.
  std::function<Result<std::string>(const gym::EvalRequest&)> compile = {};
  std::chrono::milliseconds pause{500};  // when nothing waits
  std::function<void(std::string_view)> on_event = [](std::string_view) {};
};

// Returns after a stop, or with an error that no patience helps.
Status run_ahead_worker(const AheadWorkerOptions& options, ServiceClient& client,
                        const std::stop_token& stop);

}  // namespace kw::service
