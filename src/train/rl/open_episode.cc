#include "train/rl/open_episode.h"

#include <utility>

#include "base/check.h"
#include "base/present.h"

namespace kw::train {

using environment::Answer;
using environment::Step;

OpenEpisode::OpenEpisode(std::unique_ptr<environment::Episode> episode, std::uint64_t number,
                         SharedTokens prompt, std::vector<JudgedAnswer> saved)
    : episode_(std::move(episode)),
      number_(number),
      first_(episode_->observation()),
      conversation_(first_.messages),
      context_(std::move(prompt)),
      saved_(std::move(saved)) {}

bool OpenEpisode::has_failed() const {
  return !turns_.empty() && turns_.back().judged.step && !*turns_.back().judged.step;
}

std::optional<JudgedAnswer> OpenEpisode::take_saved() {
  if (turns_.size() >= saved_.size()) return std::nullopt;
  begin_answer();
  return saved_[turns_.size()];
}

void OpenEpisode::answered(Answer answer) {
  KW_CHECK(state_ == State::kSampled);
  Turn turn;
  turn.context = context_;
  turn.known = known_;
  turn.observed = std::exchange(observed_, {});
  turn.conversation = conversation_;
  turn.judged.answer = std::move(answer);
  turns_.push_back(std::move(turn));
  state_ = State::kJudged;
}

Judgement OpenEpisode::judgement() {
  Judgement out{episode_, {}, turns_.back().judged.answer};
  for (; told_ + 1 < turns_.size(); ++told_) out.before.push_back(turns_[told_].judged.answer);
  told_ = turns_.size();
  return out;
}

Status OpenEpisode::settle(Result<Step> step, JudgementTime time, const ChatEncoder& chat,
                           std::int64_t most_tokens) {
  KW_CHECK(state_ == State::kJudged);
  Turn& turn = turns_.back();
  turn.time = time;
  turn.judged.step = std::move(step);
  const Result<Step>& said = present(turn.judged.step);
  state_ = said && !said->done ? State::kReady : State::kOver;
  return state_ == State::kReady ? go_on(*said, chat, most_tokens) : Status();
}

Status OpenEpisode::go_on(const Step& step, const ChatEncoder& chat, std::int64_t most_tokens) {
  std::vector<std::int32_t> context;
  known_ = 0;
  const environment::Observation& next = step.next;
  if (next.whole) {
    conversation_ = next.messages;
    KW_TRY(context, chat.begin(next.messages));
  } else {
    const Answer& answer = turns_.back().judged.answer;
    context = *context_;
    context.insert(context.end(), answer.sampled.tokens.begin(), answer.sampled.tokens.end());
    known_ = context.size();
    conversation_.push_back({"assistant", answer.text});
    KW_TRY(const std::vector<std::int32_t> between,
           chat.follow(conversation_, answer.finish == text::Finish::kStop, next.messages));
    context.insert(context.end(), between.begin(), between.end());
    observed_ = chat.contents(between, next.messages);
    conversation_.insert(conversation_.end(), next.messages.begin(), next.messages.end());
  }
  if (std::ssize(context) >= most_tokens) {
    state_ = State::kOver;
    no_room_ = true;
  }
  context_ = std::make_shared<const std::vector<std::int32_t>>(std::move(context));
  return {};
}

std::vector<JudgedAnswer> OpenEpisode::answers_before(std::int32_t version) const {
  std::vector<JudgedAnswer> out;
  for (const Turn& turn : turns_) {
    if (turn.judged.answer.sampled.versions.front() >= version) return out;
    out.push_back(turn.judged);
  }
  // Those that have not been taken yet.
  if (turns_.size() < saved_.size())
    out.insert(out.end(), saved_.begin() + std::ssize(turns_), saved_.end());
  return out;
}

rollout::Trajectory OpenEpisode::trajectory() const {
  rollout::Trajectory out;
  out.number = number_;
  for (const Turn& one : turns_) {
    const Answer& answer = one.judged.answer;
    const Step& step = *present(one.judged.step);
    rollout::Turn turn;
    turn.follows = one.known > 0;
    turn.context.assign(one.context->begin() + static_cast<std::ptrdiff_t>(one.known),
                        one.context->end());
    turn.observed = one.observed;
    turn.tokens = answer.sampled.tokens;
    turn.logprobs = answer.sampled.logprobs;
    turn.versions = answer.sampled.versions;
    turn.cutoffs = answer.sampled.cutoffs;
    turn.reward = step.reward;
    turn.reward_low = step.interval ? step.interval->low : step.reward;
    turn.reward_high = step.interval ? step.interval->high : step.reward;
    turn.truncated = answer.finish == text::Finish::kLength;
    turn.text = answer.text;
    turn.facts = step.facts;
    out.turns.push_back(std::move(turn));
  }
  return out;
}

std::vector<std::vector<text::ChatMessage>> OpenEpisode::conversations() const {
  std::vector<std::vector<text::ChatMessage>> out;
  for (const Turn& turn : turns_) out.push_back(turn.conversation);
  return out;
}

std::vector<environment::Record> OpenEpisode::records(const std::string& task) const {
  std::string state = environment::first_state(task);
  std::vector<environment::Record> out{{task, state, first_, false, {}, {}}};
  for (const Turn& turn : turns_) {
    const JudgedAnswer& one = turn.judged;
    if (!one.step || !*one.step) break;
    state = environment::state_after(state, one.answer);
    out.push_back({task, state, {}, true, one.answer, **one.step});
  }
  return out;
}

std::string OpenEpisode::failure() const {
  return has_failed() ? turns_.back().judged.step->error().message() : "";
}

std::vector<JudgementTime> OpenEpisode::times() const {
  std::vector<JudgementTime> out;
  for (const Turn& turn : turns_) out.push_back(turn.time);
  return out;
}

}  // namespace kw::train
