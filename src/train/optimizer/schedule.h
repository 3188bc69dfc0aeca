// The learning rate over a run, by steps or by time.
#pragma once
#include <cstdint>
#include <string>
#include <string_view>

#include "base/result.h"

namespace kw::train {

// After the warm-up, with the progress p in [0, 1]:
//   constant  1
//   linear    1 - p
//   cosine    (1 + cos(pi p)) / 2
//   wsd       1, then linearly down to 0 in the last `decay` share (warm-up, stable, decay;
//             MiniCPM, arXiv 2404.06395)
// each scaled to end at `floor` instead of 0.
struct ScheduleSettings {
  std::string kind = "cosine";
  double warmup = 0.03;  // share of the run in which the rate rises linearly from 0
  double decay = 0.2;    // of wsd: share of the run at its end
  double floor = 0;      // share of the peak rate that remains at the end
};
Status check(const ScheduleSettings& settings);  // kInvalidArgument names the setting

// The factor of the peak rate at `progress`, the share of the run's steps or of its time that is
// done when a step begins, in [0, 1]. step_share: the share of one step, so that the first step of
// a warm-up does not have the rate 0; 0 where progress is time.
double rate_factor(const ScheduleSettings& settings, double progress, double step_share);

}  // namespace kw::train
