// Open sessions, kept for the next candidate of the same workload. Thread-safe.
#pragma once
#include <cstddef>
#include <cstdint>
#include <limits>
#include <list>
#include <memory>
#include <mutex>
#include <string>

#include "gym/evaluation/bench.h"

namespace kw::gym {

class SessionPool {
 public:
  static constexpr std::size_t kAnyNumber = std::numeric_limits<std::size_t>::max();

  // budget_bytes: what all idle sessions together may hold (BenchSession::resident_bytes()).
  // max_idle: how many of them are kept.
  explicit SessionPool(std::uint64_t budget_bytes, std::size_t max_idle = kAnyNumber)
      : budget_(budget_bytes), max_idle_(max_idle) {}

  // A session that nobody else uses, or null.
  std::unique_ptr<BenchSession> take(const std::string& key);
  // Only sessions that are still good come back. The least recently used ones go while all hold
  // more than the budget or are too many; the one that comes back stays in any case.
  void give_back(const std::string& key, std::unique_ptr<BenchSession> session);
  bool contains(const std::string& key) const;

 private:
  struct Entry {
    std::string key;
    std::unique_ptr<BenchSession> session;
    std::uint64_t bytes = 0;
  };
  std::uint64_t budget_;
  std::size_t max_idle_;
  mutable std::mutex mutex_;
  std::list<Entry> idle_;   // guarded by mutex_; most recently used first
  std::uint64_t held_ = 0;  // guarded by mutex_: of all idle ones
};

}  // namespace kw::gym
