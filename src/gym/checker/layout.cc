// Regions of tensors, a page or more each.
#include "gym/checker/layout.h"

#include <algorithm>

namespace kw::gym {
namespace {

constexpr std::size_t kLayoutPage = 4096;

std::size_t round_up(std::size_t value, std::size_t unit) {
  return (value + unit - 1) / unit * unit;
}

}  // namespace

Layout Layout::make(const std::vector<const task::Argument*>& tensors, std::size_t before,
                    std::size_t behind) {
  Layout layout;
  std::size_t at = 0;
  for (const task::Argument* tensor : tensors) {
    std::size_t bytes = tensor->bytes();
    std::size_t first = at + before;
    std::size_t end = round_up(first + kMoves * kAlignment + bytes + behind, kLayoutPage);
    layout.regions_.push_back({at, end, bytes, first, first});
    at = end;
  }
  layout.total_bytes_ = std::max(at, kLayoutPage);
  return layout;
}

Layout Layout::for_reading(const std::vector<const task::Argument*>& tensors) {
  return make(tensors, 0, kReadableTail);
}
Layout Layout::for_writing(const std::vector<const task::Argument*>& tensors) {
  return make(tensors, kBand, kBand);
}

void Layout::move(Rng& rng) {
  for (Region& region : regions_) region.offset = region.first + kAlignment * rng.below(kMoves);
}

std::vector<const task::Argument*> tensors_of(const std::vector<task::Argument>& arguments) {
  std::vector<const task::Argument*> tensors;
  for (const task::Argument& argument : arguments) {
    if (argument.role != task::Role::kScalar) tensors.push_back(&argument);
  }
  return tensors;
}

}  // namespace kw::gym
