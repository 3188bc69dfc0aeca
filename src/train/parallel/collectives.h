// Collectives: tensors that all ranks sum up or share. One interface, Gloo on CPUs and NCCL on
// GPUs.
#pragma once
#include <memory>
#include <span>
#include <vector>

#include <ATen/core/Tensor.h>

#include "base/result.h"
#include "train/parallel/collective_error.h"
#include "train/parallel/group.h"
#include "train/parallel/shards.h"

namespace kw::train {

// All ranks call the same functions in the same order with tensors of equal size and dtype: float32
// or float64 where nothing else is said, contiguous, on the ranks' device. One thread at a time. On
// a GPU the work is put on the default stream, and nothing waits for it. Each throws
// CollectiveError. With one rank nothing is changed.
class Collectives {
 public:
  virtual ~Collectives() = default;
  virtual int rank() const = 0;
  virtual int size() const = 0;

  // Sums of all ranks, to the bit the same on each.
  virtual void all_reduce(at::Tensor& values) = 0;
  // Of a block [N] float32 each rank's shard becomes the sum of all ranks; the rest of the block is
  // left without meaning. shards: one a rank, ascending, without gaps; some may be empty.
  virtual void reduce_scatter(at::Tensor& block, std::span<const Shard> shards) = 0;
  // The same in two calls: what the device does for them goes on beside the default stream's work
  // between them. The block is not touched before the second, which lets the default stream's later
  // work wait; one at a time.
  virtual void begin_reduce_scatter(at::Tensor& block, std::span<const Shard> shards) {
    reduce_scatter(block, shards);
  }
  virtual void end_reduce_scatter() {}
  // Of a block [N] of any dtype each rank gives its shard; all get all.
  virtual void all_gather(at::Tensor& block, std::span<const Shard> shards) = 0;
  // The values may have any dtype.
  virtual void broadcast(at::Tensor& values, int root) = 0;

  bool is_root() const { return rank() == 0; }
  // Returns when all ranks have called it, and waits for the device.
  void barrier(at::Device device);
};

// Sums of all ranks, of numbers of the host; waits for the device.
std::vector<double> sum_over_ranks(Collectives& ranks, at::Device device,
                                   std::span<const double> mine);

// Those of the device: Gloo on a CPU, NCCL on a GPU. group: borrowed. All ranks call it.
// kUnsupported says what is not installed; kInvalidArgument, on every rank, that some have a GPU
// and others have none.
Result<std::unique_ptr<Collectives>> make_collectives(Group& group, at::Device device);

}  // namespace kw::train
