#include "train/rl/play.h"

#include <algorithm>
#include <chrono>
#include <condition_variable>
#include <memory>
#include <mutex>
#include <optional>
#include <utility>

#include "base/backoff.h"
#include "base/present.h"
#include "os/task_group.h"

namespace kw::train {
namespace {

using environment::Answer;
using environment::Step;
using Clock = std::chrono::steady_clock;
using Tokens = std::vector<std::int32_t>;

double seconds_since(Clock::time_point begin) {
  return std::chrono::duration<double>(Clock::now() - begin).count();
}

// One episode that goes on.
struct Player {
  std::unique_ptr<environment::Episode> episode;
  std::uint64_t sequence = 0;
  std::vector<text::ChatMessage> conversation;
  std::shared_ptr<const Tokens> context;  // everything before the next answer
  std::size_t known = 0;                  // tokens of it that earlier turns had
  std::vector<std::uint8_t> observed;     // of the other tokens: rollout::Turn::observed
  rollout::Trajectory trajectory;
  std::vector<std::vector<text::ChatMessage>> conversations;  // of its turns
  Answer answer;
  std::optional<Result<Step>> step;  // what the environment said to it
  double judge_seconds = 0;
  bool over = false, failed = false;
};

class Play {
 public:
  Play(PlayParts parts, const PlaySettings& settings, const std::stop_token& stop)
      : parts_(parts), settings_(settings), stop_(stop) {}

  Status begin(const std::vector<std::string>& tasks, std::uint64_t first_sequence);
  bool done() const {
    return std::all_of(players_.begin(), players_.end(), [](const auto& p) { return p.over; });
  }
  Status turn();
  Played result(const std::vector<std::string>& tasks) &&;

 private:
  bool has_room(const Tokens& context) const {
    return static_cast<std::int64_t>(context.size()) < parts_.engine.limits().context;
  }
  Status sample();
  Status judge();
  Result<Step> judged(Player& player, const std::stop_token& stop) const;
  Status settle(Player& player);
  Status go_on(Player& player, const environment::Observation& next);

