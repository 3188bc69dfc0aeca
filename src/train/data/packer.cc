#include "train/data/packer.h"

#include <algorithm>
#include <numeric>

#include "base/check.h"

namespace kw::train {
namespace {

void append(PackedSamples& batch, const Sample& sample, std::size_t index) {
  batch.tokens.insert(batch.tokens.end(), sample.tokens.begin(), sample.tokens.end() - 1);
  batch.targets.insert(batch.targets.end(), sample.tokens.begin() + 1, sample.tokens.end());
  batch.weights.insert(batch.weights.end(), sample.weights.begin() + 1, sample.weights.end());
  batch.lengths.push_back(static_cast<std::int64_t>(sample.size()) - 1);
  batch.samples.push_back(index);
}

}  // namespace

std::vector<PackedSamples> pack(std::span<const Sample> samples, std::int64_t max_tokens) {
  std::vector<std::size_t> order(samples.size());
  std::iota(order.begin(), order.end(), std::size_t{0});
  std::stable_sort(order.begin(), order.end(), [&](std::size_t a, std::size_t b) {
    return samples[a].size() > samples[b].size();
  });
  std::vector<PackedSamples> out;
  for (std::size_t index : order) {
    const Sample& sample = samples[index];
    KW_CHECK(sample.size() >= 2 && sample.weights.size() == sample.size());
    const auto fits = std::find_if(out.begin(), out.end(), [&](const PackedSamples& batch) {
      return static_cast<std::int64_t>(batch.tokens.size() + sample.size()) - 1 <= max_tokens;
    });
    append(fits == out.end() ? out.emplace_back() : *fits, sample, index);
  }
  return out;
}

}  // namespace kw::train
