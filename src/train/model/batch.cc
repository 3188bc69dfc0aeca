#include "train/model/batch.h"

#include <algorithm>
#include <cstring>

#include <ATen/ATen.h>

#include "base/check.h"
#include "train/cuda/transfer.h"
#include "train/model/attention_tiles.h"

namespace kw::train {

at::Tensor on_device(const at::Tensor& host, at::Device device) {
  return device.is_cuda() ? cuda::upload(host) : host.to(device);
}

namespace {

void add_tiles(Batch& batch, at::Device device) {
  const AttentionTiles tiles = attention_tiles(batch.bounds);
  const auto count = static_cast<std::int64_t>(tiles.of_queries.size());
  const at::Tensor both = at::empty({2, count, 4}, at::kInt);
  const std::size_t bytes = tiles.of_queries.size() * sizeof(AttentionTile);
  std::memcpy(both[0].mutable_data_ptr(), tiles.of_queries.data(), bytes);
  std::memcpy(both[1].mutable_data_ptr(), tiles.of_keys.data(), bytes);
  const at::Tensor moved = on_device(both, device);
  batch.query_tiles = moved[0];
  batch.key_tiles = moved[1];
  batch.statistics = tiles.statistics;
}

}  // namespace

Batch make_batch(std::span<const std::int32_t> tokens, std::span<const std::int32_t> targets,
                 std::span<const std::int64_t> lengths, at::Device device) {
  Batch out;
  const auto count = static_cast<std::int64_t>(tokens.size());
  const at::Tensor all = at::empty({4, count}, at::kLong);
  auto* row = all.mutable_data_ptr<std::int64_t>();
  std::copy(tokens.begin(), tokens.end(), row);
  std::copy(targets.begin(), targets.end(), row + count);
  std::int64_t *positions = row + 2 * count, *sequences = row + 3 * count;
  std::vector<std::int32_t> starts{0};
  out.bounds.push_back(0);
  for (std::size_t s = 0; s < lengths.size(); ++s) {
    const std::int64_t begin = out.bounds.back();
    KW_CHECK(begin + lengths[s] <= count);
    for (std::int64_t i = 0; i < lengths[s]; ++i) {
      positions[begin + i] = i;
      sequences[begin + i] = static_cast<std::int64_t>(s);
    }
    out.bounds.push_back(begin + lengths[s]);
    starts.push_back(static_cast<std::int32_t>(out.bounds.back()));
    out.longest = std::max(out.longest, lengths[s]);
  }
  KW_CHECK(out.bounds.back() == count && targets.size() == tokens.size());
  const at::Tensor moved = on_device(all, device);
  out.tokens = moved[0];
  out.targets = moved[1];
  out.positions = moved[2];
  out.sequences = moved[3];
  out.starts = on_device(at::tensor(starts), device);
  if (device.is_cuda()) add_tiles(out, device);
  return out;
}

}  // namespace kw::train
