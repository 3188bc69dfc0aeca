#include "train/optimizer/adamw.h"

#include <algorithm>
#include <utility>

#include <ATen/ATen.h>

#include "base/check.h"
#include "train/cuda/fused.h"

namespace kw::train {
namespace {

// Where the tensor's numbers of the span begin in the masters' block, and how many there are.
std::pair<std::int64_t, std::int64_t> part_of(const Weights::Entry& entry, const MasterSpan& span) {
  const Shard part = common_part(entry.place, {span.begin, span.begin + span.count});
  return {part.begin, part.size()};
}

}  // namespace

AdamW::AdamW(Weights& weights, const AdamWSettings& settings, std::vector<MasterSpan> spans,
             at::Tensor first, at::Tensor second)
    : weights_(weights),
      settings_(settings),
      spans_(std::move(spans)),
      first_(std::move(first)),
      second_(std::move(second)) {
  if (weights.device().is_cuda()) {
    for (const MasterSpan& span : spans_) decays_.push_back(decays_of(span));
  } else {
    group_tensors();
  }
}

void AdamW::group_tensors() {
  groups_.resize(2);
  groups_[0].weight_decay = settings_.weight_decay;
  for (const Weights::Entry& entry : weights_.entries()) {
    for (const MasterSpan& span : spans_) {
      const auto [begin, count] = part_of(entry, span);
      if (count <= 0) continue;
      Group& group = groups_[entry.is_matrix ? 0 : 1];
      group.masters.push_back(weights_.masters_at(begin, count));
      group.gradients.push_back(weights_.gradients_at(begin, count));
      group.first.push_back(first_.narrow(0, span.first + begin - span.begin, count));
      group.second.push_back(second_.narrow(0, span.second + begin - span.begin, count));
      group.counts.push_back(at::zeros({}, weights_.masters().options()));
    }
  }
}

// A bit for each 16 numbers, set in matrices. Tensors begin at multiples of 16 numbers
// (lm::Parameters).
at::Tensor AdamW::decays_of(const MasterSpan& span) const {
  std::vector<std::int32_t> words(static_cast<std::size_t>(span.count / 512 + 1));
  for (const Weights::Entry& entry : weights_.entries()) {
    const auto [place, count] = part_of(entry, span);
    if (!entry.is_matrix || count <= 0) continue;
    const std::int64_t begin = place - span.begin;
    KW_CHECK(begin % 16 == 0);
    for (std::int64_t i = begin; i < begin + count; i += 16) {
      std::int32_t& word = words[static_cast<std::size_t>(i / 512)];
      word = static_cast<std::int32_t>(static_cast<std::uint32_t>(word) | (1U << (i / 16 % 32)));
    }
  }
  return at::tensor(words).to(weights_.device());
}

void AdamW::update(double learning_rate, std::int64_t step, const at::Tensor& norm) {
  for (std::size_t i = 0; i < decays_.size(); ++i) {
    const MasterSpan& span = spans_[i];
    cuda::adamw({settings_.beta1, settings_.beta2, settings_.epsilon, settings_.weight_decay,
                 learning_rate, step},
                weights_.masters_at(span.begin, span.count),
                weights_.rounded_masters().narrow(0, span.begin, span.count),
                weights_.gradients_at(span.begin, span.count),
                first_.narrow(0, span.first, span.count),
                second_.narrow(0, span.second, span.count), decays_[i], norm);
  }
  for (Group& group : groups_) {
    if (group.masters.empty()) continue;
    for (at::Tensor& count : group.counts) count.fill_(static_cast<double>(step));
    at::_fused_adamw_(group.masters, group.gradients, group.first, group.second, {}, group.counts,
                      learning_rate, settings_.beta1, settings_.beta2, group.weight_decay,
                      settings_.epsilon, false, false);
  }
}

}  // namespace kw::train
