#include "gym/checker/paired_memory.h"

#include <utility>

namespace kw::gym {

Status PairedMemory::renew(std::size_t sets, bool is_free, std::optional<bool> exchanged) {
  if (is_free && !candidate_.destinations.empty()) {
    // No side may know beforehand which memory it gets, because one may lie better than the other.
    // A pair that is tried again keeps its memory.
    const bool swaps = exchanged ? *exchanged != is_exchanged_ : (seeds_->next() & 1U) != 0;
    if (swaps) std::swap(baseline_, candidate_);
    is_exchanged_ = exchanged.value_or(false);
  } else {
    is_exchanged_ = false;
    KW_TRY(baseline_, OutputMemory::make(*allocator_, *signature_, sets));
    KW_TRY(candidate_, OutputMemory::make(*allocator_, *signature_, sets));
  }
  // New memory too: the first writes to it are slow even where its pages are there.
  for (OutputMemory* memory : {&baseline_, &candidate_})
    if (clears_) KW_TRY_STATUS(memory->clear());
  candidate_is_clear_ = true;
  return {};
}

Status PairedMemory::renew_candidate(std::size_t sets, bool is_free) {
  if (std::exchange(candidate_is_clear_, false)) return {};
  if (is_free) return clears_ ? candidate_.clear() : Status();
  KW_TRY(candidate_, OutputMemory::make(*allocator_, *signature_, sets));
  return {};
}

}  // namespace kw::gym
