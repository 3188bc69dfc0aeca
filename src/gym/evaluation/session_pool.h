// Open sessions, kept for the next candidate of the same workload. Thread-safe.
#pragma once
#include <cstdint>
#include <list>
#include <memory>
#include <mutex>
#include <string>

#include "gym/evaluation/bench.h"

namespace kw::gym {

class SessionPool {
 public:
  // budget_bytes: what all idle sessions together may hold (BenchSession::resident_bytes()).
  explicit SessionPool(std::uint64_t budget_bytes) : budget_(budget_bytes) {}

  // A session that nobody else uses, or null.
  std::unique_ptr<BenchSession> take(const std::string& key);
  // Only sessions that are still good come back. The least recently used ones go while all hold
  // more than the budget; the one that comes back stays in any case.
  void give_back(const std::string& key, std::unique_ptr<BenchSession> session);
  bool contains(const std::string& key) const;

 private:
  struct Entry {
    std::string key;
    std::unique_ptr<BenchSession> session;
    std::uint64_t bytes = 0;
  };
  std::uint64_t budget_;
  mutable std::mutex mutex_;
  std::list<Entry> idle_;   // guarded by mutex_; most recently used first
  std::uint64_t held_ = 0;  // guarded by mutex_: of all idle ones
};

}  // namespace kw::gym
