// sample_answers: a Sampler's answers to many jobs, in their order, for tests.
#pragma once
#include <vector>

#include "train/rl/sampler.h"

namespace kw::train {

inline std::vector<SampledAnswer> sample_answers(lm::Engine& engine,
                                                 const std::vector<SampleJob>& jobs) {
  Sampler sampler(engine);
  for (const SampleJob& job : jobs) sampler.add(job);
  std::vector<SampledAnswer> out(jobs.size());
  while (!sampler.done())
    for (FinishedSample& one : sampler.step()) out[one.job] = std::move(one.answer);
  return out;
}

}  // namespace kw::train
