#include "kernelwright/service/worker.h"

#include <array>
#include <functional>
#include <mutex>
#include <utility>

#include <unistd.h>

#include "gym/supervisor/ahead_compiler.h"
#include "kernelwright/service/remote_judges.h"
#include "kernelwright/service/worker_fitness.h"
#include "service/ahead_worker.h"
#include "service/worker.h"

namespace kw::front {
namespace {

using Say = std::function<void(std::string_view)>;

Result<int> compile_ahead(const WorkerCommand& command, service::ServiceClient& client,
                          const Say& say, const Services& services) {
  gym::AheadCompiler::Options options{.architecture = command.compile_for};
  options.gym.isolation_at_least = command.isolation_at_least;
  KW_TRY(const auto compiler, gym::AheadCompiler::start(std::move(options)));
  service::AheadWorkerOptions ahead{.name = command.name, .jobs = command.jobs};
  // Compilers of any isolation fill the cache: what they build is judged elsewhere.
  ahead.can = service::Abilities(compiler->languages(), sandbox::Level::kFull);
  ahead.compile = [&](const gym::EvalRequest& request) -> Result<std::string> {
    KW_TRY(const gym::AheadOutcome outcome, compiler->compile(request));
    return std::string(to_string(outcome));
  };
  ahead.on_event = say;
  say(fmt::format("{} compiles for {}: {}", ahead.name, client.url(), ahead.can.to_json().dump()));
  KW_TRY_STATUS(service::run_ahead_worker(ahead, client, services.stop));
  return 0;
}

// No other worker of the cluster has it: containers often number their processes alike.
std::string own_name() {
  std::array<char, 128> host{};
  (void)::gethostname(host.data(), host.size() - 1);
  return fmt::format("{}-{}", host.data(), ::getpid());
}

}  // namespace

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
  WorkerCommand named = command;
  if (named.name.empty()) named.name = own_name();
  if (command.stage == "compile") return compile_ahead(named, *client, say, services);
  gym::GymOptions gym;
  gym.isolation_at_least = command.isolation_at_least;
  gym.jobs = command.jobs;
  KW_TRY(auto judge, services.start_judge(gym));
  service::WorkerOptions options{.name = named.name, .jobs = command.jobs, .on_event = say};
  KW_TRY(options.can, service::abilities_of(*judge));
  options.intents = command.state;
  options.fitness = fitness_options(*judge, options.can, services);
  say(fmt::format("{} works for {}: {}", options.name, client->url(),
                  options.can.to_json().dump()));
  KW_TRY_STATUS(service::run_worker(options, *client, *judge, services.stop));
  return 0;
}

}  // namespace kw::front
