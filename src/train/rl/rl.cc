#include "train/rl/rl.h"

#include <algorithm>
#include <chrono>
#include <cmath>
#include <memory>
#include <optional>
#include <utility>

#include "base/seed.h"
#include "os/standstill.h"
#include "rollout/advantage.h"
#include "rollout/group_filter.h"
#include "rollout/measured_rewards.h"
#include "train/parallel/agreement.h"
#include "train/parallel/collectives.h"
#include "train/rl/episode_figures.h"
#include "train/rl/evaluation.h"
#include "train/rl/feedback.h"
#include "train/rl/judged_answer.h"
#include "train/rl/judges.h"
#include "train/rl/make_environment.h"
#include "train/rl/policy_engine.h"
#include "train/rl/rank_exchange.h"
#include "train/rl/rank_share.h"
#include "train/rl/rl_models.h"
#include "train/rl/rl_plan.h"
#include "train/rl/rl_rows.h"
#include "train/rl/rollout_plans.h"
#include "train/rl/sample_rows.h"
#include "train/rl/scheduler.h"
#include "train/run/checkpoint_folders.h"
#include "train/run/checkpoint_writer.h"
#include "train/run/device.h"
#include "train/run/event_file.h"
#include "train/run/run_folder.h"
#include "train/run/training_state.h"

namespace kw::train {
namespace {

namespace fs = std::filesystem;
using Clock = std::chrono::steady_clock;

double seconds_since(Clock::time_point begin) {
  return std::chrono::duration<double>(Clock::now() - begin).count();
}

// Everything of a run in one place that does not move.
class Run {
 public:
  static Result<std::unique_ptr<Run>> make(const RlSettings& settings, bool resume,
                                           RlObserver& observer, const std::stop_token& stop,
                                           Group& group);
  Result<fs::path> train(const std::stop_token& stop);

 private:
  Run(const RlSettings& settings, RlObserver& observer, Group& group)
      : settings_(settings), observer_(observer), group_(group), exchange_(group) {}
  Status open_parts(const fs::path& checkpoint);
  Status open_environment(const std::stop_token& stop);
  Status open_scheduler();
  Status open_files(bool resume, std::size_t checkpoints);
  Status begin_alike();
  Status go_on_from(const fs::path& checkpoint);

  ExchangeParts exchange_parts() { return {*environment_, *chat_, engine_->limits().context}; }
  Status begin_rollouts(const std::stop_token& stop);
  Result<RlProgress> step(const std::stop_token& stop);
  Status learn(Played& played, RlProgress& out);
  Status read_feedback(Played& played, RlProgress& out) const;
  // The next sample is of the weights as they are now, whose version is the number of steps done.
  void publish_weights() { engine_->weights_changed(static_cast<std::int32_t>(state_.step)); }
  bool is_over() const {
    return state_.step >= settings_.steps ||
           (settings_.seconds > 0 && state_.seconds >= settings_.seconds);
  }
  Status evaluate(const std::stop_token& stop);
  Status log(const RlProgress& progress);
  Status save();
  Result<fs::path> failed(Error error);

