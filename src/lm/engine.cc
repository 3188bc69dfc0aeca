#include "lm/engine.h"

namespace kw::lm {

void Step::clear() {
  tokens.clear();
  positions.clear();
  slots.clear();
  phases.clear();
  samples.clear();
}

void Step::add(std::int32_t token, std::int32_t position, std::int32_t slot, Phase phase) {
  tokens.push_back(token);
  positions.push_back(position);
  slots.push_back(slot);
  phases.push_back(phase);
}

}  // namespace kw::lm
