#include "train/loss/loss_settings.h"

#include <cmath>

namespace kw::train {
namespace {

bool is_ratio_loss(PolicyLoss loss) {
  return loss == PolicyLoss::kPpo || loss == PolicyLoss::kCispo || loss == PolicyLoss::kGspo;
}

Status check_correction(const CorrectionSettings& c, PolicyLoss loss) {
  if (c.mode == CorrectionMode::kBypass && is_ratio_loss(loss) &&
      c.importance != ImportanceLevel::kNone)
    return fail(ErrorCode::kInvalidArgument,
                "correction.importance: {} already has the ratio to the sampler in bypass mode; "
                "weights would count it twice",
                to_string(loss));
  if (c.mode == CorrectionMode::kNone && c.importance != ImportanceLevel::kNone)
    return fail(ErrorCode::kInvalidArgument,
                "correction.importance: expected none without a correction.mode");
  if (!(c.importance_cap > 0))
    return fail(ErrorCode::kInvalidArgument, "correction.importance_cap: expected over 0, not {}",
                c.importance_cap);
  if (c.geometric_low.has_value() != c.geometric_high.has_value() ||
      (c.geometric_low && !(*c.geometric_low > 0 && *c.geometric_low <= *c.geometric_high)))
    return fail(ErrorCode::kInvalidArgument,
                "correction.geometric_low, geometric_high: expected both, 0 < low <= high");
  if (c.max_absolute && !(*c.max_absolute >= 0))
    return fail(ErrorCode::kInvalidArgument, "correction.max_absolute: expected 0 or more, not {}",
                *c.max_absolute);
  if (c.veto && !(*c.veto > 0))
    return fail(ErrorCode::kInvalidArgument, "correction.veto: expected over 0, not {}", *c.veto);
  return {};
}

}  // namespace

Status check(const LossSettings& s) {
  if (!(s.clip_low >= 0 && s.clip_low <= 1))
    return fail(ErrorCode::kInvalidArgument, "clip_low: expected 0 to 1, not {}", s.clip_low);
  if (!(s.clip_high >= 0) || !std::isfinite(s.clip_high))
    return fail(ErrorCode::kInvalidArgument, "clip_high: expected 0 or more, not {}", s.clip_high);
  if (s.dual_clip && !(*s.dual_clip > 1))
    return fail(ErrorCode::kInvalidArgument, "dual_clip: expected over 1, not {}", *s.dual_clip);
  if (s.aggregation == Aggregation::kConstant && !(s.constant_length > 0))
    return fail(ErrorCode::kInvalidArgument,
                "constant_length: expected over 0 with the aggregation constant, not {}",
                s.constant_length);
  if (!std::isfinite(s.kl_coefficient) || !std::isfinite(s.entropy_coefficient))
    return fail(ErrorCode::kInvalidArgument, "kl_coefficient, entropy_coefficient: not finite");
  return check_correction(s.correction, s.loss);
}

std::string_view to_string(PolicyLoss loss) {
  switch (loss) {
    case PolicyLoss::kSft:
      return "sft";
    case PolicyLoss::kReinforce:
      return "reinforce";
    case PolicyLoss::kPpo:
      return "ppo";
    case PolicyLoss::kCispo:
      return "cispo";
    case PolicyLoss::kGspo:
      return "gspo";
  }
  return "";
}

std::string_view to_string(Aggregation aggregation) {
  switch (aggregation) {
    case Aggregation::kTokenMean:
      return "token_mean";
    case Aggregation::kSequenceMean:
      return "sequence_mean";
    case Aggregation::kConstant:
      return "constant";
  }
  return "";
}

std::string_view to_string(KlForm form) {
  switch (form) {
    case KlForm::kNone:
      return "none";
    case KlForm::kK1:
      return "k1";
    case KlForm::kK2:
      return "k2";
    case KlForm::kK3:
      return "k3";
  }
  return "";
}

std::string_view to_string(CorrectionMode mode) {
  switch (mode) {
    case CorrectionMode::kNone:
      return "none";
    case CorrectionMode::kBypass:
      return "bypass";
    case CorrectionMode::kDecoupled:
      return "decoupled";
  }
  return "";
}

std::string_view to_string(ImportanceLevel level) {
  switch (level) {
    case ImportanceLevel::kNone:
      return "none";
    case ImportanceLevel::kToken:
      return "token";
    case ImportanceLevel::kSequence:
      return "sequence";
  }
  return "";
}

}  // namespace kw::train
