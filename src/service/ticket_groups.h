// TicketGroups: the tickets of each group and the order of their ends, so that a submitter can wait
// for many tickets in one request.
#pragma once
#include <cstddef>
#include <deque>
#include <functional>
#include <string>
#include <unordered_map>

#include "service/task_rows.h"

namespace kw::service {

// One caller at a time.
class TicketGroups {
 public:
  struct Group {
    std::size_t open = 0;     // tickets that are not final
    std::size_t known = 0;    // tickets that are not forgotten yet
    std::size_t dropped = 0;  // tickets that have left the front of `ended`
    TicketId newest = 0;
    std::deque<TicketId> ended = {};  // the first that ended comes first

    // The number of tickets that have ended, whether they are forgotten or not.
    std::size_t ended_in_all() const { return dropped + ended.size(); }
  };

  // Whether it has tickets that have not ended.
  bool is_open(const std::string& name) const;
  // nullptr for a group without known tickets.
  const Group* find(const std::string& name) const;

  // A ticket of the group begins, ends, and is forgotten after its end.
  void begin(const std::string& name, TicketId ticket);
  void end(const std::string& name, TicketId ticket);
  // is_known: whether a ticket is not forgotten.
  void forget_one(const std::string& name, const std::function<bool(TicketId)>& is_known);

 private:
  std::unordered_map<std::string, Group> groups_;
};

}  // namespace kw::service
