// Fitness: whether a worker's machine may take tasks. It is looked at before each lease, and after
// a judgement that failed by ours, and at the start, a judgement whose verdict is known must come
// out right first. Until then the worker is in quarantine: it takes nothing, and looks again after
// a pause that doubles.
#pragma once
#include <chrono>
#include <functional>
#include <mutex>
#include <stop_token>

#include "base/result.h"

namespace kw::service {

struct FitnessOptions {
  // An error says why the machine may not judge. Empty: it may.
  std::function<Status()> look = {};                              // takes milliseconds at most
  std::function<Status(const std::stop_token& stop)> probe = {};  // judges
  std::chrono::milliseconds first_pause{5000}, longest_pause{600000};
};

// Thread-safe: of several threads one looks, and the others wait for what it finds.
class Fitness {
 public:
  explicit Fitness(FitnessOptions options)
      : options_(std::move(options)), pause_(options_.first_pause) {}

  // Returns when the machine is fit; false: it was stopped. tell: is called after each look that
  // finds it unfit, and with a success when that is over.
  bool wait(const std::stop_token& stop, const std::function<void(const Status&)>& tell);
  // A judgement has failed by ours.
  void suspect();

 private:
  Status look(const std::stop_token& stop);

  const FitnessOptions options_;
  std::mutex looking_;  // guards pause_ and is_unfit_
  std::chrono::milliseconds pause_;
  bool is_unfit_ = false;
  std::mutex mutex_;  // guards is_suspect_
  bool is_suspect_ = true;
};

}  // namespace kw::service
