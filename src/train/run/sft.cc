#include "train/run/sft.h"

#include <algorithm>
#include <array>
#include <chrono>
#include <cmath>
#include <deque>
#include <fstream>
#include <limits>
#include <memory>
#include <utility>

#include <ATen/ATen.h>

#include "base/text.h"
#include "train/data/share.h"
#include "train/data/step_drawer.h"
#include "train/model/distill_head.h"
#include "train/parallel/agreement.h"
#include "train/parallel/collectives.h"
#include "train/run/checkpoint_folders.h"
#include "train/run/checkpoint_writer.h"
#include "train/run/device.h"
#include "train/run/event_file.h"
#include "train/run/open_model.h"
#include "train/run/profile.h"
#include "train/run/run_folder.h"
#include "train/run/sft_plan.h"
#include "train/run/teacher.h"
#include "train/run/training_state.h"

namespace kw::train {
namespace {

namespace fs = std::filesystem;
using Clock = std::chrono::steady_clock;

double seconds_since(Clock::time_point begin) {
  return std::chrono::duration<double>(Clock::now() - begin).count();
}

Result<std::vector<Source>> open_sources(const SftSettings& settings) {
  std::vector<Source> out;
  for (std::size_t i = 0; i < settings.data.size(); ++i) {
    KW_TRY(RowFile rows, RowFile::open(settings.data[i]));
    out.push_back({std::move(rows), settings.data_weights.empty() ? 1 : settings.data_weights[i]});
  }
  return out;
}

// Everything of a run in one place that does not move.
class Run {
 public:
  // distillation: null, or what `settings` are the rows' part of.
  static Result<std::unique_ptr<Run>> make(const SftSettings& settings,
                                           const DistillSettings* distillation, bool resume,
                                           SftObserver& observer, Group& group);
  Result<fs::path> train(const std::atomic<bool>& stop);

 private:
  Run(const SftSettings& settings, const DistillSettings* distillation, SftObserver& observer,
      Group& group)
      : settings_(settings), observer_(observer), group_(group) {
    if (distillation != nullptr) distillation_.emplace(*distillation);
  }
  ModelSettings model_settings(const lm::ModelConfig& config) const;
  Status open_parts(const fs::path& checkpoint);
  Weights& weights() { return *model_.weights; }
  Status open_data();
  Status open_teacher();
  Status open_validation();
  Json stored_settings() const {
    return distillation_ ? to_json(*distillation_) : to_json(settings_);
  }
  Status go_on_from(const fs::path& checkpoint);

  Status launch();
  Status finish(const std::atomic<bool>& stop);
  Result<double> agree_on_step(double seconds, bool stop);
  Status log(const SftProgress& progress);
  Status save();
  Status open_log(bool resume, std::size_t checkpoints);
  double progress_share() const;
  bool is_over() const;
  std::int64_t launched() const { return state_.step + static_cast<std::int64_t>(ahead_.size()); }
  bool is_due(std::int64_t every) const { return launched() % every == 0; }
  // Whether the next step may be launched while the last one is being computed.
  bool runs_ahead();
  SftParts parts() {
    return {weights(),
            *model_.decoder,
            *optimizer_,
            {.chunk_tokens = head_chunk_},
            settings_.micro_tokens,
            teacher_ ? &*teacher_ : nullptr,
            ranks_.get()};
  }
  fs::path folder() const { return settings_.run; }

