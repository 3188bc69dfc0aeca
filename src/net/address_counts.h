// Private: how many connections are open, in all and from each address.
#pragma once
#include <cstddef>
#include <mutex>
#include <string>
#include <unordered_map>

#include "net/limits.h"

namespace kw::net {

// Thread-safe.
class AddressCounts {
 public:
  enum class Entry { kAdmitted, kTooManyInAll, kTooManyFromAddress };

  explicit AddressCounts(const Limits& limits)
      : most_(limits.connections), most_each_(limits.connections_per_address) {}

  // Only kAdmitted is counted, until leave().
  Entry enter(const std::string& address);
  void leave(const std::string& address);

 private:
  const std::size_t most_, most_each_;
  std::mutex mutex_;
  std::size_t all_ = 0;
  std::unordered_map<std::string, std::size_t> counts_;
};

}  // namespace kw::net
