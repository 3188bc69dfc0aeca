// A stack for each origin: what is used often stays warm, the rest grows old.
#include "net/connection_pool.h"

#include <utility>

namespace kw::net {

void ConnectionPool::drop_old_locked() {
  auto now = ClientConnection::Clock::now();
  for (auto& [origin, idle] : idle_)
    std::erase_if(idle, [&](const Idle& each) { return now - each.since > keep_; });
  std::erase_if(idle_, [](const auto& entry) { return entry.second.empty(); });
}

std::unique_ptr<ClientConnection> ConnectionPool::take(const std::string& origin) {
  std::lock_guard lock(mutex_);
  drop_old_locked();
  auto found = idle_.find(origin);
  while (found != idle_.end() && !found->second.empty()) {
    auto connection = std::move(found->second.back().connection);
    found->second.pop_back();
    if (connection->is_idle()) return connection;
  }
  return nullptr;
}

void ConnectionPool::put(const std::string& origin, std::unique_ptr<ClientConnection> connection) {
  std::lock_guard lock(mutex_);
  drop_old_locked();
  auto& idle = idle_[origin];
  if (idle.size() < most_each_)
    idle.push_back({std::move(connection), ClientConnection::Clock::now()});
}

}  // namespace kw::net
