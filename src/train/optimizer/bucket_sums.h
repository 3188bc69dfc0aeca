// BucketSums: sums of gradients over all ranks, bucket by bucket while the backward pass goes on.
//
// A rank that adds up its micro-batches before it sums over ranks needs memory for its whole
// gradient. So every micro-batch's buckets are summed up at once, and what a rank keeps between
// them is its shard. Ranks may have different numbers of micro-batches: those with fewer give
// zeros. A layer's bucket is summed up while the backward pass computes the layer before it, whose
// bucket has other memory.
#pragma once
#include <cstddef>
#include <optional>

#include "train/model/weights.h"
#include "train/parallel/collectives.h"

namespace kw::train {

// Collective: all ranks call the same functions in the same order, for every micro-batch
// head_done(), layer_done() from the last layer to the first, and rest_done(). With weights whose
// gradients are whole nothing is done. One thread at a time; throws CollectiveError.
class BucketSums {
 public:
  // Both are borrowed. ranks: null with whole gradients.
  BucketSums(Weights& weights, Collectives* ranks) : weights_(weights), ranks_(ranks) {}

  // The head's gradient is complete; where it is tied, it waits for the embedding's.
  void head_done();
  void layer_done(std::size_t layer);
  // Those of the embedding and of the final norm are complete.
  void rest_done();
  // Instead of the three, where this rank has no micro-batch and another one has.
  void none();

 private:
  void begin(std::size_t bucket);
  void end();

  Weights& weights_;
  Collectives* const ranks_;
  std::optional<std::size_t> begun_;  // the bucket that is being summed up
};

}  // namespace kw::train
