// Standstill: work that stands still while something else has the machine alone, as the timing of a
// kernel.
//
// Theory of operation: one thread works, in pieces that it marks by Working, and others may help it
// (Helping). Any thread asks for a standstill: it begins at once where nothing works, and else at
// the end of the last piece or at the next rest() inside it. Until resume() all wait before they go
// on.
#pragma once
#include <chrono>
#include <condition_variable>
#include <functional>
#include <mutex>
#include <utility>

namespace kw::os {

class Standstill {
 public:
  using Stands = std::function<void()>;

  // settle: waits for what the worker has begun elsewhere, as on a GPU; the worker calls it before
  // it stands still.
  explicit Standstill(std::function<void()> settle = [] {}) : settle_(std::move(settle)) {}

  // Any thread. stands is called once, when nothing works any more, by this thread or the worker's;
  // not after resume(). One standstill at a time: the next one comes after resume().
  void ask(Stands stands) {
    std::unique_lock lock(mutex_);
    asked_ = true;
    stands_ = std::move(stands);
    if (working_ == 0) say_stands(lock);
  }
  void resume() {
    std::lock_guard lock(mutex_);
    asked_ = false;
    stands_ = nullptr;
    change_.notify_all();
  }

  // A piece of work: its beginning waits while a standstill is asked for. Not nested.
  class Working {
   public:
    explicit Working(Standstill& owner) : owner_(owner) { owner_.begin(); }
    ~Working() { owner_.end(); }
    Working(const Working&) = delete;
    Working& operator=(const Working&) = delete;

   private:
    Standstill& owner_;
  };
  // The worker, inside a piece: where it may stand still.
  void rest() {
    if (!is_asked()) return;
    end();
    begin();
  }

  // A piece of work of another thread beside the worker. Its standing still is not counted.
  class Helping {
   public:
    explicit Helping(Standstill& owner) : owner_(owner) { owner_.begin_helping(); }
    ~Helping() { owner_.leave(); }
    Helping(const Helping&) = delete;
    Helping& operator=(const Helping&) = delete;
    void rest() {
      if (!owner_.is_asked()) return;
      owner_.leave();
      owner_.begin_helping();
    }

   private:
    Standstill& owner_;
  };

  // For how long the worker has stood still.
  std::chrono::duration<double> stood() const {
    std::lock_guard lock(mutex_);
    return stood_;
  }

 private:
  using Clock = std::chrono::steady_clock;

  void begin() {
    std::unique_lock lock(mutex_);
    if (asked_) {
      const auto since = Clock::now();
      change_.wait(lock, [this] { return !asked_; });
      stood_ += Clock::now() - since;
    }
    ++working_;
  }
  void begin_helping() {
    std::unique_lock lock(mutex_);
    change_.wait(lock, [this] { return !asked_; });
    ++working_;
  }
  bool is_asked() const {
    std::lock_guard lock(mutex_);
    return asked_;
  }
  void end() {
    if (is_asked()) settle_();
    leave();
  }
  void leave() {
    std::unique_lock lock(mutex_);
    --working_;
    if (asked_ && working_ == 0) say_stands(lock);
  }
  void say_stands(std::unique_lock<std::mutex>& lock) {
    const Stands stands = std::exchange(stands_, nullptr);
    lock.unlock();
    if (stands) stands();
  }

  const std::function<void()> settle_;
  mutable std::mutex mutex_;
  std::condition_variable change_;
  bool asked_ = false;                      // under mutex_
  int working_ = 0;                         // under mutex_: the worker and its helpers
  Stands stands_;                           // under mutex_
  std::chrono::duration<double> stood_{0};  // under mutex_
};

}  // namespace kw::os
