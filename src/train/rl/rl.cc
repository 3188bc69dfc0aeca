#include "train/rl/rl.h"

#include <algorithm>
#include <chrono>
#include <cmath>
#include <limits>
#include <memory>
#include <optional>
#include <utility>

#include "base/random.h"
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
#include "train/rl/rank_share.h"
#include "train/rl/rl_plan.h"
#include "train/rl/rl_rows.h"
#include "train/rl/sample_rows.h"
#include "train/rl/scheduler.h"
#include "train/run/checkpoint_folders.h"
#include "train/run/checkpoint_writer.h"
#include "train/run/device.h"
#include "train/run/event_file.h"
#include "train/run/open_model.h"
#include "train/run/run_folder.h"
#include "train/run/teacher.h"
#include "train/run/training_state.h"

namespace kw::train {
namespace {

namespace fs = std::filesystem;
using Clock = std::chrono::steady_clock;

double seconds_since(Clock::time_point begin) {
  return std::chrono::duration<double>(Clock::now() - begin).count();
}

ModelSettings model_settings(const RlSettings& s) {
  ModelSettings out;
  out.model = s.model;
  out.new_weights = s.new_weights;
  out.seed = s.seed;
  out.max_tokens = s.max_tokens;
  out.device = s.device;
  out.lora = s.lora;
  if (s.products == "engine") out.engine = lm::cuda::matmul_choice_from_string(s.matmuls);
  return out;
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
      : settings_(settings), observer_(observer), group_(group) {}
  Status open_parts(const fs::path& checkpoint);
  Status open_environment(const std::stop_token& stop);
  Status open_scheduler();
  Status open_files(bool resume, std::size_t checkpoints);
  Status begin_alike();
  Status go_on_from(const fs::path& checkpoint);

  RankPlace place() const { return {group_.rank(), group_.size()}; }
  // Collective: whether a rank was asked to stop. All have rank 0's time then.
  Result<bool> stops(const std::stop_token& stop);
  // What came of all episodes of a plan, of which this rank has played its share. drawn: tokens of
  // answers that were sampled meanwhile.
  Result<Played> together(const RolloutPlan& whole, Result<std::unique_ptr<RolloutBatch>> mine,
                          std::int64_t& drawn, const std::stop_token& stop);
  Result<JudgedAnswers> answers_ahead();

  std::vector<std::string> tasks_of(std::int64_t step) const;
  Status begin_rollouts(const std::stop_token& stop);
  Result<RlProgress> step(const std::stop_token& stop);
  Status learn(Played& played, RlProgress& out);
  Status read_feedback(Played& played, RlProgress& out) const;
  RlParts parts();
  bool has_average() const {
    return settings_.has_feedback_weights() && settings_.feedback_teacher == "average";
  }
  at::Tensor average() const {
    return has_average() ? reference_->weights->masters() : at::Tensor();
  }
  // The next sample is of the weights as they are now, whose version is the number of steps done.
  void publish_weights() { engine_->weights_changed(static_cast<std::int32_t>(state_.step)); }
  SamplerSettings sampler_of(const lm::SamplingSettings& sampling, std::uint64_t seed) const {
    return {sampling, seed, settings_.answer_tokens, {}};
  }
  RolloutPlan plan_of(std::int64_t step) const;
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
  std::unique_ptr<Collectives> ranks_;  // null: one rank
  OpenModel policy_;
  std::optional<OpenModel> reference_;  // the weights at the start, their average, or the teacher
  std::unique_ptr<Optimizer> optimizer_;
  std::unique_ptr<lm::Engine> engine_;
  std::optional<lm::Tokenizer> tokenizer_;
  std::optional<ChatEncoder> chat_;
  os::Standstill standstill_{[this] { wait_for(policy_.weights->device()); }};
  std::unique_ptr<environment::Environment> environment_;
  std::optional<Scheduler> scheduler_;
  std::optional<Judges> judges_;  // behind the environment: judgements use it
  std::optional<RlRows> rows_;    // of rank 0, as events_
  std::optional<EventFile> events_;
  std::vector<std::string> tasks_;
  TrainingState state_;
  std::vector<Json> samples_;  // rows of the latest step
  CheckpointWriter writer_{settings_.run, settings_.model, settings_.keep,
                           [this](const fs::path& path) { observer_.saved(path); }, &standstill_};
  std::int64_t saved_ = -1;      // the step of the newest checkpoint; -1: none
  std::int64_t evaluated_ = -1;  // steps before the latest evaluation; -1: there is none
  double evaluate_seconds_ = 0;  // of an evaluation since the latest step
};

Status Run::open_parts(const fs::path& checkpoint) {
  KW_TRY(policy_, open_model(model_settings(settings_), checkpoint));
  if (settings_.kl != "none" || settings_.has_feedback_weights()) {
    KW_TRY(reference_, open_reference(model_settings(settings_)));
  }
  if (group_.size() > 1) {
    KW_TRY(ranks_, make_collectives(group_, policy_.weights->device()));
  }
  optimizer_ =
      std::make_unique<Optimizer>(*policy_.weights, optimizer_settings(settings_), ranks_.get());
  KW_TRY(engine_, make_policy_engine(*policy_.weights, settings_));
  KW_TRY(lm::Tokenizer tokenizer, lm::Tokenizer::load(settings_.model));
  tokenizer_.emplace(std::move(tokenizer));
  chat_.emplace(*tokenizer_);
  const lm::ModelConfig& config = policy_.weights->config();
  for (const auto& [key, top_k] : {std::pair("teacher_top_k", settings_.teacher_top_k),
                                   std::pair("feedback_top_k", settings_.feedback_top_k)})
    if (top_k > config.vocabulary)
      return fail(ErrorCode::kInvalidArgument, "{}: {} is over {}, the tokens of the vocabulary",
                  key, top_k, config.vocabulary);
  if (settings_.teacher.empty()) return {};
  KW_TRY(reference_,
         open_teacher(settings_.teacher, {model_settings(settings_), config, *tokenizer_}));
  return {};
}

Status Run::open_environment(const std::stop_token& stop) {
  KW_TRY(environment_, make_environment(
                           settings_, standstill_,
                           [this](const std::string& line) { observer_.said(line); }, stop));
  tasks_ = environment_->tasks();
  for (const std::string& task : settings_.held_out)
    if (std::erase(tasks_, task) == 0)
      return fail(ErrorCode::kInvalidArgument,
                  "held_out: {:?} is no task of the environment, or stands there twice", task);
  std::sort(tasks_.begin(), tasks_.end());  // a record may have them in another order
  if (tasks_.empty())
    return fail(ErrorCode::kInvalidArgument, "environment: {} has no task to train on",
                settings_.environment);
  return agree(group_, {{"tasks of the environment", tasks_.size()}});
}

Status Run::open_scheduler() {
  KW_TRY(const JudgedAnswers all, judged_answers_from_jsonl(state_.ahead, "ahead.jsonl"));
  SchedulerSettings settings;
  settings.staleness = settings_.max_staleness;
  KW_TRY(settings.turns, turns_of(settings_));
  settings.tries = static_cast<int>(settings_.tries);
  judges_.emplace(static_cast<int>(settings_.judges));
  scheduler_.emplace(SchedulerParts{*environment_, *chat_, *engine_, *judges_, standstill_},
                     settings, share_of(all, settings_.prompts, settings_.samples, place()));
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
  KW_TRY_STATUS(load_training_state(checkpoint, state_, *policy_.weights, *optimizer_, average()));
  if (has_average()) reference_->weights->publish();
  saved_ = state_.step;
  if (group_.is_root()) observer_.said(fmt::format("going on from {}", checkpoint.string()));
  return {};
}

// Of rank 0.
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
  if (!ranks_) return {};
  optimizer_->begin_alike();
  KW_TRY(const std::vector<std::string> all, group_.exchange(std::to_string(evaluated_)));
  evaluated_ = std::stoll(all.front());
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

Result<bool> Run::stops(const std::stop_token& stop) {
  if (!ranks_) return stop.stop_requested();
  KW_TRY(const std::vector<std::string> all,
         group_.exchange(Json{stop.stop_requested(), state_.seconds}.dump()));
  bool out = false;
  for (const std::string& one : all) out = out || Json::parse(one)[0].get<bool>();
  state_.seconds = Json::parse(all.front())[1].get<double>();
  return out;
}

Result<Played> Run::together(const RolloutPlan& whole, Result<std::unique_ptr<RolloutBatch>> mine,
                             std::int64_t& drawn, const std::stop_token& stop) {
  if (!mine && (!ranks_ || mine.error().code() != ErrorCode::kCancelled))
    return tl::unexpected(std::move(mine).error());
  if (!ranks_) return (*mine)->played();
  ShareReport report;
  report.stopped = !mine;
  report.drawn_tokens = drawn;
  if (mine) {
    const Played share = (*mine)->played();
    report.longest_judgement = share.longest_judgement;
    report.queued_seconds = share.queued_seconds;
    (*mine)->add_answers_before(std::numeric_limits<std::int32_t>::max(), report.answers);
  }
  KW_TRY(const std::vector<std::string> all, group_.exchange(to_text(report)));
  ShareReport sum;
  for (std::size_t rank = 0; rank < all.size(); ++rank) {
    KW_TRY(ShareReport one, share_report(all[rank], fmt::format("rank {}", rank)));
    sum.stopped = sum.stopped || one.stopped;
    sum.longest_judgement = std::max(sum.longest_judgement, one.longest_judgement);
    sum.queued_seconds += one.queued_seconds / static_cast<double>(all.size());
    sum.drawn_tokens += one.drawn_tokens;
    sum.answers.merge(one.answers);
  }
  if (sum.stopped) return fail(ErrorCode::kCancelled, "interrupted");
  KW_TRY(Played out, played_from(*environment_, *chat_, engine_->limits().context, whole,
                                 std::move(sum.answers), stop));
  out.longest_judgement = sum.longest_judgement;
  out.queued_seconds = sum.queued_seconds;
  drawn = sum.drawn_tokens;
  return out;
}

// Each pass over the tasks has an order of its own.
std::vector<std::string> Run::tasks_of(std::int64_t step) const {
  std::vector<std::string> out;
  std::vector<std::string> order;
  std::uint64_t pass = 0;
  for (std::int64_t i = 0; i < settings_.prompts; ++i) {
    const auto number = static_cast<std::uint64_t>(step * settings_.prompts + i);
    if (order.empty() || number / tasks_.size() != pass) {
      pass = number / tasks_.size();
      order = tasks_;
      Rng rng = Rng::at(settings_.seed, pass);
      for (std::size_t j = order.size(); j > 1; --j) std::swap(order[j - 1], order[rng.below(j)]);
    }
    out.push_back(order[number % tasks_.size()]);
  }
  return out;
}

RolloutPlan Run::plan_of(std::int64_t step) const {
  RolloutPlan out;
  out.step = step;
  out.tasks = tasks_of(step);
  out.samples = settings_.samples;
  out.first_episode = static_cast<std::uint64_t>(step * settings_.prompts * settings_.samples);
  out.sampler = sampler_of(settings_.sampling_settings(), settings_.seed);
  return out;
}

// The file says what has been evaluated, so that a resumed run evaluates what is missing. Draws
// have a seed of their own and the same numbers each time: nothing of the training depends on them.
Status Run::evaluate(const std::stop_token& stop) {
  const bool due =
      settings_.eval_every > 0 && (state_.step % settings_.eval_every == 0 || is_over());
  if (!due || evaluated_ == state_.step) return {};
  const auto begin = Clock::now();
  RolloutPlan plan;
  plan.tasks = settings_.held_out;
  plan.samples = settings_.eval_samples;
  plan.sampler = sampler_of({.temperature = settings_.eval_temperature},
                            seed_of(fmt::format("evaluate {}", settings_.seed)));
  std::int64_t drawn = 0;
  KW_TRY(const Played played,
         together(plan, scheduler_->play_batch(share_of(plan, place()), stop), drawn, stop));
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
      KW_TRY_STATUS(scheduler_->begin(share_of(plan_of(step), place()), stop));
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
  KW_TRY(Played played, together(plan_of(state_.step), std::move(mine), out.drawn_tokens, stop));
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
  out.peak_bytes = peak_bytes(policy_.weights->device());
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

RlParts Run::parts() {
  RlParts out{*policy_.weights, *policy_.decoder, *optimizer_};
  if (settings_.kl != "none" || !settings_.teacher.empty()) {
    out.reference = reference_->decoder.get();
    out.reference_weights = reference_->weights.get();
  }
  if (settings_.has_feedback_weights()) {
    out.feedback_teacher = reference_->decoder.get();
    out.feedback_weights = reference_->weights.get();
  }
  out.head.chunk_tokens =
      head_chunk_tokens(policy_.weights->config().vocabulary, policy_.weights->device().is_cuda());
  out.head.temperature = settings_.temperature;
  out.head.engine = policy_.decoder->engine_products();
  out.micro_tokens = settings_.micro_tokens;
  out.ranks = ranks_.get();
  out.rest = [this] { standstill_.rest(); };
  return out;
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
  out.result = rl_step(parts(), samples, step);
  if (has_average()) reference_->weights->follow(*policy_.weights, settings_.feedback_average);
  return {};
}

// Of rank 0.
Status Run::log(const RlProgress& p) {
  if (!group_.is_root()) return {};
  const Json line = to_json(p);
  KW_TRY_STATUS(events_->add(line, wall_time()));
  KW_TRY_STATUS(rows_->add_step(line, samples_));
  observer_.stepped(p);
  return {};
}

// Of all ranks, what weights of before this step drew for later ones.
Result<JudgedAnswers> Run::answers_ahead() {
  JudgedAnswers out = scheduler_->answers_before(static_cast<std::int32_t>(state_.step));
  if (!ranks_) return out;
  KW_TRY(const std::vector<std::string> all, group_.exchange(to_jsonl(out)));
  for (std::size_t rank = 0; rank < all.size(); ++rank) {
    KW_TRY(JudgedAnswers one, judged_answers_from_jsonl(all[rank], fmt::format("rank {}", rank)));
    out.merge(one);
  }
  return out;
}

Status Run::save() {
  KW_TRY(const JudgedAnswers ahead, answers_ahead());
  saved_ = state_.step;
  if (!group_.is_root()) {
    optimizer_->give_state();
    return {};
  }
  state_.ahead = to_jsonl(ahead);
  // Not in the piece of work below: that may wait for a standstill, and this for its end.
  KW_TRY([[maybe_unused]] const fs::path before, writer_.finish());
  const os::Standstill::Working working(standstill_);
  return writer_.begin(state_, *policy_.weights, *optimizer_, average());
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
    KW_TRY(const bool stops_here, stops(stop));
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
