// Tiles of 64 neighbours.
#include "gym/correctness/structure.h"

#include <algorithm>
#include <cmath>

namespace kw::gym {

void ErrorStructure::add(std::span<const double> errors) {
  for (std::size_t begin = 0; begin < errors.size(); begin += kTile) {
    std::span<const double> tile = errors.subspan(begin, std::min(kTile, errors.size() - begin));
    double sum = 0, square = 0;
    for (double e : tile) {
      sum += e;
      square += e * e;
    }
    auto n = static_cast<double>(tile.size());
    if (tile.size() < kMinTile) continue;
    tiles_ += 1;
    sum_ += sum / n;
    square_ += sum / n * (sum / n);
    worst_tile_ = std::max(worst_tile_, std::sqrt(square / n));
  }
}

void ErrorStructure::merge(const ErrorStructure& other) {
  tiles_ += other.tiles_;
  sum_ += other.sum_;
  square_ += other.square_;
  worst_tile_ = std::max(worst_tile_, other.worst_tile_);
}

double ErrorStructure::mean() const {
  return tiles_ > 0 ? sum_ / tiles_ : 0;
}

bool ErrorStructure::biased() const {
  if (tiles_ < static_cast<double>(kMinTiles)) return false;
  double variance = std::max(0.0, square_ / tiles_ - mean() * mean());
  return std::abs(mean()) > kBias && std::abs(mean()) > 6 * std::sqrt(variance / (tiles_ - 1));
}

}  // namespace kw::gym
