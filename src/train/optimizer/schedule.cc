#include "train/optimizer/schedule.h"

#include <algorithm>
#include <cmath>
#include <numbers>
#include <vector>

#include "base/text.h"

namespace kw::train {
namespace {

const std::vector<std::string> kKinds = {"constant", "linear", "cosine", "wsd"};

bool is_share(double value) {
  return value >= 0 && value <= 1;
}

double shape(const ScheduleSettings& s, double p, double progress) {
  if (s.kind == "linear") return 1 - p;
  if (s.kind == "cosine") return (1 + std::cos(std::numbers::pi * p)) / 2;
  if (s.kind == "wsd" && s.decay > 0) return std::min(1.0, (1 - progress) / s.decay);
  return 1;
}

}  // namespace

Status check(const ScheduleSettings& s) {
  if (std::find(kKinds.begin(), kKinds.end(), s.kind) == kKinds.end())
    return fail(ErrorCode::kInvalidArgument, "schedule: no \"{}\"; there are {}",
                printable(s.kind, 40), join(kKinds, ", "));
  if (!is_share(s.warmup) || !is_share(s.decay) || !is_share(s.floor))
    return fail(ErrorCode::kInvalidArgument, "warmup, decay, floor: expected shares from 0 to 1");
  if (s.warmup + (s.kind == "wsd" ? s.decay : 0) > 1)
    return fail(ErrorCode::kInvalidArgument, "warmup and decay are longer than the run together");
  return {};
}

double rate_factor(const ScheduleSettings& s, double progress, double step_share) {
  if (progress < s.warmup) return std::min(1.0, (progress + step_share) / s.warmup);
  const double p = s.warmup < 1 ? (progress - s.warmup) / (1 - s.warmup) : 1;
  return s.floor + (1 - s.floor) * std::clamp(shape(s, p, progress), 0.0, 1.0);
}

}  // namespace kw::train
