// The worker's loop: leases over outgoing HTTP, judges, answers.
#pragma once
#include <filesystem>
#include <functional>
#include <stop_token>
#include <string>
#include <string_view>

#include "gym/judge.h"
#include "service/abilities.h"
#include "service/fitness.h"
#include "service/service_client.h"

namespace kw::service {

struct WorkerOptions {
  std::string name = {};
  int jobs = 1;  // tasks at once
  Abilities can = {};
  std::filesystem::path intents = {};  // file of the leases that it has; empty: none
  FitnessOptions fitness = {};
  // "leased task 7". From any thread.
  std::function<void(std::string_view)> on_event = [](std::string_view) {};
};

// Returns after a stop, when every task that was under way has been answered or given back. Before
// that only with an error that no patience helps: another version, no permission, or the file of
// intents being another worker's. Renews each lease at a third of its time; a judgement that nobody
// waits for is stopped.
Status run_worker(const WorkerOptions& options, ServiceClient& client, gym::Judge& judge,
                  const std::stop_token& stop);

}  // namespace kw::service
