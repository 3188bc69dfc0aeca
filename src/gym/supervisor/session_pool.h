// Open problem sessions, kept for the next candidate of the same problem. Thread-safe.
#pragma once
#include <cstddef>
#include <list>
#include <memory>
#include <mutex>
#include <string>

#include "gym/supervisor/problem_session.h"

namespace kw::gym {

class SessionPool {
 public:
  // capacity: sessions kept while nobody uses them; each holds buffers and two processes.
  explicit SessionPool(std::size_t capacity) : capacity_(capacity) {}

  // A session that nobody else uses, or null.
  std::unique_ptr<ProblemSession> take(const std::string& key);
  // Only sessions that are still good come back. The least recently used one goes when there are
  // too many.
  void give_back(const std::string& key, std::unique_ptr<ProblemSession> session);

 private:
  struct Entry {
    std::string key;
    std::unique_ptr<ProblemSession> session;
  };
  std::size_t capacity_;
  std::mutex mutex_;
  std::list<Entry> idle_;  // guarded by mutex_; most recently used first
};

}  // namespace kw::gym
