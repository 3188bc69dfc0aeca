// Sampler: answers to many prompts at once, by an engine. Tokens in, tokens out.
//
// Each iteration gives the engine one step: a token of every answer that is being decoded, and
// prompts of new ones as far as the step has room. Answers to the same prompt share its keys and
// values: the first one computes them, the others copy them, and other prompts do not wait. A
// sample depends on seed, sequence number and position alone, and never on what it was batched
// with.
#pragma once
#include <cstdint>
#include <functional>
#include <memory>
#include <vector>

#include "base/result.h"
#include "lm/engine.h"

namespace kw::train {

struct SamplerSettings {
  lm::SamplingSettings sampling = {};
  std::uint64_t seed = 0;
  std::int64_t answer_tokens = 256;     // an answer is cut there
  std::vector<std::int32_t> ends = {};  // an answer ends behind the first of these tokens
};

struct SampleJob {
  std::shared_ptr<const std::vector<std::int32_t>> prompt;  // [P], P > 0; jobs share it by address
  std::uint64_t sequence = 0;                               // number of the answer, once a run
};

struct SampledAnswer {
  std::vector<std::int32_t> tokens;
  std::vector<float> logprobs;         // [tokens] natural, of the distribution they were drawn from
  std::vector<std::int32_t> versions;  // [tokens] of the weights that drew them
  std::vector<float> cutoffs;          // [tokens] lm::Sample::cutoff; empty: nothing is truncated
  bool ended = false;                  // the last token is one of `ends`; else the answer was cut
};

// Answers in the order of jobs. Prompts leave room for an answer's first token in the engine's
// context (KW_CHECK); an answer that reaches the context's end is cut. Uses all slots of the
// engine. stop: asked before each step; true ends with kCancelled.
Result<std::vector<SampledAnswer>> sample_answers(lm::Engine& engine,
                                                  const std::vector<SampleJob>& jobs,
                                                  const SamplerSettings& settings,
                                                  const std::function<bool()>& stop);

}  // namespace kw::train
