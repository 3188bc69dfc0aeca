// GpuPlacement: which GPU judges next.
#pragma once
#include <cstddef>
#include <functional>
#include <mutex>
#include <utility>
#include <vector>

namespace kw::gym {

// Thread-safe.
class GpuPlacement {
 public:
  explicit GpuPlacement(std::size_t gpus) : judgements_(gpus) {}

  // One judgement on a GPU, until destruction. It may not outlive the placement.
  class Seat {
   public:
    Seat(GpuPlacement& placement, std::size_t gpu) : placement_(&placement), gpu_(gpu) {}
    Seat(Seat&& other) noexcept
        : placement_(std::exchange(other.placement_, nullptr)), gpu_(other.gpu_) {}
    Seat& operator=(Seat&&) = delete;
    Seat(const Seat&) = delete;
    ~Seat() {
      if (placement_ != nullptr) placement_->leave(gpu_);
    }
    std::size_t gpu() const { return gpu_; }

   private:
    GpuPlacement* placement_;
    std::size_t gpu_;
  };

  // The GPU with the fewest judgements; of several the first one that is ready for this judgement,
  // or else the first one. So a single judgement at a time never starts a second GPU.
  Seat take(const std::function<bool(std::size_t gpu)>& is_ready);

 private:
  void leave(std::size_t gpu);

  std::mutex mutex_;
  std::vector<std::size_t> judgements_;  // guarded by mutex_: by GPU, those under way
};

}  // namespace kw::gym
