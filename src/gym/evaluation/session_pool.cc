#include "gym/evaluation/session_pool.h"

#include <algorithm>
#include <utility>

namespace kw::gym {

std::unique_ptr<BenchSession> SessionPool::take(const std::string& key) {
  std::lock_guard lock(mutex_);
  auto found = std::ranges::find(idle_, key, &Entry::key);
  if (found == idle_.end()) return nullptr;
  auto session = std::move(found->session);
  held_ -= found->bytes;
  idle_.erase(found);
  return session;
}

void SessionPool::give_back(const std::string& key, std::unique_ptr<BenchSession> session) {
  std::list<Entry> dropped;  // their processes end after the lock is released
  std::lock_guard lock(mutex_);
  const std::uint64_t bytes = session->resident_bytes();
  idle_.push_front({key, std::move(session), bytes});
  held_ += bytes;
  while ((held_ > budget_ || idle_.size() > max_idle_) && idle_.size() > 1) {
    held_ -= idle_.back().bytes;
    dropped.splice(dropped.end(), idle_, std::prev(idle_.end()));
  }
}

bool SessionPool::contains(const std::string& key) const {
  std::lock_guard lock(mutex_);
  return std::ranges::find(idle_, key, &Entry::key) != idle_.end();
}

}  // namespace kw::gym
