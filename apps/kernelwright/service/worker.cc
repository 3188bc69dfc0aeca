#include "kernelwright/service/worker.h"

#include <mutex>
#include <utility>

#include <unistd.h>

#include "kernelwright/service/remote_judges.h"
#include "service/worker.h"

namespace kw::front {

Result<int> run_worker(const WorkerCommand& command, const Services& services) {
  std::mutex mutex;  // of the console
  const auto say = [&](std::string_view line) {
    std::lock_guard lock(mutex);
    services.console.err(fmt::format("{}\n", line));
  };
  service::ServiceClientOptions reaching = client_options(command.server);
  reaching.patience = std::chrono::hours(24);
  reaching.on_retry = [&](const Error& why) { say("trying again: " + why.message()); };
  KW_TRY(auto client, service::ServiceClient::make(std::move(reaching)));
  gym::GymOptions gym;
  gym.isolation_at_least = command.isolation_at_least;
  gym.jobs = command.jobs;
  KW_TRY(auto judge, services.start_judge(gym));
  service::WorkerOptions options{.name = command.name, .jobs = command.jobs, .on_event = say};
  if (options.name.empty()) options.name = fmt::format("worker-{}", ::getpid());
  say(fmt::format("{} works for {}", options.name, client->url()));
  KW_TRY_STATUS(service::run_worker(options, *client, *judge, services.stop));
  return 0;
}

}  // namespace kw::front
