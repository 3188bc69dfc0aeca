// Formulas: transformers' modeling_rope_utils; YaRN: arXiv:2309.00071; Llama 3: the reference code
// of Llama 3.1.
#include "lm/model/rope.h"

#include <algorithm>
#include <cmath>
#include <numbers>

namespace kw::lm {
namespace {

// Long waves are stretched, short ones kept, those between are mixed.
float llama3_frequency(float frequency, const RopeScaling& rope) {
  const auto original = static_cast<double>(rope.original_max_position);
  double wave = 2 * std::numbers::pi / frequency;
  if (wave < original / rope.high_frequency_factor) return frequency;
  double stretched = frequency / rope.factor;
  if (wave > original / rope.low_frequency_factor) return static_cast<float>(stretched);
  double smooth = (original / wave - rope.low_frequency_factor) /
                  (rope.high_frequency_factor - rope.low_frequency_factor);
  return static_cast<float>((1 - smooth) * stretched + smooth * frequency);
}

// The dimension whose wave turns so many times over the positions of the first training.
double yarn_dimension(double turns, const ModelConfig& config) {
  double positions = static_cast<double>(config.rope.original_max_position);
  return static_cast<double>(config.head_dim) *
         std::log(positions / (turns * 2 * std::numbers::pi)) / (2 * std::log(config.rope_theta));
}

void stretch_yarn(std::vector<float>& frequencies, const ModelConfig& config) {
  const RopeScaling& rope = config.rope;
  double low = yarn_dimension(rope.beta_fast, config),
         high = yarn_dimension(rope.beta_slow, config);
  if (rope.truncate) {
    low = std::floor(low);
    high = std::ceil(high);
  }
  low = std::max(low, 0.0);
  high = std::min(high, static_cast<double>(config.head_dim - 1));
  if (low == high) high += 0.001;  // transformers' guard against a division by zero
  for (std::size_t i = 0; i < frequencies.size(); ++i) {
    double ramp = std::clamp((static_cast<double>(i) - low) / (high - low), 0.0, 1.0);
    frequencies[i] =
        static_cast<float>(frequencies[i] / rope.factor * ramp + frequencies[i] * (1 - ramp));
  }
}

}  // namespace

std::vector<float> rope_frequencies(const ModelConfig& config) {
  std::vector<float> out(static_cast<std::size_t>(config.head_dim / 2));
  for (std::size_t i = 0; i < out.size(); ++i) {
    float exponent = static_cast<float>(2 * i) / static_cast<float>(config.head_dim);
    out[i] = 1.0F / std::pow(static_cast<float>(config.rope_theta), exponent);
  }
  switch (config.rope.kind) {
    case RopeScaling::Kind::kNone:
      break;
    case RopeScaling::Kind::kLinear:
      for (float& one : out) one = static_cast<float>(one / config.rope.factor);
      break;
    case RopeScaling::Kind::kLlama3:
      for (float& one : out) one = llama3_frequency(one, config.rope);
      break;
    case RopeScaling::Kind::kYarn:
      stretch_yarn(out, config);
      break;
  }
  return out;
}

RopeTable::RopeTable(const ModelConfig& config, std::int64_t positions)
    : half(config.head_dim / 2),
      cosine(static_cast<std::size_t>(positions * half)),
      sine(static_cast<std::size_t>(positions * half)) {
  const std::vector<float> frequencies = rope_frequencies(config);
  const double factor = config.rope.attention_factor;
  for (std::int64_t p = 0; p < positions; ++p) {
    for (std::int64_t i = 0; i < half; ++i) {
      // The angle is rounded to float32 first, as in transformers.
      float angle = static_cast<float>(p) * frequencies[static_cast<std::size_t>(i)];
      auto at = static_cast<std::size_t>(p * half + i);
      cosine[at] = static_cast<float>(std::cos(static_cast<double>(angle)) * factor);
      sine[at] = static_cast<float>(std::sin(static_cast<double>(angle)) * factor);
    }
  }
}

}  // namespace kw::lm
