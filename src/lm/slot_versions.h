// SlotVersions: which weights computed what the slots of an engine hold.
//
// Weights that are trained change between the steps of an engine. Keys and values of earlier
// weights are never mixed with those of later ones: a slot is of use again when its sequence has
// begun again at position 0.
#pragma once
#include <cstdint>
#include <vector>

#include "lm/engine.h"

namespace kw::lm {

// One thread at a time.
class SlotVersions {
 public:
  explicit SlotVersions(std::int64_t slots) : versions_(static_cast<std::size_t>(slots)) {}

  std::int32_t weights() const { return weights_; }
  void weights_changed(std::int32_t version) { weights_ = version; }

  // A step is about to be computed. Aborts where it goes on with what other weights have left.
  void write(const Step& step);
  // Engine::copy_slot calls this.
  void copy(std::int32_t from, std::int32_t to);

 private:
  std::int32_t weights_ = 0;
  std::vector<std::int32_t> versions_;  // [slots] of the weights that computed what is there
};

}  // namespace kw::lm
