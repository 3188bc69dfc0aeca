// Rotary position embedding: frequencies of the families' variants, and tables of cosines and
// sines.
#pragma once
#include <cstdint>
#include <vector>

#include "lm/model/model_config.h"

namespace kw::lm {

// Angle per position of each pair of dimensions, [d/2], as transformers computes it in float32.
std::vector<float> rope_frequencies(const ModelConfig& config);

// cos and sin of every position, times the scaling's attention factor.
struct RopeTable {
  RopeTable(const ModelConfig& config, std::int64_t positions);
  const float* cosines(std::int64_t position) const { return cosine.data() + position * half; }
  const float* sines(std::int64_t position) const { return sine.data() + position * half; }

  std::int64_t half;                // d/2
  std::vector<float> cosine, sine;  // [positions, d/2]
};

}  // namespace kw::lm
