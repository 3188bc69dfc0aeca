// Retention: which of the finished jobs is forgotten next. What ended in a group that has open
// tickets is held until the last of them has ended: whoever waits for the group may be told of all
// its ends together. Then, and outside of groups at once, it stands in line behind all that ended
// before. Pure.
#pragma once
#include <cstddef>
#include <cstdint>
#include <deque>
#include <map>
#include <optional>
#include <string>
#include <unordered_map>
#include <vector>

#include "service/task_rows.h"

namespace kw::service {

// One caller at a time.
class Retention {
 public:
  // most_held: of more than so many the one that was held first stands in line too.
  explicit Retention(std::size_t most_held) : most_held_(most_held) {}

  // The job has ended. open_groups: those of its tickets that have open tickets, each once.
  void end(JobId job, const std::vector<std::string>& open_groups);
  // The group's last open ticket has ended.
  void close(const std::string& group);
  // The job that is to be forgotten now, so that at most `kept` stand in line.
  std::optional<JobId> take_excess(std::size_t kept);

 private:
  struct Held {
    std::size_t groups = 0;    // that it waits for
    std::uint64_t number = 0;  // in held_order_
  };
  void release(std::unordered_map<JobId, Held>::iterator held);

  const std::size_t most_held_;
  std::deque<JobId> line_;
  std::unordered_map<JobId, Held> held_;
  std::map<std::uint64_t, JobId> held_order_;
  // Jobs that were held for a group; some behind the first are not any more.
  std::unordered_map<std::string, std::deque<JobId>> by_group_;
  std::uint64_t numbers_ = 0;
};

}  // namespace kw::service
