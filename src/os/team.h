// Team: threads that do one job together, in phases that end at a barrier a microsecond wide.
#pragma once
#include <atomic>
#include <cstddef>
#include <functional>
#include <thread>
#include <vector>

namespace kw::os {

// Theory of operation. run() gives every thread the same function with its index; inside it,
// barrier() returns when all have come. Waiting is a short spin and then a futex, so that a team
// that has nothing to do, or shares its cores, costs no one anything. The calling thread is member
// 0. One run at a time, from one thread.
class Team {
 public:
  explicit Team(int threads);  // at least 1
  ~Team();
  Team(const Team&) = delete;
  Team& operator=(const Team&) = delete;

  int size() const { return static_cast<int>(threads_.size()) + 1; }
  // Returns when all members have. work must not throw.
  void run(const std::function<void(int member)>& work);
  // Only from inside run(), by every member.
  void barrier();

  // The member's share of [0, count), in multiples of `piece`.
  struct Share {
    std::int64_t first, last;
  };
  Share share(int member, std::int64_t count, std::int64_t piece = 1) const;

 private:
  void follow(int member);

  const std::function<void(int)>* work_ = nullptr;  // of the current run
  std::atomic<std::uint32_t> starts_ = 0;           // runs begun
  std::atomic<bool> ending_ = false;
  std::atomic<int> arrived_ = 0;           // at the barrier
  std::atomic<std::uint32_t> passed_ = 0;  // barriers
  std::vector<std::jthread> threads_;      // last: joined before the rest goes
};

}  // namespace kw::os
