// Addresses without connections are not kept.
#include "net/address_counts.h"

namespace kw::net {

AddressCounts::Entry AddressCounts::enter(const std::string& address) {
  std::lock_guard lock(mutex_);
  if (all_ >= most_) return Entry::kTooManyInAll;
  std::size_t& count = counts_[address];
  if (most_each_ != 0 && count >= most_each_) return Entry::kTooManyFromAddress;
  ++count;
  ++all_;
  return Entry::kAdmitted;
}

void AddressCounts::leave(const std::string& address) {
  std::lock_guard lock(mutex_);
  auto found = counts_.find(address);
  if (--found->second == 0) counts_.erase(found);
  --all_;
}

}  // namespace kw::net
