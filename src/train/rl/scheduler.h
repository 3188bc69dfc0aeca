// Scheduler: what the engine samples next, and who judges it. The one place that knows what waits
// for what while a policy samples, is judged and is trained.
//
// Theory of operation. The run's thread samples and trains; judges are other threads. finish()
// samples with the weights as they are until all episodes of a step are judged: each answer goes to
// a judge as soon as its last token is drawn, and an episode's next turn begins as soon as the one
// before is judged. With a staleness of N, episodes of the N steps behind it are sampled in the
// same call, and judged while this step is trained and while the next call samples.
//
// Which weights draw which answer depends on numbers alone, so that the same settings give the same
// bits however long a judgement takes. Turn t of step k's episodes is drawn in the call of step
// k - N + t, as far as an episode is known to have so many turns; the first steps draw what is due
// by then, and all that is left is drawn in the call of step k itself. No answer is in flight when
// finish() returns: weights change between two answers and never inside one. Inside a call the
// order is free, since a sample depends on weights, seed, episode and position alone.
//
// Where the environment asks for a standstill (a kernel is timed), the engine stands still between
// two of its steps.
#pragma once
#include <cstdint>
#include <map>
#include <memory>
#include <stop_token>
#include <utility>

#include "base/result.h"
#include "environment/environment.h"
#include "lm/engine.h"
#include "os/mailbox.h"
#include "os/standstill.h"
#include "train/rl/chat_encoder.h"
#include "train/rl/judges.h"
#include "train/rl/played.h"
#include "train/rl/rollout_batch.h"
#include "train/rl/sampler.h"

namespace kw::train {

// All borrowed.
struct SchedulerParts {
  environment::Environment& environment;
  const ChatEncoder& chat;
  lm::Engine& engine;
  Judges& judges;
  os::Standstill& standstill;
};

struct SchedulerSettings {
  std::int64_t staleness = 0;  // steps between the weights that draw an answer and its training
  std::int64_t turns = 1;      // of an episode, as far as is known: later ones are never ahead
  int tries = 1;               // of an answer whose judgement failed for a reason that passes
  double pause_seconds = 1;    // before the second try, doubled each time
};

// Where the time of finish() went.
struct SamplingTimes {
  double sampled = 0;       // seconds in which the engine computed
  double waited = 0;        // seconds in which it had nothing to do until an answer was judged
  std::int64_t tokens = 0;  // of answers that were done
};

// One thread.
class Scheduler {
 public:
  // saved: answers of an earlier process, for episodes that begin later.
  Scheduler(SchedulerParts parts, const SchedulerSettings& settings, JudgedAnswers saved = {});

  bool has_begun(std::int64_t step) const { return batches_.contains(step); }
  // Errors are those of RolloutBatch::begin.
  Status begin(RolloutPlan plan, const std::stop_token& stop);
  // Samples what is due, until all of this step is judged; it is the earliest one that has begun.
  // The same plans and weights give the same result, whatever order judgements come in. Errors:
  // kCancelled after a stop; an environment that is lost (alive()).
  Result<Played> finish(std::int64_t step, const std::stop_token& stop);
  // Plays episodes on their own, in front of all steps that have begun.
  Result<Played> play(RolloutPlan plan, const std::stop_token& stop);
  // The same, with the episodes themselves.
  Result<std::unique_ptr<RolloutBatch>> finish_batch(std::int64_t step,
                                                     const std::stop_token& stop);
  Result<std::unique_ptr<RolloutBatch>> play_batch(RolloutPlan plan, const std::stop_token& stop);

  // All that weights before `version` drew for steps that finish() has not given: what a process
  // that goes on from these weights cannot draw again.
  JudgedAnswers answers_before(std::int32_t version);
  // Since the last call.
  SamplingTimes take_times() { return std::exchange(times_, {}); }

 private:
  struct Judged {
    std::int64_t step = 0;
    std::size_t place = 0;
    Result<environment::Step> said;
    JudgementTime time;
  };
  struct Place {
    RolloutBatch* batch = nullptr;
    std::size_t episode = 0;
  };

  std::int64_t last_turn_of(std::int64_t step, std::int64_t finishing) const;
  bool has_due(std::int64_t finishing) const;
  Status run(std::int64_t finishing, const std::stop_token& stop);
  Status begin_answers(std::int64_t finishing);
  Status go_on_from(RolloutBatch& batch, std::size_t place, JudgedAnswer saved);
  void sample();
  void answered(const Place& place, SampledAnswer answer);
  void judge(RolloutBatch& batch, std::size_t place);
  Status settle(Judged judged);

  const SchedulerParts parts_;
  const SchedulerSettings settings_;
  JudgedAnswers saved_;  // of episodes that have not begun
  Sampler sampler_;
  std::map<std::int64_t, std::unique_ptr<RolloutBatch>> batches_;  // by step
  std::map<std::size_t, Place> sampled_;                           // by the sampler's number
  // Shared with judgements, which may outlive this.
  const std::shared_ptr<os::Mailbox<Judged>> heard_ = std::make_shared<os::Mailbox<Judged>>();
  SamplingTimes times_;
};

}  // namespace kw::train