  const PlayParts parts_;
  const PlaySettings& settings_;
  const std::stop_token stop_;
  std::vector<Player> players_;  // samples of the first task, then of the second one, ...
  std::vector<Player*> active_;  // of this turn
  Played out_;
};

Status Play::begin(const std::vector<std::string>& tasks, std::uint64_t first_sequence) {
  for (const std::string& task : tasks) {
    std::shared_ptr<const Tokens> context;  // shared by the task's episodes
    std::vector<text::ChatMessage> asked;
    for (std::int64_t i = 0; i < settings_.samples; ++i) {
      Player player;
      KW_TRY(player.episode, parts_.environment.begin(task, stop_));
      player.sequence = first_sequence + players_.size();
      player.trajectory.number = player.sequence;
      player.conversation = player.episode->observation().messages;
      if (!context || asked != player.conversation) {
        asked = player.conversation;
        KW_TRY(Tokens tokens, parts_.chat.begin(asked));
        if (tokens.empty() || !has_room(tokens))
          return fail(ErrorCode::kInvalidArgument,
                      "max_tokens: the prompt of task {:?} has {} tokens and leaves no room for an "
                      "answer",
                      task, tokens.size());
        context = std::make_shared<const Tokens>(std::move(tokens));
      }
      player.context = context;
      players_.push_back(std::move(player));
    }
  }
  out_.episodes = static_cast<std::int64_t>(players_.size());
  return {};
}

Status Play::turn() {
  active_.clear();
  for (Player& player : players_)
    if (!player.over) active_.push_back(&player);
  const auto begin = Clock::now();
  KW_TRY_STATUS(sample());
  out_.sample_seconds += seconds_since(begin);
  const auto sampled = Clock::now();
  KW_TRY_STATUS(judge());
  for (Player* player : active_) KW_TRY_STATUS(settle(*player));
  out_.judge_seconds += seconds_since(sampled);
  return {};
}

Status Play::sample() {
  std::vector<SampleJob> jobs;
  for (const Player* player : active_) jobs.push_back({player->context, player->sequence});
  SamplerSettings sampler = settings_.sampler;
  sampler.ends = parts_.chat.ends();
  KW_TRY(std::vector<SampledAnswer> answers,
         sample_answers(parts_.engine, jobs, sampler, [this] { return stop_.stop_requested(); }));
  for (std::size_t i = 0; i < answers.size(); ++i) {
    SampledAnswer& answer = answers[i];
    active_[i]->answer = {parts_.chat.text(answer.tokens),
                          answer.ended ? text::Finish::kStop : text::Finish::kLength,
                          {std::move(answer.tokens), std::move(answer.logprobs),
                           std::move(answer.versions), std::move(answer.cutoffs)}};
  }
  return {};
}

Status Play::judge() {
  os::TaskGroup group(settings_.judges, stop_, "interrupted");
  for (Player* player : active_) {
    if (group.ending()) break;
    group.post([this, player, token = group.token()] {
      const auto begin = Clock::now();
      player->step = judged(*player, token);
      player->judge_seconds = seconds_since(begin);
    });
  }
  KW_TRY_STATUS(group.finish({}));
  // What a lost environment failed to judge says nothing of the answers.
  return parts_.environment.alive();
}

// Repeats what may succeed later.
Result<Step> Play::judged(Player& player, const std::stop_token& stop) const {
  for (int made = 1;; ++made) {
    Result<Step> step = player.episode->step(player.answer, stop);
    if (step || made >= settings_.tries || !may_retry(step.error().code()) ||
        !parts_.environment.alive())
      return step;
    std::mutex mutex;
    std::condition_variable_any never;
    std::unique_lock lock(mutex);
    const double pause = doubled_delay(settings_.pause_seconds, made, 60.0);
    never.wait_for(lock, stop, std::chrono::duration<double>(pause), [] { return false; });
  }
}

Status Play::settle(Player& player) {
  Result<Step> step = std::move(present(player.step));
  player.step.reset();
  out_.judgement_seconds += player.judge_seconds;
  out_.longest_judgement = std::max(out_.longest_judgement, player.judge_seconds);
  if (!step) {
    player.over = player.failed = true;
    if (out_.failure.empty()) out_.failure = step.error().message();
    ++out_.without_reward;
    return {};
  }
  rollout::Turn turn;
  turn.follows = player.known > 0;
  turn.context.assign(player.context->begin() + static_cast<std::ptrdiff_t>(player.known),
                      player.context->end());
  turn.observed = std::exchange(player.observed, {});
  turn.tokens = player.answer.sampled.tokens;
  turn.logprobs = player.answer.sampled.logprobs;
  turn.versions = player.answer.sampled.versions;
  turn.cutoffs = player.answer.sampled.cutoffs;
  turn.reward = step->reward;
  turn.reward_low = step->interval ? step->interval->low : step->reward;
  turn.reward_high = step->interval ? step->interval->high : step->reward;
  turn.truncated = player.answer.finish == text::Finish::kLength;
  turn.text = player.answer.text;
  turn.facts = std::move(step->facts);
  player.trajectory.turns.push_back(std::move(turn));
  player.conversations.push_back(player.conversation);
  player.over = step->done;
  return step->done ? Status() : go_on(player, step->next);
}

Status Play::go_on(Player& player, const environment::Observation& next) {
  Tokens context;
  player.known = 0;
  if (next.whole) {
    player.conversation = next.messages;
    KW_TRY(context, parts_.chat.begin(next.messages));
  } else {
    const Tokens& answer = player.answer.sampled.tokens;
    context = *player.context;
    context.insert(context.end(), answer.begin(), answer.end());
    player.known = context.size();
    player.conversation.push_back({"assistant", player.answer.text});
    KW_TRY(const Tokens between,
           parts_.chat.follow(player.conversation, player.answer.finish == text::Finish::kStop,
                              next.messages));
    context.insert(context.end(), between.begin(), between.end());
    player.observed = parts_.chat.contents(between, next.messages);
    player.conversation.insert(player.conversation.end(), next.messages.begin(),
                               next.messages.end());
  }
  if (!has_room(context)) {
    player.over = true;
    ++out_.no_room;
  }
  player.context = std::make_shared<const Tokens>(std::move(context));
  return {};
}

Played Play::result(const std::vector<std::string>& tasks) && {
  for (std::size_t i = 0; i < tasks.size(); ++i) {
    rollout::Group group;
    group.id = tasks[i];
    const auto size = static_cast<std::size_t>(settings_.samples);
    for (std::size_t j = i * size; j < (i + 1) * size; ++j)
      if (!players_[j].failed) {
        out_.conversations[players_[j].sequence] = std::move(players_[j].conversations);
        group.trajectories.push_back(std::move(players_[j].trajectory));
      }
    out_.groups.push_back(std::move(group));
  }
  return std::move(out_);
}

}  // namespace

Result<Played> play(PlayParts parts, const PlaySettings& settings,
                    const std::vector<std::string>& tasks, std::uint64_t first_sequence,
                    const std::stop_token& stop) {
  Play play(parts, settings, stop);
  KW_TRY_STATUS(play.begin(tasks, first_sequence));
  while (!play.done()) KW_TRY_STATUS(play.turn());
  return std::move(play).result(tasks);
}

}  // namespace kw::train
