// Judges: threads that judge answers while the policy samples and trains.
#pragma once
#include <chrono>
#include <condition_variable>
#include <cstdint>
#include <functional>
#include <map>
#include <mutex>
#include <stop_token>
#include <thread>
#include <utility>
#include <vector>

namespace kw::train {

// How long judges have judged, since their beginning.
struct JudgeTimes {
  double any = 0;  // seconds in which at least one judged
  double sum = 0;  // of all judges
};

// Thread-safe.
class Judges {
 public:
  // token: requested when the judges end.
  using Work = std::function<void(const std::stop_token& token)>;

  explicit Judges(int threads);
  // Asks what runs to stop, and waits for it. What has not begun is dropped.
  ~Judges();
  Judges(const Judges&) = delete;
  Judges& operator=(const Judges&) = delete;

  // Answers of an earlier step go first, those of one step in the order of posting.
  void post(std::int64_t step, Work work);
  JudgeTimes times() const;

 private:
  using Clock = std::chrono::steady_clock;

  void run(const std::stop_token& stop);
  void count(int change);  // under mutex_

  mutable std::mutex mutex_;
  std::condition_variable_any posted_;
  std::map<std::pair<std::int64_t, std::uint64_t>, Work> waiting_;  // under mutex_
  std::uint64_t last_ = 0;                                          // under mutex_
  int busy_ = 0;                                                    // under mutex_
  JudgeTimes times_;                                                // under mutex_, until changed_
  Clock::time_point changed_ = Clock::now();                        // under mutex_
  std::vector<std::jthread> threads_;                               // last: they use the others
};

}  // namespace kw::train
