#include "server_host.h"

#include <algorithm>

#include "service/sqlite_storage.h"

namespace kw::service::simulation {
namespace {

// The server died in a commit: it unwinds the turn, as nobody hears of what it did.
struct Died {
  bool power = false;
};

}  // namespace

class ServerHost::Disk : public TaskStorage {
 public:
  Disk(ServerHost& host, std::unique_ptr<TaskStorage> storage)
      : host_(host), storage_(std::move(storage)) {}

  Result<Rows> load() override { return storage_->load(); }
  Result<std::string> request(JobId job) override { return storage_->request(job); }
  Status commit(const Changes& changes) override {
    World& world = host_.world_;
    const bool power = world.below(2) == 0;
    const bool crashes = world.chance(world.weather.crash);
    const std::uint64_t moment = world.below(3);  // before, during and after the commit
    if (world.chance(world.weather.slow_disk)) host_.stall_ += world.between(10, 15000);
    if (world.chance(world.weather.full_disk)) host_.disk_.set_full(true);
    if (crashes && moment == 0) throw Died{power};
    if (crashes && moment == 1) host_.disk_.set_last_write(static_cast<int>(world.below(8)));
    Status out = storage_->commit(changes);
    for (const JobRow& row : changes.jobs)
      world.trace("server: job {} is {}, epoch {}, {} lost, {} failures", row.id,
                  to_string(row.state), row.epoch, row.lost, row.failures);
    if (!out) world.trace("server: {}", out.error().message());
    if (crashes) throw Died{power};
    return out;
  }

 private:
  ServerHost& host_;
  std::unique_ptr<TaskStorage> storage_;
};

ServerHost::ServerHost(World& world, Promises& promises, TaskOptions options,
                       std::filesystem::path folder)
    : world_(world),
      promises_(promises),
      options_(options),
      folder_(std::move(folder)),
      disk_(world.random) {
  start();
}

ServerHost::~ServerHost() {
  ++starts_;
  service_.reset();
}

void ServerHost::start() {
  const auto storage_failed = [&](const Error& why) {
    world_.trace("server: does not start: {}", why.message());
    if (why.code() != ErrorCode::kResourceExhausted)
      promises_.broken("the server does not start again: " + why.message());
    disk_.kill_process();
    go_down();
  };
  auto storage = open_sqlite_storage(folder_);
  if (!storage) return storage_failed(storage.error());
  is_broken_ = false;
  auto service =
      TaskService::start_without_thread(std::make_unique<Disk>(*this, std::move(*storage)),
                                        {.tasks = options_,
                                         .now = [this] { return clock(); },
                                         .on_broken = [this](const Error&) { is_broken_ = true; }});
  if (!service) return storage_failed(service.error());
  service_ = std::move(*service);
  ++starts_;
  heard_at_ = free_at_ = world_.now;
  promises_.server_started(clock());
  world_.trace("server: start {}", starts_);
  next_turn_ = Time::max();
  plan_turn(milliseconds(0));
}

void ServerHost::go_down() {
  ++starts_;
  ++planned_;
  service_.reset();
  stall_ = milliseconds(0);
  world_.after(world_.between(200, 8000), [this, start = starts_] {
    if (start != starts_ || is_up()) return;
    if (world_.below(2) == 0) disk_.set_full(false);
    this->start();
  });
}

void ServerHost::crash(bool power) {
  if (!is_up()) return;
  world_.trace("server: {}", power ? "the power is cut" : "kill -9");
  if (power) {
    disk_.cut_power();
  } else {
    disk_.kill_process();
  }
  go_down();
}

void ServerHost::repair() {
  disk_.set_full(false);
  if (!is_up()) start();
}

void ServerHost::plan_turn(milliseconds delay) {
  const Time at = std::max(world_.now + delay, free_at_);
  if (at >= next_turn_) return;
  next_turn_ = at;
  world_.after(std::chrono::duration_cast<milliseconds>(at - world_.now),
               [this, planned = ++planned_] { turn(planned); });
}

void ServerHost::listen() {
  if (world_.now <= heard_at_) return;
  promises_.listened(world_.now - heard_at_);
  heard_at_ = world_.now;
}

void ServerHost::turn(std::uint64_t planned) {
  if (planned != planned_ || !is_up()) return;
  next_turn_ = Time::max();
  if (world_.chance(world_.weather.pause)) {
    ahead_ += world_.between(50, 60000);
    world_.trace("server: was paused; its clock says {} ms more",
                 std::chrono::duration_cast<milliseconds>(ahead_).count());
  }
  listen();
  turn_at_ = clock();
  bool power = false, died = false;
  try {
    service_->turn();
  } catch (const Died& death) {
    died = true;
    power = death.power;
  }
  if (died) return crash(power);
  if (is_broken_) {
    world_.trace("server: ends, as it cannot store");
    disk_.kill_process();
    return go_down();
  }
  free_at_ = world_.now + stall_;
  if (stall_ >= options_.lease / 10) heard_at_ = free_at_;  // nobody could be heard so long
  const milliseconds rest = service_->rest();
  const milliseconds stalled = std::exchange(stall_, milliseconds(0));
  plan_turn(stalled + rest);
}

}  // namespace kw::service::simulation
