// Draws tokens from rows of logits in memory.
#pragma once
#include <cstdint>
#include <span>
#include <vector>

#include "lm/cpu/kernels.h"
#include "lm/sampling/sampling.h"

namespace kw::lm::cpu {

// Keeps buffers of a vocabulary's size; one thread.
class CpuSampler {
 public:
  explicit CpuSampler(const Kernels& kernels) : kernels_(kernels) {}
  // logits: [V], changed where the request has a mask.
  Sample draw(std::span<float> logits, const SampleRequest& request);

 private:
  struct Candidate {
    float logit;
    std::int32_t token;
  };
  std::int32_t largest_of(std::span<const float> logits) const;
  std::vector<TokenLogprob> top_of(std::span<const float> logits, std::int32_t count,
                                   const RowStatistics& own);
  std::int32_t draw_from_all(std::span<const float> logits, float scale,
                             const RowStatistics& statistics, double uniform);
  // Leaves what may be drawn in candidates_, the likeliest first; the sum of their exps.
  double keep_candidates(std::span<const float> logits, const SampleRequest& request, float scale,
                         const RowStatistics& statistics);
  void sort_candidates(std::size_t count);

  const Kernels& kernels_;
  std::vector<Candidate> candidates_;
  std::vector<float> exponentials_;
  std::vector<double> sums_;
};

}  // namespace kw::lm::cpu
