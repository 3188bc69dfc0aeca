#include "train/optimizer/bucket_sums.h"

#include <vector>

#include <ATen/ATen.h>

namespace kw::train {

void BucketSums::add(std::size_t bucket) {
  const at::NoGradGuard no_grad;
  const Bucket& from = weights_.buckets()[bucket];
  for (const Weight& one : from.matrices) gradient_sum(one);
  const Sharding& sharding = *weights_.sharding();
  at::Tensor sums = from.gradient;
  ranks_->reduce_scatter(sums, shards_in(from.range, sharding.shards));
  const Shard mine = common_part(from.range, sharding.own());
  if (mine.size() > 0)
    weights_.gradients_at(mine.begin, mine.size())
        .add_(sums.narrow(0, mine.begin - from.range.begin, mine.size()));
  weights_.clear(from);
}

void BucketSums::head_done() {
  const std::size_t head = weights_.layers.size() + 2;
  if (head < weights_.buckets().size()) add(head);
}

void BucketSums::layer_done(std::size_t layer) {
  if (!weights_.buckets().empty()) add(layer + 1);
}

void BucketSums::rest_done() {
  if (weights_.buckets().empty()) return;
  add(weights_.layers.size() + 1);
  add(0);
}

void BucketSums::none() {
  head_done();
  for (std::size_t layer = weights_.layers.size(); layer > 0; --layer) layer_done(layer - 1);
  rest_done();
}

}  // namespace kw::train