  const SftSettings settings_;
  std::optional<DistillSettings> distillation_;
  SftObserver& observer_;
  Group& group_;
  std::unique_ptr<Collectives> ranks_;  // null: one rank
  OpenModel model_;
  std::optional<OpenModel> teacher_model_;
  std::optional<Teacher> teacher_;  // over teacher_model_
  std::unique_ptr<Optimizer> optimizer_;
  std::optional<lm::Tokenizer> tokenizer_;
  std::optional<RowEncoder> encoder_;
  std::optional<StepDrawer> steps_;
  std::vector<Sample> validation_;                       // this rank's share
  double validation_bytes_ = 0, validation_weight_ = 0;  // of all ranks
  std::optional<EventFile> events_;
  TrainingState state_;  // of the steps whose results are known
  // Launched is what a step was launched with, until its result is known.
  struct Launched {
    LaunchedStep step;
    StreamPosition position;  // where the one after it begins
    double learning_rate = 0;
  };
  std::deque<Launched> ahead_;
  Clock::time_point counted_to_;  // of the time that state_.seconds has
  bool stops_ = false;            // a rank was asked to
  double flop_per_token_ = 0;
  std::int64_t head_chunk_ = 0;
  CheckpointWriter writer_{settings_.run, settings_.model, settings_.keep,
                           [this](const fs::path& path) { observer_.saved(path); }};
};

ModelSettings Run::model_settings(const lm::ModelConfig& config) const {
  ModelSettings model;
  model.model = settings_.model;
  model.new_weights = settings_.new_weights;
  model.seed = settings_.seed;
  model.max_tokens = settings_.max_tokens;
  model.recompute_layers = recomputed_layers(settings_, config.layers);
  model.device = settings_.device;
  model.dtype = settings_.dtype;
  model.lora = settings_.lora;
  model.rank = group_.rank();
  model.ranks = group_.size();
  model.muon = settings_.muon.is_chosen();
  return model;
}

Status Run::open_parts(const fs::path& checkpoint) {
  KW_TRY(const lm::ModelConfig config, lm::read_model_config(settings_.model));
  KW_TRY(model_, open_model(model_settings(config), checkpoint));
  const bool is_gpu = weights().device().is_cuda();
  head_chunk_ = settings_.head_chunk > 0 ? settings_.head_chunk
                : distillation_          ? distill_chunk_tokens(config.vocabulary, is_gpu)
                                         : head_chunk_tokens(config.vocabulary, is_gpu);
  if (group_.size() > 1) {
    KW_TRY(ranks_, make_collectives(group_, weights().device()));
  }
  optimizer_ = std::make_unique<Optimizer>(weights(), optimizer_settings(settings_), ranks_.get());
  return {};
}

Status Run::open_data() {
  KW_TRY(lm::Tokenizer tokenizer, lm::Tokenizer::load(settings_.model));
  tokenizer_.emplace(std::move(tokenizer));
  KW_TRY(RowEncoder encoder, RowEncoder::make(*tokenizer_, settings_.prompt_weight));
  encoder_.emplace(std::move(encoder));
  KW_TRY(std::vector<Source> sources, open_sources(settings_));
  std::vector<std::size_t> rows;
  for (const Source& one : sources) rows.push_back(one.rows.size());
  KW_TRY_STATUS(agree(group_, {{"rows of data", rows}}));
  KW_TRY(Stream stream, Stream::make(std::move(sources), *encoder_,
                                     {settings_.seed, settings_.shuffle, settings_.max_tokens}));
  steps_.emplace(std::move(stream),
                 StepSettings{settings_.step_tokens, settings_.micro_tokens,
                              weights().config().vocabulary, group_.rank(), group_.size()});
  state_.position = steps_->position();
  return open_validation();
}

Status Run::open_teacher() {
  if (!distillation_) return {};
  const lm::ModelConfig& config = weights().config();
  if (distillation_->top_k > config.vocabulary)
    return fail(ErrorCode::kInvalidArgument, "top_k: {} is over {}, the tokens of the vocabulary",
                distillation_->top_k, config.vocabulary);
  KW_TRY(teacher_model_, train::open_teacher(distillation_->teacher,
                                             {model_settings(config), config, *tokenizer_}));
  teacher_.emplace(
      Teacher{*teacher_model_->weights, *teacher_model_->decoder, distillation_->loss()});
  return {};
}

Status Run::open_validation() {
  if (settings_.validation.empty()) return {};
  KW_TRY(const RowFile rows, RowFile::open(settings_.validation));
  for (std::size_t i = 0;
       i < std::min(rows.size(), static_cast<std::size_t>(settings_.validation_rows)); ++i) {
    KW_TRY(const Json row, rows.read(i));
    auto sample = encoder_->encode(row);
    if (!sample) return tl::unexpected(std::move(sample).error().with_context(rows.where(i)));
    const auto size = static_cast<std::int64_t>(sample->size());
    if (size < 2 || size > settings_.max_tokens) continue;
    KW_TRY_STATUS(check_tokens(*sample, weights().config().vocabulary));
    for (std::size_t t = 1; t < sample->size(); ++t)
      if (sample->weights[t] > 0)
        validation_bytes_ += static_cast<double>(
            tokenizer_->token_bytes(static_cast<lm::TokenId>(sample->tokens[t])).size());
    validation_.push_back(std::move(*sample));
  }
  validation_weight_ = weight_of(validation_);
  validation_ = share_of(validation_, group_.rank(), group_.size());
  if (validation_bytes_ > 0) return {};
  return fail(ErrorCode::kInvalidArgument,
              "validation: no row of {} has up to {} tokens, some of them with a weight",
              settings_.validation, settings_.max_tokens);
}

Status Run::go_on_from(const fs::path& checkpoint) {
  KW_TRY(state_, read_training_state(checkpoint, settings_.data.size()));
  const std::string key = distillation_ ? differs_for_resume(state_.settings, *distillation_)
                                        : differs_for_resume(state_.settings, settings_);
  if (!key.empty())
    return fail(ErrorCode::kInvalidArgument,
                "{}: differs from the run that is resumed ({} there); start another run, or set it "
                "back",
                key, state_.settings.value(key, Json()).dump());
  KW_TRY_STATUS(load_training_state(checkpoint, state_, weights(), *optimizer_));
  steps_->seek(state_.position);
  if (group_.is_root()) observer_.said(fmt::format("going on from {}", checkpoint.string()));
  return {};
}

// Rank 0 alone does so.
Status Run::open_log(bool resume, std::size_t checkpoints) {
  if (!group_.is_root()) return {};
  KW_TRY_STATUS(
      prepare_run_folder(settings_.run, resume, checkpoints, state_.step, stored_settings()));
  KW_TRY(EventFile events, EventFile::begin(settings_.run, resume, state_.step, wall_time()));
  events_.emplace(std::move(events));
  return {};
}

Status Run::save() {
  if (group_.is_root()) return writer_.begin(state_, weights(), *optimizer_);
  optimizer_->give_state();
  return {};
}

Result<std::unique_ptr<Run>> Run::make(const SftSettings& settings,
                                       const DistillSettings* distillation, bool resume,
                                       SftObserver& observer, Group& group) {
  set_threads(settings.threads, group.launch().local_size);
  KW_TRY(const std::vector<fs::path> all, checkpoints_in(settings.run));
  std::unique_ptr<Run> run(new Run(settings, distillation, observer, group));
  Json alike = run->stored_settings();
  alike["--resume"] = resume;
  alike["newest checkpoint"] = all.empty() ? "" : all.back().filename().string();
  KW_TRY_STATUS(agree(group, alike));
  KW_TRY_STATUS(run->open_parts(resume && !all.empty() ? all.back() : fs::path()));
  KW_TRY_STATUS(run->open_data());
  KW_TRY_STATUS(run->open_teacher());
  if (resume && !all.empty()) KW_TRY_STATUS(run->go_on_from(all.back()));
  run->optimizer_->begin_alike();
  KW_TRY_STATUS(run->open_log(resume, all.size()));
  run->state_.settings = run->stored_settings();
  const lm::ModelConfig& config = run->weights().config();
  const std::int64_t sequence = settings.max_tokens / 2;
  const SftPlan plan =
      distillation == nullptr
          ? plan_sft(config, settings, false, sequence)
          : plan_distill(config, run->teacher_->weights.config(), *distillation, false, sequence);
  run->flop_per_token_ = plan.flop_per_token;
  return run;
}

double Run::progress_share() const {
  const double share = settings_.seconds > 0
                           ? state_.seconds / settings_.seconds
                           : static_cast<double>(launched()) / static_cast<double>(settings_.steps);
  return std::clamp(share, 0.0, 1.0);
}

bool Run::is_over() const {
  return settings_.seconds > 0 ? state_.seconds >= settings_.seconds
                               : launched() >= settings_.steps;
}

// What is made of the weights between two steps needs those of the last one. All ranks say the
// same, as they go by what they have agreed on.
bool Run::runs_ahead() {
  return weights().device().is_cuda() && !is_over() && !is_due(settings_.save_every) &&
         !(validation_weight_ > 0 && is_due(settings_.validate_every));
}

// Puts the next step on the device.
Status Run::launch() {
  if (ahead_.empty()) counted_to_ = Clock::now();
  KW_TRY(const DrawnStep drawn, steps_->next());
  const double one = settings_.seconds > 0 ? 0 : 1 / static_cast<double>(settings_.steps);
  const double learning_rate =
      settings_.learning_rate * rate_factor(settings_.schedule, progress_share(), one);
  ahead_.push_back({launch_sft_step(parts(), drawn, learning_rate), drawn.position, learning_rate});
  return {};
}

// The seconds that a step took by rank 0's clock, by which schedules and ends go; and all stop when
// one of them was told to. Not over the device, which computes the next step.
Result<double> Run::agree_on_step(double seconds, bool stop) {
  const Json mine = {{"seconds", seconds}, {"stop", stop}};
  KW_TRY(const std::vector<std::string> all, group_.exchange(mine.dump()));
  double took = seconds;
  for (std::size_t rank = 0; rank < all.size(); ++rank) {
    KW_TRY(const Json said, parse_json(all[rank]));
    KW_TRY(ObjectReader reader, ObjectReader::make(said, fmt::format("rank {}", rank)));
    KW_TRY(const bool stops, reader.boolean("stop"));
    stops_ = stops_ || stops;
    if (rank > 0) continue;
    KW_TRY(took, reader.number("seconds"));
  }
  return took;
}

// Waits for the oldest step that was launched, and says what came of it.
Status Run::finish(const std::atomic<bool>& stop) {
  Launched done = std::move(ahead_.front());
  ahead_.pop_front();
  SftProgress out;
  out.result = done.step.wait();
  out.learning_rate = done.learning_rate;
  KW_TRY(const double took, agree_on_step(seconds_since(counted_to_), stop));
  counted_to_ = Clock::now();
  if (!std::isfinite(out.result.loss) || !std::isfinite(out.result.gradient_norm))
    return fail(ErrorCode::kInvalidArgument,
                "step {}: the loss is {}, the gradient's norm {}: lower learning_rate, and resume",
                state_.step + 1, out.result.loss, out.result.gradient_norm);
  state_.position = done.position;
  ++state_.step;
  state_.seconds += took;
  state_.tokens += out.result.tokens;
  out.step = state_.step;
  out.seconds = state_.seconds;
  out.tokens_per_second = static_cast<double>(out.result.tokens) / took;
  out.flop_per_second = out.tokens_per_second * flop_per_token_;
  out.seconds_left = settings_.seconds > 0
                         ? settings_.seconds - state_.seconds
                         : static_cast<double>(settings_.steps - state_.step) * took;
  out.too_long = done.position.too_long;
  out.peak_bytes = peak_bytes(weights().device());
  const bool validates = ahead_.empty() && (is_due(settings_.validate_every) || is_over());
  if (validation_weight_ > 0 && validates) {
    const HeldOutLoss loss = held_out_loss(parts(), validation_, validation_weight_);
    out.validation_loss = loss.nats_per_token;
    out.validation_nats_per_byte = loss.nats / validation_bytes_;
    out.validation_divergence = loss.divergence;
  }
  return log(out);
}

// Rank 0 alone does so.
Status Run::log(const SftProgress& p) {
  if (!group_.is_root()) return {};
  Json line = {{"step", p.step},
               {"loss", p.result.loss},
               {"gradient_norm", p.result.gradient_norm},
               {"learning_rate", p.learning_rate},
               {"tokens", p.result.tokens},
               {"weight", p.result.weight},
               {"micro_batches", p.result.micro_batches},
               {"tokens_per_second", p.tokens_per_second},
               {"flop_per_second", p.flop_per_second},
               {"seconds", p.seconds},
               {"too_long", p.too_long}};
  if (p.result.divergence) {
    line["divergence"] = *p.result.divergence;
    line["cross_entropy"] = *p.result.cross_entropy;
  }
  if (p.peak_bytes > 0) line["peak_bytes"] = p.peak_bytes;
  if (p.validation_loss) {
    line["validation_loss"] = *p.validation_loss;
    line["validation_nats_per_byte"] = *p.validation_nats_per_byte;
  }
  if (p.validation_divergence) line["validation_divergence"] = *p.validation_divergence;
  KW_TRY_STATUS(events_->add(line, wall_time()));
  std::ofstream file(folder() / "metrics.jsonl", std::ios::app);
  file << line.dump() << "\n" << std::flush;
  if (!file)
    return fail(ErrorCode::kResourceExhausted, "cannot write {}",
                (folder() / "metrics.jsonl").string());
  observer_.stepped(p);
  return {};
}

Result<fs::path> Run::train(const std::atomic<bool>& stop) {
  bool is_saved = false;  // the state as it is
  Profile profile(group_.is_root() ? settings_.profile : "", weights().device());
  for (std::int64_t steps = 0; !ahead_.empty() || (!is_over() && !stops_); ++steps) {
    profile.at_step(steps);
    const Status launched = is_over() || stops_ ? Status() : launch();
    const bool goes_on = launched && runs_ahead() && !stops_;
    while (ahead_.size() > (goes_on ? 1 : 0)) KW_TRY_STATUS(finish(stop));
    KW_TRY_STATUS(launched);
    is_saved = ahead_.empty() && is_due(settings_.save_every);
    if (is_saved) KW_TRY_STATUS(save());
  }
  profile.at_step(std::numeric_limits<std::int64_t>::max());
  if (!is_saved) KW_TRY_STATUS(save());
  KW_TRY(const fs::path last, writer_.finish());
  KW_TRY_STATUS(agree(group_, {}));  // rank 0 has written: its failure would be all ranks'
  return group_.is_root() ? last : folder();
}

// What --plan prints; arguments as of Run::make.
Result<std::string> describe_run(const SftSettings& settings, const DistillSettings* distillation,
                                 int ranks) {
  return without_exceptions([&]() -> Result<std::string> {
    set_threads(settings.threads, ranks);
    KW_TRY(const lm::ModelConfig config, lm::read_model_config(settings.model));
    KW_TRY(const at::Device device, device_of(settings.device));
    const at::ScalarType dtype = dtype_of(settings.dtype, device);
    const bool narrow = dtype != at::kFloat;
    const std::int64_t sequence = settings.max_tokens / 2;
    KW_TRY(const LoraSettings lora, with_shape_of_adapter(settings.lora));
    SftPlan plan;
    if (distillation == nullptr) {
      SftSettings planned = settings;
      planned.lora = lora;
      plan = plan_sft(config, planned, narrow, sequence);
    } else {
      DistillSettings planned = *distillation;
      planned.rows.lora = lora;
      auto teacher = lm::read_model_config(distillation->teacher);
      if (!teacher) return tl::unexpected(std::move(teacher).error().with_context("teacher"));
      plan = plan_distill(config, *teacher, planned, narrow, sequence);
    }
    return to_text(plan_of_rank(plan, ranks), settings,
                   measured_rate(device, dtype, config.hidden) / 2);
  });
}

Result<fs::path> run_rows(const SftSettings& settings, const DistillSettings* distillation,
                          bool resume, const std::atomic<bool>& stop, SftObserver& observer,
                          Group& group) {
  auto out = without_exceptions([&]() -> Result<fs::path> {
    KW_TRY(const std::unique_ptr<Run> run,
           Run::make(settings, distillation, resume, observer, group));
    return run->train(stop);
  });
  if (!out) return tl::unexpected(group.end_with(out.error()));
  return out;
}

}  // namespace

Result<fs::path> run_sft(const SftSettings& settings, bool resume, const std::atomic<bool>& stop,
                         SftObserver& observer, Group& group) {
  return run_rows(settings, nullptr, resume, stop, observer, group);
}

Result<fs::path> run_distill(const DistillSettings& settings, bool resume,
                             const std::atomic<bool>& stop, SftObserver& observer, Group& group) {
  return run_rows(settings.rows, &settings, resume, stop, observer, group);
}

Result<std::string> describe_sft(const SftSettings& settings, int ranks) {
  return describe_run(settings, nullptr, ranks);
}

Result<std::string> describe_distill(const DistillSettings& settings, int ranks) {
  return describe_run(settings.rows, &settings, ranks);
}

}  // namespace kw::train
