#include "simulation.h"

#include <algorithm>
#include <memory>

#include "actors.h"

namespace kw::service::simulation {
namespace {

constexpr milliseconds kLease{9000};
constexpr milliseconds kTrouble{90000};      // how long things go wrong
constexpr milliseconds kTimeToEnd{7200000};  // until all must have ended then

// Some runs are calm, so that each kind of trouble is also seen without the others.
Weather weather_of(World& world) {
  const auto some = [&](unsigned most) {
    return world.below(2) == 0 ? 0 : static_cast<unsigned>(world.below(most + 1));
  };
  return {.lost = some(80),
          .repeated = some(80),
          .delayed = some(80),
          .crash = some(60),
          .slow_disk = some(30),
          .full_disk = some(15),
          .pause = some(15),
          .death = some(250),
          .freeze = some(200),
          .infrastructure = some(200)};
}

// What is there after all of it, in a server that has just started.
void look_again(Scene scene, const std::vector<std::unique_ptr<Client>>& clients, int& waits_for) {
  for (const auto& [ticket, wish] : scene.promises.wishes()) {
    ++waits_for;
    scene.server.call<TaskStatus>(
        [ticket = ticket](TaskService& service, TaskService::Reply<TaskStatus> reply) {
          service.status(ticket, "", milliseconds(0), std::move(reply));
        },
        [scene, ticket = ticket, &waits_for](const Result<TaskStatus>& status, Time at) {
          --waits_for;
          scene.promises.seen(ticket, status, at);
        });
  }
  for (const auto& client : clients) {
    if (client->group().empty()) continue;
    ++waits_for;
    scene.server.call<GroupStatus>(
        [&client](TaskService& service, TaskService::Reply<GroupStatus> reply) {
          service.group({.name = client->group()}, std::move(reply));
        },
        [scene, &client, &waits_for](const Result<GroupStatus>& group, Time) {
          --waits_for;
          scene.promises.group_at_end(client->group(), client->wanted(),
                                      group ? group->open + group->in_all : 0);
        });
  }
}

void count_what_is_left(Scene scene, int& waits_for) {
  ++waits_for;
  scene.server.call<TaskCounts>(
      [](TaskService& service, TaskService::Reply<TaskCounts> reply) {
        service.counts(std::move(reply));
      },
      [scene, &waits_for](const Result<TaskCounts>& counts, Time) {
        --waits_for;
        if (counts && (counts->waiting > 0 || counts->leased > 0))
          scene.promises.broken(fmt::format("{} jobs wait and {} are leased at the end",
                                            counts->waiting, counts->leased));
      });
}

}  // namespace

Outcome simulate(std::uint64_t seed, const std::filesystem::path& folder, bool keeps_trace) {
  World world(seed, keeps_trace);
  Promises promises(world, kLease);
  TaskOptions options{.lease = kLease, .most_waiting = 12};
  options.problems.most_idle = 5;
  ServerHost server(world, promises, options, folder);
  Scene scene{world, server, promises};
  std::vector<std::unique_ptr<Client>> clients;
  std::vector<std::unique_ptr<Worker>> workers;
  world.weather = weather_of(world);
  for (std::uint64_t i = 0, count = 5 + world.below(15); i < count; ++i) {
    clients.push_back(std::make_unique<Client>(scene, fmt::format("client-{}", i)));
    world.after(world.between(0, kTrouble.count()),
                [client = clients.back().get()] { client->begin(); });
  }
  for (std::uint64_t i = 0, count = 1 + world.below(4); i < count; ++i) {
    workers.push_back(
        std::make_unique<Worker>(scene, fmt::format("worker-{}", i), kLease, i % 2 == 0));
    world.after(world.between(0, 2000), [worker = workers.back().get()] { worker->begin(); });
  }
  const Time begin = world.now;
  const auto run_while = [&](Time end, const auto& goes_on) {
    while (promises.holds() && world.now < end && goes_on() && world.step()) continue;
  };
  run_while(begin + kTrouble, [] { return true; });
  world.trace("the trouble is over");
  world.weather = {};
  server.repair();
  run_while(world.now + kTimeToEnd, [&] {
    return !std::ranges::all_of(clients, [](const auto& each) { return each->is_over(); });
  });
  if (!std::ranges::all_of(clients, [](const auto& each) { return each->is_over(); }))
    promises.broken("a client waits for ever");
  // Clients that went away left tasks behind.
  int waits_for = 0;
  run_while(world.now + milliseconds(300000), [] { return true; });
  look_again(scene, clients, waits_for);
  count_what_is_left(scene, waits_for);
  run_while(world.now + milliseconds(60000), [&] { return waits_for > 0; });
  if (const auto open = promises.open(); !open.empty())
    promises.broken(fmt::format("task {} never ended", open.front()));
  server.crash(true);
  server.repair();
  look_again(scene, clients, waits_for);
  run_while(world.now + milliseconds(60000), [&] { return waits_for > 0; });
  if (promises.holds() && waits_for > 0) promises.broken("the server does not answer any more");
  Outcome out{.violation = promises.violation(),
              .trace = world.events(),
              .ends = promises.ends(),
              .starts = server.starts()};
  out.hours = std::chrono::duration<double, std::ratio<3600>>(world.now - begin).count();
  return out;
}

}  // namespace kw::service::simulation
