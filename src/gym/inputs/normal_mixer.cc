// Mixing costs two multiplications and an addition for each number; -ffp-contract=off keeps the
// bits the same everywhere.
#include "gym/inputs/normal_mixer.h"

#include <algorithm>
#include <cmath>

#include "gym/inputs/wide.h"

namespace kw::gym {
namespace {

struct Weights {
  float a, b, constant;
};

KW_ALWAYS_INLINE void mix_body(const float* a, const float* b, Weights w, float* out,
                               std::size_t n) {
  for (std::size_t i = 0; i < n; ++i) out[i] = w.constant + (w.a * a[i] + w.b * b[i]);
}
void mix_baseline(const float* a, const float* b, Weights w, float* out, std::size_t n) {
  mix_body(a, b, w, out, n);
}
KW_TARGET_AVX2 void mix_avx2(const float* a, const float* b, Weights w, float* out, std::size_t n) {
  mix_body(a, b, w, out, n);
}

}  // namespace

NormalMixer::NormalMixer(std::uint64_t seed, float mean, float deviation)
    : stream_(seed), mean_(mean), deviation_(deviation) {
  stream_.normal(first_);
  stream_.normal(second_);
}

void NormalMixer::choose() {
  constexpr std::uint64_t kPlaces = kPool - kWindow + 1;
  std::array<std::uint64_t, Stream::kBlock> places;
  std::array<float, 2 * Stream::kBlock> directions;
  stream_.words(places);
  stream_.normal(directions);
  for (std::size_t i = 0; i < choices_.size(); ++i) {
    float x = directions[2 * i];
    float y = directions[2 * i + 1];
    float length = std::sqrt(x * x + y * y);
    bool zero = !(length > 0);
    choices_[i] = {static_cast<std::uint32_t>((places[i] >> 32U) * kPlaces >> 32U),
                   static_cast<std::uint32_t>((places[i] & 0xffffffffU) * kPlaces >> 32U),
                   zero ? deviation_ : deviation_ * (x / length),
                   zero ? 0 : deviation_ * (y / length)};
  }
  chosen_ = 0;
}

void NormalMixer::normal(std::span<float> out) {
  for (std::size_t first = 0; first < out.size(); first += kWindow) {
    if (chosen_ == choices_.size()) choose();
    const Choice& choice = choices_[chosen_++];
    (has_avx2() ? mix_avx2 : mix_baseline)(
        first_.data() + choice.first, second_.data() + choice.second, {choice.a, choice.b, mean_},
        out.data() + first, std::min(kWindow, out.size() - first));
  }
}

}  // namespace kw::gym
