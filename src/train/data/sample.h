// Sample: one sequence to learn from, as tokens.
#pragma once
#include <cstdint>
#include <vector>

namespace kw::train {

// weights[i] is the loss weight of predicting tokens[i] from those before it; weights[0] has no
// effect. As many weights as tokens.
struct Sample {
  std::vector<std::int32_t> tokens;
  std::vector<float> weights;

  std::size_t size() const { return tokens.size(); }
};

}  // namespace kw::train
