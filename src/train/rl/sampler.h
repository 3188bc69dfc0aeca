// Sampler: answers to many prompts at once, by an engine. Tokens in, tokens out.
//
// Each step gives the engine a token of every answer that is being decoded, and prompts of new ones
// as far as the step has room. Answers to the same prompt share its keys and values: the first one
// computes them, the others copy them, and other prompts do not wait. A sample depends on weights,
// seed, sequence number and position alone, and never on what it was batched with.
#pragma once
#include <cstddef>
#include <cstdint>
#include <deque>
#include <memory>
#include <vector>

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
  std::shared_ptr<const SamplerSettings> settings;
};

struct SampledAnswer {
  std::vector<std::int32_t> tokens;
  std::vector<float> logprobs;         // [tokens] natural, of the distribution they were drawn from
  std::vector<std::int32_t> versions;  // [tokens] of the weights that drew them
  std::vector<float> cutoffs;          // [tokens] lm::Sample::cutoff; empty: nothing is truncated
  bool ended = false;                  // the last token is one of `ends`; else the answer was cut
};

struct FinishedSample {
  std::size_t job = 0;  // as add() gave it
  SampledAnswer answer;
};

// One thread at a time. Uses all slots of the engine, which is borrowed, and whose weights do not
// change before all answers are done.
class Sampler {
 public:
  explicit Sampler(lm::Engine& engine);

  // The answer gets a slot behind those that were added before. Its prompt leaves room for a first
  // token in the engine's context (KW_CHECK); an answer that reaches the context's end is cut.
  // Returns a number of its own.
  std::size_t add(SampleJob job);
  // Nothing is left to sample.
  bool done() const { return waiting_.empty() && running_.empty(); }
  // One step of the engine; the answers that it ends.
  std::vector<FinishedSample> step();

 private:
  struct Running {
    std::size_t number = 0;
    SampleJob job;
    SampledAnswer answer;
    std::int32_t slot = 0;
    std::size_t fed = 0;  // tokens of the prompt whose keys and values the slot has
  };

  const Running* alike(const SampleJob& job) const;
  void admit();
  void build();
  void ask(std::size_t running);
  void take(Running& one, const lm::Sample& sample) const;
  bool over(const Running& one) const;
  std::vector<FinishedSample> release();

  lm::Engine& engine_;
  std::size_t added_ = 0;
  std::vector<std::int32_t> free_;  // slots
  std::vector<Running> running_;
  std::deque<Running> waiting_;  // for a slot, in their order
  // These are of one step; sampled_ has an index of running_ for each sample.
  lm::Step step_;
  std::vector<std::size_t> sampled_;
  std::vector<lm::Sample> samples_;
};

}  // namespace kw::train
