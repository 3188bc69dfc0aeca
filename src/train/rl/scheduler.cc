#include "train/rl/scheduler.h"

#include <algorithm>
#include <chrono>
#include <limits>
#include <optional>
#include <vector>

#include "base/backoff.h"
#include "os/pause.h"

namespace kw::train {
namespace {

using environment::Step;
using Clock = std::chrono::steady_clock;

constexpr std::int64_t kAlone = -1;  // the step of play()
constexpr std::int64_t kAllTurns = std::numeric_limits<std::int64_t>::max();
constexpr std::chrono::milliseconds kLook{500};  // for a lost environment

double seconds_since(Clock::time_point begin) {
  return std::chrono::duration<double>(Clock::now() - begin).count();
}

// Repeats what may succeed later.
Result<Step> step_with_tries(const environment::Environment& environment,
                             environment::Episode& episode, const environment::Answer& answer,
                             const SchedulerSettings& settings, const std::stop_token& stop) {
  for (int made = 1;; ++made) {
    Result<Step> step = episode.step(answer, stop);
    if (step || made >= settings.tries || !may_retry(step.error().code()) || !environment.alive())
      return step;
    os::pause(std::chrono::duration<double>(doubled_delay(settings.pause_seconds, made, 60.0)),
              stop);
  }
}

// Answers that the environment has not been told lead it to where it was; what it said then counts.
Result<Step> judged(const environment::Environment& environment, const Judgement& of,
                    const SchedulerSettings& settings, const std::stop_token& stop) {
  for (const environment::Answer& answer : of.before) {
    KW_TRY(const Step step, step_with_tries(environment, *of.episode, answer, settings, stop));
    if (step.done)
      return fail(ErrorCode::kUnsupported,
                  "the environment ends an episode that went on before the run was interrupted");
  }
  return step_with_tries(environment, *of.episode, of.answer, settings, stop);
}

}  // namespace

Scheduler::Scheduler(SchedulerParts parts, const SchedulerSettings& settings, JudgedAnswers saved)
    : parts_(parts), settings_(settings), saved_(std::move(saved)), sampler_(parts.engine) {}

Status Scheduler::begin(RolloutPlan plan, const std::stop_token& stop) {
  const std::int64_t step = plan.step;
  plan.sampler.ends = parts_.chat.ends();
  KW_TRY(batches_[step],
         RolloutBatch::begin(parts_.environment, parts_.chat, parts_.engine.limits().context,
                             std::move(plan), saved_, stop));
  return {};
}

Result<std::unique_ptr<RolloutBatch>> Scheduler::play_batch(RolloutPlan plan,
                                                            const std::stop_token& stop) {
  plan.step = kAlone;
  KW_TRY_STATUS(begin(std::move(plan), stop));
  return finish_batch(kAlone, stop);
}

Result<std::unique_ptr<RolloutBatch>> Scheduler::finish_batch(std::int64_t step,
                                                              const std::stop_token& stop) {
  KW_TRY_STATUS(run(step, stop));
  // A lost environment says nothing of the answers that it failed to judge.
  KW_TRY_STATUS(parts_.environment.alive());
  return std::move(batches_.extract(step).mapped());
}

Result<Played> Scheduler::play(RolloutPlan plan, const std::stop_token& stop) {
  KW_TRY(const std::unique_ptr<RolloutBatch> batch, play_batch(std::move(plan), stop));
  return batch->played();
}

Result<Played> Scheduler::finish(std::int64_t step, const std::stop_token& stop) {
  KW_TRY(const std::unique_ptr<RolloutBatch> batch, finish_batch(step, stop));
  return batch->played();
}

// -1: none.
std::int64_t Scheduler::last_turn_of(std::int64_t step, std::int64_t finishing) const {
  if (step == finishing) return kAllTurns;
  if (finishing == kAlone) return -1;
  return std::min(settings_.turns - 1, settings_.staleness - (step - finishing));
}

bool Scheduler::has_due(std::int64_t finishing) const {
  return std::ranges::any_of(batches_, [&](const auto& one) {
    return one.second->has_due(last_turn_of(one.first, finishing));
  });
}

Status Scheduler::run(std::int64_t finishing, const std::stop_token& stop) {
  while (true) {
    if (stop.stop_requested()) return fail(ErrorCode::kCancelled, "interrupted");
    while (std::optional<Judged> one = heard_->take_if_there())
      KW_TRY_STATUS(settle(std::move(*one)));
    KW_TRY_STATUS(begin_answers(finishing));
    if (!sampler_.done()) {
      sample();
    } else if (!has_due(finishing)) {
      return {};
    } else {
      KW_TRY_STATUS(parts_.environment.alive());
      const auto begin = Clock::now();
      std::optional<Judged> one = heard_->take(stop, kLook);
      times_.waited += seconds_since(begin);
      if (one) KW_TRY_STATUS(settle(std::move(*one)));
    }
  }
}

// In the order of steps: the one that is finished comes first.
Status Scheduler::begin_answers(std::int64_t finishing) {
  for (auto& [step, batch] : batches_) {
    const std::int64_t last_turn = last_turn_of(step, finishing);
    for (std::size_t place = 0; place < batch->episodes().size(); ++place) {
      OpenEpisode& one = batch->episodes()[place];
      while (one.state() == OpenEpisode::State::kReady && one.next_turn() <= last_turn) {
        if (std::optional<JudgedAnswer> saved = one.take_saved()) {
          KW_TRY_STATUS(go_on_from(*batch, place, std::move(*saved)));
          continue;
        }
        one.begin_answer();
        sampled_[sampler_.add({one.context(), one.number(), batch->sampler()})] = {batch.get(),
                                                                                   place};
      }
    }
  }
  return {};
}

Status Scheduler::go_on_from(RolloutBatch& batch, std::size_t place, JudgedAnswer saved) {
  OpenEpisode& one = batch.episodes()[place];
  one.answered(std::move(saved.answer));
  if (saved.step)
    return one.settle(std::move(*saved.step), {}, parts_.chat, parts_.engine.limits().context);
  judge(batch, place);
  return {};
}

void Scheduler::sample() {
  std::vector<FinishedSample> finished;
  {
    const os::Standstill::Working working(parts_.standstill);
    const auto begin = Clock::now();
    finished = sampler_.step();
    times_.sampled += seconds_since(begin);
  }
  for (FinishedSample& one : finished) {
    const Place place = sampled_.extract(one.job).mapped();
    times_.tokens += std::ssize(one.answer.tokens);
    answered(place, std::move(one.answer));
  }
}

void Scheduler::answered(const Place& place, SampledAnswer answer) {
  place.batch->episodes()[place.episode].answered(
      {parts_.chat.text(answer.tokens),
       answer.ended ? text::Finish::kStop : text::Finish::kLength,
       {std::move(answer.tokens), std::move(answer.logprobs), std::move(answer.versions),
        std::move(answer.cutoffs)}});
  judge(*place.batch, place.episode);
}

void Scheduler::judge(RolloutBatch& batch, std::size_t place) {
  parts_.judges.post(batch.step(),
                     [heard = heard_, &environment = parts_.environment, settings = settings_,
                      step = batch.step(), place, judgement = batch.episodes()[place].judgement(),
                      posted = Clock::now()](const std::stop_token& stop) {
                       JudgementTime time;
                       time.queued = seconds_since(posted);
                       const auto begin = Clock::now();
                       Result<Step> said = judged(environment, judgement, settings, stop);
                       time.judged = seconds_since(begin);
                       heard->put({step, place, std::move(said), time});
                     });
}

Status Scheduler::settle(Judged judged) {
  const auto batch = batches_.find(judged.step);
  if (batch == batches_.end()) return {};  // play() was interrupted
  if (!judged.said) KW_TRY_STATUS(parts_.environment.alive());
  return batch->second->episodes()[judged.place].settle(
      std::move(judged.said), judged.time, parts_.chat, parts_.engine.limits().context);
}

JudgedAnswers Scheduler::answers_before(std::int32_t version) {
  // What has been judged meanwhile is not judged again.
  while (std::optional<Judged> one = heard_->take_if_there())
    if (!settle(std::move(*one))) break;
  JudgedAnswers out = saved_;
  for (const auto& [step, batch] : batches_)
    if (step != kAlone) batch->add_answers_before(version, out);
  return out;
}

}  // namespace kw::train
