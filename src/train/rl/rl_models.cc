#include "train/rl/rl_models.h"

#include "train/run/teacher.h"

namespace kw::train {
namespace {

ModelSettings model_settings(const RlSettings& s) {
  ModelSettings out;
  out.model = s.model;
  out.new_weights = s.new_weights;
  out.seed = s.seed;
  out.max_tokens = s.max_tokens;
  out.device = s.device;
  out.lora = s.lora;
  out.by_engine = s.products == "engine";
  return out;
}

}  // namespace

Result<RlModels> RlModels::open(const RlSettings& settings,
                                const std::filesystem::path& checkpoint) {
  RlModels out(settings);
  KW_TRY(out.policy_, open_model(model_settings(settings), checkpoint));
  if (settings.kl != "none" || settings.has_feedback_weights()) {
    KW_TRY(out.reference_, open_reference(model_settings(settings)));
  }
  return out;
}

Status RlModels::open_teacher(const lm::Tokenizer& tokenizer) {
  if (settings_->teacher.empty()) return {};
  KW_TRY(reference_, train::open_teacher(settings_->teacher, {model_settings(*settings_),
                                                              weights().config(), tokenizer}));
  return {};
}

bool RlModels::has_average() const {
  return settings_->has_feedback_weights() && settings_->feedback_teacher == "average";
}

at::Tensor RlModels::average() const {
  return has_average() ? reference_->weights->masters() : at::Tensor();
}

void RlModels::publish_average() {
  if (has_average()) reference_->weights->publish();
}

void RlModels::follow_policy() {
  if (has_average()) reference_->weights->follow(weights(), settings_->feedback_average);
}

RlParts RlModels::parts(Optimizer& optimizer) const {
  RlParts out{weights(), *policy_.decoder, optimizer};
  if (settings_->kl != "none" || !settings_->teacher.empty()) {
    out.reference = reference_->decoder.get();
    out.reference_weights = reference_->weights.get();
  }
  if (settings_->has_feedback_weights()) {
    out.feedback_teacher = reference_->decoder.get();
    out.feedback_weights = reference_->weights.get();
  }
  out.head.chunk_tokens = head_chunk_tokens(weights().config().vocabulary, device().is_cuda());
  out.head.temperature = settings_->temperature;
  out.head.engine = policy_.decoder->engine_products();
  out.micro_tokens = settings_->micro_tokens;
  return out;
}

}  // namespace kw::train
