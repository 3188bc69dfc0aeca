// Whether errors that are all within budget still have a shape that rounding does not have: one
// sign, or a place where they gather.
#pragma once
#include <cstddef>
#include <span>

namespace kw::gym {

// Fed with error / budget, element after element, one row's run at a time. Not thread-safe.
//
// Bias: rounding errors of an honest kernel have both signs. Dropped terms of a positive sum, a
// wrong constant or truncation have one. Fires when the mean of error / budget is beyond +-kBias
// and beyond 6 standard errors; the standard error comes from the means of tiles of 64 neighbours,
// because neighbours share errors (a row's normaliser). Cluster: fires when the root mean square of
// a tile is beyond kCluster: a tile computed in a lower precision that stays just within budget,
// while honest errors stay
// under a quarter of it (calibration_test.cc).
class ErrorStructure {
 public:
  static constexpr double kBias = 0.25;
  static constexpr double kCluster = 0.5;
  static constexpr std::size_t kTile = 64;
  static constexpr std::size_t kMinTile = 16;  // shorter tiles cannot show clusters
  static constexpr std::size_t kMinTiles = 8;  // fewer tiles cannot show bias

  // errors: error / budget of neighbouring elements of one row; the next call starts a new tile.
  void add(std::span<const double> errors);
  // Joins what other elements showed.
  void merge(const ErrorStructure& other);

  double mean() const;  // mean of error / budget over all elements
  double worst_tile() const { return worst_tile_; }
  bool biased() const;
  bool clustered() const { return worst_tile_ > kCluster; }

 private:
  double tiles_ = 0, sum_ = 0, square_ = 0;  // sums over the tiles' means
  double worst_tile_ = 0;
};

}  // namespace kw::gym
