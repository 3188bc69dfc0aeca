// Copies between the host and GPU 0 that the host does not wait for, on torch's stream.
#pragma once
#include <memory>
#include <vector>

#include <ATen/core/Tensor.h>

namespace kw::train::cuda {

// A contiguous tensor of the host on the GPU. It passes through page-locked memory that is kept, so
// it may change as soon as this returns.
at::Tensor upload(const at::Tensor& host);

// Numbers that are read when they are wanted, while what was put on the GPU after them goes on.
class DeferredNumbers {
 public:
  DeferredNumbers() = default;
  // values: float64 [N] on the GPU or a CPU, N up to 64.
  explicit DeferredNumbers(const at::Tensor& values);
  // Waits for them alone; once.
  std::vector<double> wait();

 private:
  struct Place;
  std::vector<double> known_;     // of a CPU
  std::shared_ptr<Place> place_;  // where the GPU writes
  std::size_t count_ = 0;
};

}  // namespace kw::train::cuda
