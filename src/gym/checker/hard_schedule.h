// HardSchedule: which calls of one judgement have hard inputs.
#pragma once
#include <cstddef>
#include <cstdint>
#include <optional>
#include <vector>

#include "base/random.h"

namespace kw::gym {

// Secret places: a candidate cannot tell a hard call before it reads the values. Half of the cases
// come in calls that are not measured anyway or at any time, the others when there are samples
// enough. So what a kernel does in any call that is timed, it also does while hard calls are still
// to come. Of an odd number the larger half comes in the end, or, where an early one is asked for,
// before: a single case may then come early in some judgements of a measurement and late in others.
class HardSchedule {
 public:
  using Call = std::optional<std::size_t>;  // the number of its case; nullopt: ordinary inputs
  enum class Phase {
    kWarmUp,     // times are not used: hard calls cost nothing more here
    kMeasuring,  // a half with a hard call gives no sample
    kClosing,    // there are samples enough, so all that is left comes now
  };

  HardSchedule(std::vector<std::size_t> cases, std::uint64_t secret_seed, bool is_early = false);

  std::vector<Call> next(std::size_t calls, Phase phase);
  bool is_over() const { return pending_.empty(); }

 private:
  std::size_t wanted(std::size_t calls, Phase phase);

  Rng rng_;
  std::vector<std::size_t> cases_, pending_;  // in secret order
  std::size_t kept_;                          // of the pending ones: for the end
};

}  // namespace kw::gym
