// Advantages of groups of trajectories, without a value network.
//
// Notation: R_i is the return of trajectory i of a group of N, G_it its return from turn t on (with
// `discount` between turns), mean and std are those of the group.
#pragma once
#include <cstdint>
#include <span>
#include <string_view>

#include "base/result.h"
#include "rollout/trajectory.h"

namespace kw::rollout {

//   grpo       A_i = (R_i - mean) / (std + epsilon), for all tokens of the trajectory
//              (GRPO, arXiv 2402.03300)
//   dr_grpo    A_i = R_i - mean                                    (Dr.GRPO, arXiv 2503.20783)
//   rloo       A_i = N / (N - 1) (R_i - mean), that is R_i minus the mean of the others
//              (RLOO, arXiv 2402.14740)
//   trloo      A_it = N_t / (N_t - 1) (G_it - mean of bucket t). Bucket t holds the N_t
//              trajectories of the group that have a turn t (Dr. Kernel, arXiv 2602.05885)
//   reinforce_plus_plus           token returns, discounted by token within a turn and by turn
//              after it, minus their mean over all tokens of the batch, divided by their standard
//              deviation (REINFORCE++, arXiv 2501.03262)
//   reinforce_plus_plus_baseline  R_i - mean of the group, then the same whitening
//   none       0: a teacher alone teaches
enum class Estimator : std::uint8_t {
  kGrpo,
  kDrGrpo,
  kRloo,
  kTrloo,
  kReinforcePlusPlus,
  kReinforcePlusPlusBaseline,
  kNone,
};
std::string_view to_string(Estimator estimator);  // "grpo", ...

// The standard deviation that grpo divides by: over N (nano-aha-moment) or N - 1 (verl, TRL).
enum class Deviation : std::uint8_t { kPopulation, kSample };

// What a trajectory gets in rloo and trloo where it has no other to compare with.
//   zero         nothing is learnt from it
//   whole_return its return without a baseline (Dr. Kernel's code; unbiased, of high variance)
enum class Singleton : std::uint8_t { kZero, kWholeReturn };

struct AdvantageSettings {
  Estimator estimator = Estimator::kTrloo;
  Deviation deviation = Deviation::kSample;
  Singleton singleton = Singleton::kZero;
  double epsilon = 1e-6;      // added to the standard deviation
  double discount = 1;        // of later turns, in [0, 1]: trloo and reinforce_plus_plus
  double token_discount = 1;  // of later tokens of a turn: reinforce_plus_plus
};
Status check(const AdvantageSettings& settings);  // kInvalidArgument names the setting

// Fills Turn::advantages of every turn: as many numbers as tokens. The same input gives the same
// bits. reinforce_plus_plus whitens over all groups given, the others look at one group at a time.
void fill_advantages(std::span<Group> groups, const AdvantageSettings& settings);

}  // namespace kw::rollout
