#include "gym/correctness/share_test.h"

#include <cmath>

namespace kw::gym {

void ShareTest::add(bool happened) {
  draws_ += 1;
  happened_ += happened ? 1 : 0;
  evidence_ += happened ? std::log(kOften / kRarely) : std::log((1 - kOften) / (1 - kRarely));
  if (is_decided()) return;
  const double bound = std::log((1 - kMistake) / kMistake);
  is_often_ = evidence_ >= bound;
  is_rare_ = evidence_ <= -bound;
}

bool ShareTest::is_often() const {
  if (is_decided()) return is_often_;
  return happened_ > draws_ * (kRarely + kOften) / 2;
}

}  // namespace kw::gym
