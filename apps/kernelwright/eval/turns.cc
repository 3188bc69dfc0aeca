// Groups are taken in the order in which they came.
#include "kernelwright/eval/turns.h"

#include <algorithm>
#include <map>

namespace kw::front {

Turns::Turns(const std::vector<std::size_t>& group_of) {
  std::map<std::size_t, std::size_t> places;
  for (std::size_t index = 0; index < group_of.size(); ++index) {
    const auto [found, is_new] = places.try_emplace(group_of[index], groups_.size());
    if (is_new) groups_.emplace_back();
    groups_[found->second].indices.push_back(index);
  }
}

std::optional<Turns::Turn> Turns::next(std::optional<std::size_t> previous) {
  std::lock_guard lock(mutex_);
  std::size_t chosen = 0;
  if (previous && groups_[*previous].left() > 0) {
    chosen = *previous;
  } else if (first_not_begun_ < groups_.size()) {
    chosen = first_not_begun_++;
  } else {
    const auto fullest = std::ranges::max_element(groups_, {}, &Group::left);
    if (fullest == groups_.end() || fullest->left() == 0) return std::nullopt;
    chosen = static_cast<std::size_t>(fullest - groups_.begin());
  }
  Group& group = groups_[chosen];
  return Turn{group.indices[group.taken++], chosen};
}

}  // namespace kw::front
