// MemoryGate: how many evaluations use a GPU's memory at once.
#pragma once
#include <condition_variable>
#include <cstdint>
#include <list>
#include <mutex>
#include <stop_token>
#include <utility>

#include "base/result.h"
#include "task/problem.h"

namespace kw::gym {

// Those that would not fit wait in the order in which they came: memory that is full by others'
// work would look like a candidate's mistake, or a reference's. Thread-safe.
class MemoryGate {
 public:
  explicit MemoryGate(std::uint64_t bytes) : bytes_(bytes) {}

  // Gives its bytes back on destruction; it may not outlive the gate.
  class Pass {
   public:
    Pass(MemoryGate& gate, std::uint64_t bytes) : gate_(&gate), bytes_(bytes) {}
    Pass(Pass&& other) noexcept
        : gate_(std::exchange(other.gate_, nullptr)), bytes_(other.bytes_) {}
    Pass& operator=(Pass&&) = delete;
    Pass(const Pass&) = delete;
    ~Pass() {
      if (gate_ != nullptr) gate_->leave(bytes_);
    }

   private:
    MemoryGate* gate_;
    std::uint64_t bytes_;
  };
  // Waits until so many bytes are free, or nobody else is inside: one that needs more than all may
  // be right about it. kCancelled when it is stopped.
  Result<Pass> enter(std::uint64_t bytes, const std::stop_token& stop);
  std::size_t waiting() const;

 private:
  void leave(std::uint64_t bytes);

  const std::uint64_t bytes_;
  mutable std::mutex mutex_;
  std::condition_variable_any changed_;
  std::uint64_t held_ = 0;  // guarded by mutex_, as are the next two
  std::uint64_t next_ = 0;
  std::list<std::uint64_t> waiting_;  // numbers, in the order of their coming
};

// About what a judgement on this problem takes of a GPU: for each of its workloads there the
// contexts of four processes, and room for tensors, their copies and the reference's runs.
// all_bytes: of the GPU, of which a module, whose tensors are not known, gets a fourth.
std::uint64_t device_bytes_of(const task::Problem& problem, std::uint64_t all_bytes);

}  // namespace kw::gym
