// Packing: the samples of one optimizer step as micro-batches of whole sequences.
#pragma once
#include <cstdint>
#include <span>
#include <vector>

#include "train/data/sample.h"

namespace kw::train {

// Sequences one after the other. A sample of n tokens takes n - 1 places: token i of the sample at
// place i, token i + 1 as its target.
struct PackedSamples {
  std::vector<std::int32_t> tokens, targets;  // [T]
  std::vector<float> weights;                 // [T] of the targets
  std::vector<std::int64_t> lengths;          // places of each sequence
  std::vector<std::size_t> samples;           // the index of each sequence's sample
};

// First fit, longest samples first: at most max_tokens places a micro-batch, but a longer sample
// has a micro-batch alone. Every sample has at least two tokens (KW_CHECK). The same samples give
// the same micro-batches.
std::vector<PackedSamples> pack(std::span<const Sample> samples, std::int64_t max_tokens);

}  // namespace kw::train
