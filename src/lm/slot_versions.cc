#include "lm/slot_versions.h"

#include "base/check.h"

namespace kw::lm {

void SlotVersions::write(const Step& step) {
  for (std::size_t t = 0; t < step.tokens.size(); ++t) {
    std::int32_t& version = versions_.at(static_cast<std::size_t>(step.slots[t]));
    if (step.positions[t] == 0) version = weights_;
    KW_CHECK(version == weights_);
  }
}

void SlotVersions::copy(std::int32_t from, std::int32_t to) {
  versions_.at(static_cast<std::size_t>(to)) = versions_.at(static_cast<std::size_t>(from));
}

}  // namespace kw::lm
