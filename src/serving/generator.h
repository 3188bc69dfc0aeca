// Generator: continuous batching over an engine's slots. Sequences come and go between steps; a
// step holds one token of every running sequence and as much of new prompts as fits beside them.
#pragma once
#include <cstdint>
#include <deque>
#include <map>
#include <memory>
#include <set>
#include <vector>

#include "base/result.h"
#include "lm/engine.h"
#include "text/finish.h"

namespace kw::serving {

using SequenceId = std::uint64_t;

// Hears of one sequence. Called inside step(), on its thread; may submit and cancel others.
class SequenceListener {
 public:
  virtual ~SequenceListener() = default;
  // False ends the sequence with kStop: a stop string is complete.
  virtual bool token(const lm::Sample& sample) = 0;
  // kStop: an end or stop token, which is the last token reported, or the listener's wish; kLength:
  // max_tokens, or the end of the slot's context; kCancelled.
  virtual void finished(text::Finish finish) = 0;
};

struct SequenceSettings {
  lm::SamplingSettings sampling;
  std::int64_t max_tokens = 256;
  std::vector<std::int32_t>
      stop_tokens;  // the model's own ends among them, unless they are not to count
  // A sample depends on these, the model and the tokens before it, and on nothing else in the
  // batch.
  std::uint64_t seed = 0, sequence = 0;
  std::shared_ptr<const lm::LogitMask> mask;
  std::int32_t top_logprobs = 0;  // of lm::SampleRequest
  bool keep = false;              // parked when it is finished, until continued or released
};

// One thread. After Engine::weights_changed, what sequences have computed is dropped: their tokens
// are computed again, as a prompt, before they go on.
class Generator {
 public:
  explicit Generator(lm::Engine& engine);

  // One sequence for each of settings and listeners, all after the same prompt, which is computed
  // once. Listeners are borrowed until they are told of the end. kInvalidArgument names what is
  // wrong: an empty prompt, one longer than the context, a token outside the vocabulary, a setting.
  Result<std::vector<SequenceId>> submit(const std::vector<std::int32_t>& prompt,
                                         const std::vector<SequenceSettings>& settings,
                                         const std::vector<SequenceListener*>& listeners);
  // More tokens after a parked sequence, then samples again. What it has computed is used again
  // unless its slot was needed meanwhile. kNotFound for one that is not parked.
  Status resume(SequenceId id, const std::vector<std::int32_t>& tokens,
                const SequenceSettings& settings, SequenceListener* listener);
  void release(SequenceId id);  // of a parked one
  void cancel(SequenceId id);   // its listener hears kCancelled; nothing for one that has ended

  // One step of the engine. False when there was nothing to do.
  bool step();

  struct Statistics {
    std::int64_t steps = 0, prompt_tokens = 0, sampled_tokens = 0, copied_tokens = 0;
    std::int64_t evictions = 0;  // parked sequences whose slot was taken
  };
  const Statistics& statistics() const { return statistics_; }
  std::size_t running() const { return running_.size(); }
  std::size_t waiting() const { return waiting_.size(); }

 private:
  struct Sequence {
    SequenceId id = 0;
    std::vector<std::int32_t> tokens;  // prompt and samples
    std::int64_t prompt = 0;           // of tokens: computed as a prompt, whatever the batch
    std::int64_t computed = 0;         // of tokens, in the slot
    std::int64_t sampled = 0;          // since submit or resume
    std::int32_t slot = -1;
    SequenceSettings settings;
    SequenceListener* listener = nullptr;
    SequenceId leader = 0;    // whose prompt is the same; 0: none
    std::int64_t shared = 0;  // tokens that it has in common with its leader
  };

  Status check(const std::vector<std::int32_t>& tokens, std::int64_t before,
               const SequenceSettings& settings) const;
  void drop_what_earlier_weights_computed();
  void admit_waiting();
  bool may_start(const Sequence& sequence) const;
  void give_slot(Sequence& sequence);
  bool take_free_slot(std::int32_t& slot);
  void add_tokens(Sequence& sequence, std::int64_t room);
  void hear(Sequence& sequence, const lm::Sample& sample);
  void finish(SequenceId id, text::Finish finish);

  lm::Engine& engine_;
  std::int32_t weights_;  // that slots were computed with
  SequenceId next_id_ = 1;
  std::map<SequenceId, Sequence> sequences_;  // all that are not ended
  std::deque<SequenceId> waiting_;            // no slot yet
  std::vector<SequenceId> running_;           // in the order of their start
  std::deque<SequenceId> parked_;             // the longest parked first
  std::vector<std::int32_t> free_slots_;
  lm::Step step_;
  std::vector<SequenceId> sampled_;  // whose samples the step gives
  std::vector<lm::Sample> samples_;
  Statistics statistics_;
};

}  // namespace kw::serving