  const RlSettings settings_;
  RlObserver& observer_;
  Group& group_;
  RankExchange exchange_;
  std::unique_ptr<Collectives> ranks_;  // null: one rank
  std::optional<RlModels> models_;
  std::unique_ptr<Optimizer> optimizer_;
  std::unique_ptr<lm::Engine> engine_;
  std::optional<lm::Tokenizer> tokenizer_;
  std::optional<ChatEncoder> chat_;
  os::Standstill standstill_{[this] { wait_for(models_->device()); }};
  std::unique_ptr<environment::Environment> environment_;
  std::optional<Scheduler> scheduler_;
  std::optional<Judges> judges_;  // behind the environment: judgements use it
  std::optional<RlRows> rows_;    // of rank 0, as events_
  std::optional<EventFile> events_;
  std::optional<RolloutPlans> plans_;
  TrainingState state_;
  std::vector<Json> samples_;  // rows of the latest step
  CheckpointWriter writer_{settings_.run, settings_.model, settings_.keep,
                           [this](const fs::path& path) { observer_.saved(path); }, &standstill_};
  std::int64_t saved_ = -1;      // the step of the newest checkpoint; -1: none
  std::int64_t evaluated_ = -1;  // steps before the latest evaluation; -1: there is none
  double evaluate_seconds_ = 0;  // of an evaluation since the latest step
};

Status Run::open_parts(const fs::path& checkpoint) {
  KW_TRY(models_, RlModels::open(settings_, checkpoint));
  if (group_.size() > 1) {
    KW_TRY(ranks_, make_collectives(group_, models_->device()));
  }
  optimizer_ =
      std::make_unique<Optimizer>(models_->weights(), optimizer_settings(settings_), ranks_.get());
  KW_TRY(engine_, make_policy_engine(models_->weights(), settings_));
  KW_TRY(lm::Tokenizer tokenizer, lm::Tokenizer::load(settings_.model));
  tokenizer_.emplace(std::move(tokenizer));
  chat_.emplace(*tokenizer_);
  const std::int64_t vocabulary = models_->weights().config().vocabulary;
  for (const auto& [key, top_k] : {std::pair("teacher_top_k", settings_.teacher_top_k),
                                   std::pair("feedback_top_k", settings_.feedback_top_k)})
    if (top_k > vocabulary)
      return fail(ErrorCode::kInvalidArgument, "{}: {} is over {}, the tokens of the vocabulary",
                  key, top_k, vocabulary);
  return models_->open_teacher(*tokenizer_);
}

Status Run::open_environment(const std::stop_token& stop) {
  KW_TRY(environment_, make_environment(
                           settings_, standstill_,
                           [this](const std::string& line) { observer_.said(line); }, stop));
  std::vector<std::string> tasks = environment_->tasks();
  for (const std::string& task : settings_.held_out)
    if (std::erase(tasks, task) == 0)
      return fail(ErrorCode::kInvalidArgument,
                  "held_out: {:?} is no task of the environment, or stands there twice", task);
  std::sort(tasks.begin(), tasks.end());  // a record may have them in another order
  if (tasks.empty())
    return fail(ErrorCode::kInvalidArgument, "environment: {} has no task to train on",
                settings_.environment);
  plans_.emplace(settings_, tasks);
  return agree(group_, {{"tasks of the environment", tasks.size()}});
}

Status Run::open_scheduler() {
  KW_TRY(const JudgedAnswers all, judged_answers_from_jsonl(state_.ahead, "ahead.jsonl"));
  SchedulerSettings settings;
  settings.staleness = settings_.max_staleness;
  KW_TRY(settings.turns, turns_of(settings_));
  settings.tries = static_cast<int>(settings_.tries);
  judges_.emplace(static_cast<int>(settings_.judges));
  scheduler_.emplace(SchedulerParts{*environment_, *chat_, *engine_, *judges_, standstill_},
                     settings,
                     share_of(all, settings_.prompts, settings_.samples, exchange_.place()));
  return {};
}

Status Run::go_on_from(const fs::path& checkpoint) {
  KW_TRY(state_, read_training_state(checkpoint, 0));
  const std::string key = differs_for_resume(state_.settings, settings_);
  if (!key.empty())
    return fail(ErrorCode::kInvalidArgument,
                "{}: differs from the run that is resumed ({} there); start another run, or set it "
                "back",
                key, state_.settings.value(key, Json()).dump());
  KW_TRY_STATUS(
      load_training_state(checkpoint, state_, models_->weights(), *optimizer_, models_->average()));
  models_->publish_average();
  saved_ = state_.step;
  if (group_.is_root()) observer_.said(fmt::format("going on from {}", checkpoint.string()));
  return {};
}

// Rank 0 alone does so.
Status Run::open_files(bool resume, std::size_t checkpoints) {
  if (!group_.is_root()) return {};
  KW_TRY_STATUS(prepare_run_folder(settings_.run, resume, checkpoints, state_.step,
                                   {{"rl", to_json(settings_)}}));
  KW_TRY(EventFile events, EventFile::begin(settings_.run, resume, state_.step, wall_time()));
  events_.emplace(std::move(events));
  KW_TRY(RlRows rows, RlRows::open(settings_.run, resume, state_.step));
  rows_.emplace(std::move(rows));
  return {};
}

// All ranks have rank 0's weights, whatever files each has read, and know what it has evaluated.
Status Run::begin_alike() {
  if (rows_) evaluated_ = rows_->evaluated();
  if (ranks_) optimizer_->begin_alike();
  KW_TRY(evaluated_, exchange_.of_root(evaluated_));
  return {};
}

Result<std::unique_ptr<Run>> Run::make(const RlSettings& settings, bool resume,
                                       RlObserver& observer, const std::stop_token& stop,
                                       Group& group) {
  set_threads(settings.threads, group.launch().local_size);
  KW_TRY(const std::vector<fs::path> all, checkpoints_in(settings.run));
  std::unique_ptr<Run> run(new Run(settings, observer, group));
  const bool goes_on = resume && !all.empty();
  Json alike = to_json(settings);
  alike["--resume"] = resume;
  alike["newest checkpoint"] = all.empty() ? "" : all.back().filename().string();
  KW_TRY_STATUS(agree(group, alike));
  KW_TRY_STATUS(run->open_parts(goes_on ? all.back() : fs::path()));
  if (goes_on) KW_TRY_STATUS(run->go_on_from(all.back()));
  KW_TRY_STATUS(run->open_files(resume, all.size()));
  KW_TRY_STATUS(run->open_environment(stop));  // may take long: after all that may be refused
  KW_TRY_STATUS(run->open_scheduler());
  KW_TRY_STATUS(run->begin_alike());
  run->state_.settings = to_json(settings);
  if (!run->state_.updates) run->state_.updates = 0;
  run->publish_weights();
  return run;
}

// The file says what has been evaluated, so that a resumed run evaluates what is missing.
Status Run::evaluate(const std::stop_token& stop) {
  const bool due =
      settings_.eval_every > 0 && (state_.step % settings_.eval_every == 0 || is_over());
  if (!due || evaluated_ == state_.step) return {};
  const auto begin = Clock::now();
  const RolloutPlan plan = plans_->of_evaluation();
  std::int64_t drawn = 0;
  auto mine = scheduler_->play_batch(share_of(plan, exchange_.place()), stop);
  KW_TRY(const Played played,
         exchange_.together(exchange_parts(), plan, std::move(mine), drawn, stop));
  const double took = seconds_since(begin);
  evaluated_ = state_.step;
  evaluate_seconds_ = took;
  if (!group_.is_root()) return {};
  const Json row = evaluation_row(state_.step, played, took);
  KW_TRY_STATUS(rows_->add_episodes(played.records));
  KW_TRY_STATUS(rows_->add_evaluation(row));
  Json means = row;
  means.erase("tasks");
  KW_TRY_STATUS(events_->add(means, wall_time(), "held_out/"));
  observer_.evaluated(row);
  return {};
}

// Begins this step, and those that may be sampled with the weights of before it.
Status Run::begin_rollouts(const std::stop_token& stop) {
  const std::int64_t last = std::min(state_.step + settings_.max_staleness, settings_.steps - 1);
  for (std::int64_t step = state_.step; step <= last; ++step)
    if (!scheduler_->has_begun(step))
      KW_TRY_STATUS(scheduler_->begin(share_of(plans_->of_step(step), exchange_.place()), stop));
  return {};
}

Result<RlProgress> Run::step(const std::stop_token& stop) {
  const auto begin = Clock::now();
  const JudgeTimes judged = judges_->times();
  const double stood = standstill_.stood().count();
  scheduler_->take_times();  // those of an evaluation
  KW_TRY_STATUS(begin_rollouts(stop));
  auto mine = scheduler_->finish_batch(state_.step, stop);
  const SamplingTimes sampling = scheduler_->take_times();
  RlProgress out;
  out.drawn_tokens = sampling.tokens;
  KW_TRY(Played played, exchange_.together(exchange_parts(), plans_->of_step(state_.step),
                                           std::move(mine), out.drawn_tokens, stop));
  if (played.without_reward == played.episodes)
    return fail(ErrorCode::kUnavailable, "step {}: no episode has a reward: {}", state_.step + 1,
                played.failure);
  if (rows_) KW_TRY_STATUS(rows_->add_episodes(played.records));
  out.episodes = played.episodes;
  out.without_reward = played.without_reward;
  out.failure = played.failure;
  out.no_room = played.no_room;
  out.judges = settings_.judges;
  out.longest_judgement = played.longest_judgement;
  out.queued_seconds = played.queued_seconds;
  out.staleness = staleness_of(played.groups, state_.step);
  out.sample_seconds = sampling.sampled;
  out.wait_seconds = sampling.waited;
  const double stood_before = standstill_.stood().count();
  const auto trained = Clock::now();
  KW_TRY_STATUS(learn(played, out));
  if (!std::isfinite(out.result.loss) || !std::isfinite(out.result.gradient_norm))
    return fail(ErrorCode::kInvalidArgument,
                "step {}: the loss is {}, the gradient's norm {}: lower learning_rate, and resume",
                state_.step + 1, out.result.loss, out.result.gradient_norm);
  const double stood_after = standstill_.stood().count();
  out.train_seconds = seconds_since(trained) - (stood_after - stood_before);
  out.still_seconds = stood_after - stood;
  out.judge_seconds = judges_->times().any - judged.any;
  out.judgement_seconds = judges_->times().sum - judged.sum;
  const double took = seconds_since(begin);
  ++state_.step;
  state_.seconds += took;
  state_.tokens += out.result.tokens;
  state_.updates = *state_.updates + out.result.updates;
  publish_weights();
  out.step = state_.step;
  out.step_seconds = took;
  out.evaluate_seconds = std::exchange(evaluate_seconds_, 0);
  out.seconds = state_.seconds;
  out.peak_bytes = peak_bytes(models_->device());
  return out;
}

// Before rewards are made equal and groups left out: what failed is what was paid so.
Status Run::read_feedback(Played& played, RlProgress& out) const {
  if (settings_.feedback_coefficient == 0) return {};
  const std::string& source = settings_.feedback_source;
  KW_TRY(const FeedbackCounts counts,
         fill_teacher_contexts(played.groups, played.conversations, *chat_,
                               {source != "answer", source != "environment",
                                settings_.feedback_reward, settings_.max_tokens}));
  out.failed_answers = counts.failed;
  out.feedback_no_room = counts.no_room;
  return {};
}

Status Run::learn(Played& played, RlProgress& out) {
  const os::Standstill::Working working(standstill_);
  std::vector<rollout::Group>& groups = played.groups;
  out.sampled = episode_figures(groups);
  KW_TRY_STATUS(read_feedback(played, out));
  const SampleRows shown(groups, settings_.sample_rows);
  out.measurement_share = rollout::measurement_share(groups);
  if (settings_.merge_intervals) out.merged_rewards = rollout::merge_overlapping(groups);
  rollout::FilterSettings filter;
  // A teacher has something to say of every answer.
  filter.min_deviation = settings_.teacher.empty() ? settings_.min_deviation : 0;
  filter.keep_without_spread = settings_.learns_from_text();
  const rollout::FilterCounts counts = rollout::filter_groups(groups, filter);
  out.groups_without_spread = static_cast<std::int64_t>(counts.without_spread);
  out.broken_episodes = static_cast<std::int64_t>(counts.broken_trajectories);
  const double one = 1 / static_cast<double>(settings_.steps);
  out.learning_rate =
      settings_.learning_rate *
      rate_factor(settings_.schedule, std::min(static_cast<double>(state_.step) * one, 1.0), one);
  // Rewards teach nothing in the groups behind these.
  const auto rewarded_end =
      std::stable_partition(groups.begin(), groups.end(),
                            [](const rollout::Group& group) { return !group.without_spread; });
  const std::span rewarded(groups.begin(), rewarded_end);
  if (!rewarded.empty()) rollout::fill_advantages(rewarded, settings_.advantage_settings());
  out.advantages = advantage_figures(rewarded, out.sampled.tokens);
  samples_ = shown.rows(state_.step + 1, rewarded);
  const std::vector<PolicySample> samples =
      policy_samples(groups, settings_.observation_coefficient > 0);
  if (samples.empty()) return {};  // a step without an update
  const RlStepSettings step{settings_.loss_settings(),
                            settings_.updates,
                            seed_of(fmt::format("deal {} {}", settings_.seed, state_.step)),
                            out.learning_rate,
                            settings_.teacher.empty() ? 0 : settings_.teacher_coefficient,
                            settings_.teacher_loss(),
                            settings_.feedback_coefficient,
                            settings_.feedback_loss(),
                            settings_.observation_coefficient};
  RlParts parts = models_->parts(*optimizer_);
  parts.ranks = ranks_.get();
  parts.rest = [this] { standstill_.rest(); };
  out.result = rl_step(parts, samples, step);
  models_->follow_policy();
  return {};
}

// Rank 0 alone does so.
Status Run::log(const RlProgress& p) {
  if (!group_.is_root()) return {};
  const Json line = to_json(p);
  KW_TRY_STATUS(events_->add(line, wall_time()));
  KW_TRY_STATUS(rows_->add_step(line, samples_));
  observer_.stepped(p);
  return {};
}

Status Run::save() {
  // Weights of before this step drew these for later ones.
  KW_TRY(
      const JudgedAnswers ahead,
      exchange_.answers_of_all(scheduler_->answers_before(static_cast<std::int32_t>(state_.step))));
  saved_ = state_.step;
  if (!group_.is_root()) {
    optimizer_->give_state();
    return {};
  }
  state_.ahead = to_jsonl(ahead);
  // Not in the piece of work below: that may wait for a standstill, and this for its end.
  KW_TRY([[maybe_unused]] const fs::path before, writer_.finish());
  const os::Standstill::Working working(standstill_);
  return writer_.begin(state_, models_->weights(), *optimizer_, models_->average());
}

// What the environment's loss interrupts is made again: the steps before it are kept. With several
// ranks the others are still playing: what a checkpoint needs of them is not to be had.
Result<fs::path> Run::failed(Error error) {
  if (ranks_ || environment_->alive()) return tl::unexpected(std::move(error));
  if (state_.step != saved_) KW_TRY_STATUS(save());
  KW_TRY([[maybe_unused]] const fs::path last, writer_.finish());
  return tl::unexpected(std::move(error).with_context(
      fmt::format("step {} (the same command with --resume makes it again)", state_.step + 1)));
}

Result<fs::path> Run::train(const std::stop_token& stop) {
  bool is_saved = false;  // the state as it is
  while (true) {
    KW_TRY(const bool stops_here, exchange_.stops(stop.stop_requested(), state_.seconds));
    if (stops_here) break;
    const Status evaluated = evaluate(stop);
    if (!evaluated && evaluated.error().code() == ErrorCode::kCancelled) break;
    if (!evaluated) return failed(evaluated.error());
    if (is_over()) break;
    Result<RlProgress> progress = step(stop);
    if (!progress && progress.error().code() == ErrorCode::kCancelled) break;
    if (!progress) return failed(std::move(progress).error());
    KW_TRY_STATUS(log(*progress));
    is_saved = state_.step % settings_.save_every == 0;
    if (is_saved) KW_TRY_STATUS(save());
  }
  if (!is_saved) KW_TRY_STATUS(save());
  KW_TRY(const fs::path last, writer_.finish());
  KW_TRY_STATUS(agree(group_, {}));  // rank 0 has written: its failure would be all ranks'
  return group_.is_root() ? last : fs::path(settings_.run);
}

}  // namespace

Result<fs::path> run_rl(const RlSettings& settings, bool resume, const std::stop_token& stop,
                        RlObserver& observer, Group& group) {
  auto out = without_exceptions([&]() -> Result<fs::path> {
    KW_TRY(const std::unique_ptr<Run> run, Run::make(settings, resume, observer, stop, group));
    return run->train(stop);
  });
  if (!out) return tl::unexpected(group.end_with(out.error()));
  return out;
}

}  // namespace kw::train
