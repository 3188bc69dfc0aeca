// Least-recently-used list of idle sessions.
#include "gym/supervisor/session_pool.h"

#include <algorithm>

namespace kw::gym {

std::unique_ptr<ProblemSession> SessionPool::take(const std::string& key) {
  std::lock_guard lock(mutex_);
  auto found = std::find_if(idle_.begin(), idle_.end(),
                            [&](const Entry& entry) { return entry.key == key; });
  if (found == idle_.end()) return nullptr;
  auto session = std::move(found->session);
  idle_.erase(found);
  return session;
}

void SessionPool::give_back(const std::string& key, std::unique_ptr<ProblemSession> session) {
  std::unique_ptr<ProblemSession> dropped;  // ends its processes after the lock is released
  std::lock_guard lock(mutex_);
  idle_.push_front({key, std::move(session)});
  if (idle_.size() <= capacity_) return;
  dropped = std::move(idle_.back().session);
  idle_.pop_back();
}

}  // namespace kw::gym
