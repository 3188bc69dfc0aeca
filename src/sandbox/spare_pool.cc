// The shelves of spares and the thread that fills them.
#include "sandbox/spare_pool.h"

#include <algorithm>
#include <chrono>
#include <csignal>
#include <optional>

#include <poll.h>

#include "sandbox/syscalls.h"

namespace kw::sandbox {
namespace {

constexpr auto kReadyLimit = std::chrono::milliseconds(200);

bool readable(int fd, std::chrono::milliseconds timeout) {
  pollfd entry{fd, POLLIN, 0};
  return ::poll(&entry, 1, static_cast<int>(timeout.count())) > 0;
}

bool is_alive(const Spare& spare) {
  return !readable(spare.parts.spawned.pidfd.get(), std::chrono::milliseconds(0));
}

// The group's destructor waits for the end.
void kill(Spare& spare) {
  spare.parts.command.reset();
  sys_pidfd_send_signal(spare.parts.spawned.pidfd.get(), SIGKILL);
}

}  // namespace

void SparePool::stop() {
  {
    std::lock_guard guard(mutex_);
    stopping_ = true;
  }
  changed_.notify_all();
  if (thread_.joinable()) thread_.join();
  // All are killed before the first is waited for.
  for (Shelf& shelf : shelves_) {
    for (Spare& spare : shelf.spares) kill(spare);
  }
  for (Shelf& shelf : shelves_) shelf.spares.clear();
  retired_.clear();
}

Result<Spare> SparePool::take(Where where) {
  {
    std::lock_guard guard(mutex_);
    std::deque<Spare>& spares = shelf(where).spares;
    while (!spares.empty()) {
      Spare spare = std::move(spares.front());
      spares.pop_front();
      if (is_alive(spare)) return spare;
    }
  }
  return make_(where);
}

void SparePool::fill(Where where) {
  std::lock_guard guard(mutex_);
  shelf(where).wanted = where == Where::kNative ? kNative : kZygote;
  start_thread();
}

void SparePool::retire(Group group) {
  std::lock_guard guard(mutex_);
  retired_.push_back(std::move(group));
  start_thread();
}

void SparePool::start_thread() {
  if (stopping_) return;
  if (!thread_.joinable()) thread_ = std::thread([this] { run(); });
  changed_.notify_all();
}

void SparePool::pause() {
  std::unique_lock lock(mutex_);
  paused_ = true;
  changed_.wait(lock, [this] { return !busy_; });
  auto deadline = std::chrono::steady_clock::now() + kReadyLimit;
  for (Shelf& shelf : shelves_) {
    for (Spare& spare : shelf.spares) {
      auto left = std::chrono::duration_cast<std::chrono::milliseconds>(
          deadline - std::chrono::steady_clock::now());
      readable(spare.status.get(), std::max(left, std::chrono::milliseconds(0)));
    }
  }
}

void SparePool::resume() {
  std::lock_guard guard(mutex_);
  paused_ = false;
  changed_.notify_all();
}

void SparePool::settle() {
  std::unique_lock lock(mutex_);
  changed_.wait(lock, [this] { return !busy_ && (paused_ || !has_work()); });
}

std::vector<pid_t> SparePool::pids() const {
  std::lock_guard guard(mutex_);
  std::vector<pid_t> pids;
  for (const Shelf& shelf : shelves_) {
    for (const Spare& spare : shelf.spares) pids.push_back(spare.parts.spawned.init);
  }
  return pids;
}

std::vector<std::string> SparePool::group_folders() const {
  std::lock_guard guard(mutex_);
  std::vector<std::string> folders;
  for (const Shelf& shelf : shelves_) {
    for (const Spare& spare : shelf.spares) {
      if (!spare.parts.group) continue;
      for (std::string& folder : spare.parts.group->folders().all())
        folders.push_back(std::move(folder));
    }
  }
  return folders;
}

bool SparePool::has_work() const {
  for (const Shelf& shelf : shelves_) {
    if (shelf.spares.size() < shelf.wanted) return true;
  }
  return !retired_.empty();
}

void SparePool::run() {
  std::unique_lock lock(mutex_);
  while (true) {
    changed_.wait(lock, [this] { return stopping_ || (!paused_ && has_work()); });
    if (stopping_) return;
    busy_ = true;
    work_once(lock);
    busy_ = false;
    changed_.notify_all();
  }
}

// Unlocks while it works. Spares first: somebody may wait for one.
void SparePool::work_once(std::unique_lock<std::mutex>& lock) {
  for (Where where : {Where::kNative, Where::kZygote}) {
    if (shelf(where).spares.size() >= shelf(where).wanted) continue;
    lock.unlock();
    auto spare = make_(where);
    lock.lock();
    if (spare) {
      shelf(where).spares.push_back(std::move(*spare));
    } else {
      shelf(where).wanted = 0;
    }
    return;
  }
  Group group = std::move(retired_.front());
  retired_.pop_front();
  lock.unlock();
  // What cannot be removed is tried again by the group's destructor, and with the launcher's
  // groups.
  (void)group.remove();
  lock.lock();
}

}  // namespace kw::sandbox
