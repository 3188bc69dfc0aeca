// Turns gives each free thread its next one of many judgements, where those of a group, such as a
// problem, can share what is costly to open. Thread-safe.
#pragma once
#include <cstddef>
#include <mutex>
#include <optional>
#include <vector>

namespace kw::front {

// Every index comes once. A thread keeps to its group, then takes the first group that nobody has
// begun, and helps with the group that has most left once all are begun.
class Turns {
 public:
  // group_of: a group for each index.
  explicit Turns(const std::vector<std::size_t>& group_of);

  struct Turn {
    std::size_t index = 0, group = 0;
  };
  // previous: the group of the caller's last turn. nullopt: none is left.
  std::optional<Turn> next(std::optional<std::size_t> previous);

 private:
  struct Group {
    std::vector<std::size_t> indices;  // in their order
    std::size_t taken = 0;

    std::size_t left() const { return indices.size() - taken; }
  };
  std::mutex mutex_;
  std::vector<Group> groups_;        // guarded by mutex_; in the order of their first indices
  std::size_t first_not_begun_ = 0;  // guarded by mutex_
};

}  // namespace kw::front
