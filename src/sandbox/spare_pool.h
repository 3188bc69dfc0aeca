// Inits made ahead of the sandboxes that they are for. A launch then only hands over the request:
// making an init costs milliseconds, and joining its cgroups now and then a grace period of the
// kernel (25 ms and more).
#pragma once
#include <array>
#include <condition_variable>
#include <deque>
#include <functional>
#include <mutex>
#include <string>
#include <thread>
#include <vector>

#include "sandbox/process_sandbox.h"

namespace kw::sandbox {

// An init that waits for its spawn request, or soon will: alone in its cgroup, with no uid lease.
struct Spare {
  SandboxParts parts;
  os::UniqueFd status;  // of the init: readable when it waits, or has failed
};

// Spares of both hosts, and the removal of groups whose sandboxes have ended: both by one thread of
// the pool's own, off the path of a launch. Nothing is made before the first fill(). Threads: any.
class SparePool {
 public:
  using Make = std::function<Result<Spare>(Where)>;
  static constexpr std::size_t kNative = 3,
                               kZygote = 2;  // as many as one evaluation starts at once

  // `make` is called from any thread.
  explicit SparePool(Make make) : make_(std::move(make)) {}
  ~SparePool() { stop(); }
  SparePool(const SparePool&) = delete;

  // The oldest living spare, else a new one. Every spare is handed out once.
  Result<Spare> take(Where where);
  // Have spares of this kind from now on. When one cannot be made, none are until the next call.
  void fill(Where where);
  // Removes an emptied group soon.
  void retire(Group group);

  // Nothing is made or removed between the two. pause() returns when what had begun is done.
  void pause();
  void resume();
  // Until nothing is left to make or to remove.
  void settle();
  // Kills the spares and removes all groups; nothing is made afterwards.
  void stop();

  std::vector<pid_t> pids() const;  // of the spares' inits
  std::vector<std::string> group_folders() const;

 private:
  struct Shelf {
    std::size_t wanted = 0;
    std::deque<Spare> spares;
  };
  Shelf& shelf(Where where) { return shelves_[static_cast<std::size_t>(where)]; }
  bool has_work() const;
  void start_thread();
  void run();
  void work_once(std::unique_lock<std::mutex>& lock);

  Make make_;
  mutable std::mutex mutex_;  // everything below
  std::condition_variable changed_;
  std::array<Shelf, 2> shelves_;  // by Where
  std::deque<Group> retired_;
  bool busy_ = false, paused_ = false, stopping_ = false;
  std::thread thread_;
};

}  // namespace kw::sandbox
