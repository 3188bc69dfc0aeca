#include "train/optimizer/bucket_sums.h"

#include <utility>

#include <ATen/ATen.h>

namespace kw::train {

void BucketSums::begin(std::size_t bucket) {
  end();
  const Bucket& from = weights_.buckets()[bucket];
  for (const Weight& one : from.matrices) gradient_sum(one);
  at::Tensor sums = from.gradient;
  ranks_->begin_reduce_scatter(sums, shards_in(from.range, weights_.sharding()->shards));
  begun_ = bucket;
}

void BucketSums::end() {
  if (!begun_) return;
  const at::NoGradGuard no_grad;
  ranks_->end_reduce_scatter();
  const Bucket& from = weights_.buckets()[*std::exchange(begun_, std::nullopt)];
  const Shard mine = common_part(from.range, weights_.sharding()->own());
  if (mine.size() > 0)
    weights_.gradients_at(mine.begin, mine.size())
        .add_(from.gradient.narrow(0, mine.begin - from.range.begin, mine.size()));
  weights_.clear(from);
}

void BucketSums::head_done() {
  const std::size_t head = weights_.layers.size() + 2;
  if (head < weights_.buckets().size()) begin(head);
}

void BucketSums::layer_done(std::size_t layer) {
  if (!weights_.buckets().empty()) begin(layer + 1);
}

void BucketSums::rest_done() {
  if (weights_.buckets().empty()) return;
  begin(weights_.layers.size() + 1);
  begin(0);
  end();
}

void BucketSums::none() {
  head_done();
  for (std::size_t layer = weights_.layers.size(); layer > 0; --layer) layer_done(layer - 1);
  rest_done();
}

}  // namespace kw::train
