// Layout: where the tensors of one buffer set lie in its memory, and where they may move to.
#pragma once
#include <cstddef>
#include <vector>

#include "base/random.h"
#include "gym/protocol.h"
#include "task/signature.h"

namespace kw::gym {

// Places are byte offsets from the start of the memory. A tensor moves inside its region by
// multiples of kAlignment from call to call. Not thread-safe.
class Layout {
 public:
  // Inputs and statics: room to move before the data, kReadableTail behind it.
  static Layout for_reading(const std::vector<const task::Argument*>& tensors);
  // Outputs: a canary band of at least kBand bytes on either side as well.
  static Layout for_writing(const std::vector<const task::Argument*>& tensors);

  std::size_t count() const { return regions_.size(); }
  // Bytes of the whole memory, at least a page.
  std::size_t total_bytes() const { return total_bytes_; }
  std::size_t bytes(std::size_t i) const { return regions_[i].bytes; }
  std::size_t offset(std::size_t i) const { return regions_[i].offset; }
  std::size_t region_start(std::size_t i) const { return regions_[i].start; }
  std::size_t region_end(std::size_t i) const { return regions_[i].end; }
  // Draws new secret offsets for all tensors.
  void move(Rng& rng);

  static constexpr std::size_t kBand = 4096;
  static constexpr std::size_t kMoves = 64;  // positions, kAlignment apart

 private:
  struct Region {
    std::size_t start, end, bytes, offset, first;  // first: the lowest offset of the data
  };
  static Layout make(const std::vector<const task::Argument*>& tensors, std::size_t before,
                     std::size_t behind);
  std::vector<Region> regions_;
  std::size_t total_bytes_ = 0;
};

// The tensors among arguments (no scalars), in order. Borrows them.
std::vector<const task::Argument*> tensors_of(const std::vector<task::Argument>& arguments);

}  // namespace kw::gym
