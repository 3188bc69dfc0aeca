// ServerHost: the machine of the simulated server. The real TaskService and SQLite storage run on
// it; it starts them again after crashes, and its calls come over the world's network.
#pragma once
#include <cstdint>
#include <filesystem>
#include <functional>
#include <memory>
#include <optional>
#include <utility>

#include "memory_disk.h"
#include "promises.h"
#include "service/task_service.h"
#include "world.h"

namespace kw::service::simulation {

// One thread.
class ServerHost {
 public:
  // folder: a real one, which stays empty.
  ServerHost(World& world, Promises& promises, TaskOptions options, std::filesystem::path folder);
  ~ServerHost();
  ServerHost(const ServerHost&) = delete;
  ServerHost& operator=(const ServerHost&) = delete;

  // The disk has room again, and the server is started if it is down.
  void repair();
  // Stops the process, or the machine, at once.
  void crash(bool power);
  bool is_up() const { return service_ != nullptr; }
  const std::string& start_name() const { return service_->start_name(); }
  int starts() const { return starts_; }
  // By the server's clock, when its turn began.
  Time turn_at() const { return turn_at_; }
  // By the server's clock.
  Time clock() const { return world_.now + ahead_ + stall_; }

  // A call over the network: `act` may be carried out never, once or twice, `done` is called once,
  // with the time of the server's turn when it answered. arrives: also when the call is lost later.
  template <typename T>
  void call(std::function<void(TaskService&, TaskService::Reply<T>)> act,
            std::function<void(Result<T>, Time)> done, milliseconds most = milliseconds(60000)) {
    auto hear = std::make_shared<std::function<void(Result<T>, Time)>>(std::move(done));
    const auto answer = [hear](Result<T> result, Time at) {
      if (!*hear) return;
      const auto once = std::exchange(*hear, {});
      once(std::move(result), at);
    };
    world_.after(most, [answer] {
      answer(fail(ErrorCode::kDeadlineExceeded, "no answer came in time"), Time{});
    });
    const int copies =
        world_.chance(world_.weather.lost) ? 0 : (world_.chance(world_.weather.repeated) ? 2 : 1);
    for (int i = 0; i < copies; ++i)
      world_.after(world_.way(), [this, act, answer] { arrive<T>(act, answer); });
  }

 private:
  class Disk;  // the storage, with the weather of its disk

  template <typename T>
  void arrive(const std::function<void(TaskService&, TaskService::Reply<T>)>& act,
              const std::function<void(Result<T>, Time)>& answer) {
    if (!is_up()) {
      world_.after(world_.way(), [answer] {
        answer(fail(ErrorCode::kUnavailable, "the connection was refused"), Time{});
      });
      return;
    }
    listen();
    act(*service_, [this, answer, start = starts_](Result<T> result) {
      if (start != starts_ || world_.chance(world_.weather.lost)) return;
      world_.after(stall_ + world_.way(),
                   [answer, result = std::move(result), at = turn_at_]() mutable {
                     answer(std::move(result), at);
                   });
    });
    plan_turn(milliseconds(world_.chance(300) ? 5 : 0));
  }
  void start();
  void listen();
  void plan_turn(milliseconds delay);
  void turn(std::uint64_t planned);
  void go_down();

  World& world_;
  Promises& promises_;
  const TaskOptions options_;
  const std::filesystem::path folder_;
  MemoryDisk disk_;
  std::unique_ptr<TaskService> service_;
  bool is_broken_ = false;
  int starts_ = 0;
  milliseconds ahead_{0};  // of the server's clock, by its jumps
  milliseconds stall_{0};  // in this turn, by the disk
  Time turn_at_{}, free_at_{}, heard_at_{};
  Time next_turn_ = Time::max();
  std::uint64_t planned_ = 0;
};

}  // namespace kw::service::simulation
