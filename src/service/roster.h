// Roster: which abilities the workers of late have, so that a server knows what nobody here can
// judge. Begins anew with the server.
#pragma once
#include <chrono>
#include <map>
#include <optional>
#include <string>

#include "gym/queue/queue.h"
#include "service/abilities.h"

namespace kw::service {

// One caller at a time.
class Roster {
 public:
  using Time = gym::Queue::Time;
  static constexpr std::size_t kMaxWorkers = 10000;  // beyond it all are forgotten, and come again

  // The worker asks for tasks.
  void see(const std::string& worker, const Abilities& abilities, Time now);
  // It says something else; nothing happens for one that is not known.
  void see(const std::string& worker, Time now);
  // Whether somebody was seen since then that can judge it, or that can judge anything.
  bool covers(const Needs& needs, Time since) const;
  bool has_anybody(Time since) const;
  // True for workers that are not known.
  bool can(const std::string& worker, const Needs& needs) const;

 private:
  std::map<Abilities, Time> seen_;
  std::map<std::string, std::map<Abilities, Time>::iterator> workers_;
};

}  // namespace kw::service
