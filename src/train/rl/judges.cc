#include "train/rl/judges.h"

namespace kw::train {

Judges::Judges(int threads) {
  for (int i = 0; i < threads; ++i)
    threads_.emplace_back([this](const std::stop_token& stop) { run(stop); });
}

Judges::~Judges() {
  for (std::jthread& thread : threads_) thread.request_stop();
  threads_.clear();
}

void Judges::post(std::int64_t step, Work work) {
  std::lock_guard lock(mutex_);
  waiting_.emplace(std::pair(step, last_++), std::move(work));
  posted_.notify_one();
}

JudgeTimes Judges::times() const {
  std::lock_guard lock(mutex_);
  const double passed = std::chrono::duration<double>(Clock::now() - changed_).count();
  return {times_.any + (busy_ > 0 ? passed : 0), times_.sum + busy_ * passed};
}

void Judges::count(int change) {
  const auto now = Clock::now();
  const double passed = std::chrono::duration<double>(now - changed_).count();
  times_.any += busy_ > 0 ? passed : 0;
  times_.sum += busy_ * passed;
  changed_ = now;
  busy_ += change;
}

void Judges::run(const std::stop_token& stop) {
  std::unique_lock lock(mutex_);
  while (posted_.wait(lock, stop, [this] { return !waiting_.empty(); }) && !stop.stop_requested()) {
    Work work = std::move(waiting_.begin()->second);
    waiting_.erase(waiting_.begin());
    count(1);
    lock.unlock();
    work(stop);
    work = nullptr;  // what it holds may end elsewhere
    lock.lock();
    count(-1);
  }
}

}  // namespace kw::train
