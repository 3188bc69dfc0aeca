#include "service/ticket_groups.h"

namespace kw::service {

const TicketGroups::Group* TicketGroups::find(const std::string& name) const {
  const auto found = groups_.find(name);
  return found == groups_.end() ? nullptr : &found->second;
}

bool TicketGroups::is_open(const std::string& name) const {
  const Group* group = find(name);
  return group != nullptr && group->open > 0;
}

void TicketGroups::begin(const std::string& name, TicketId ticket) {
  Group& group = groups_[name];
  ++group.open;
  ++group.known;
  group.newest = ticket;
}

void TicketGroups::end(const std::string& name, TicketId ticket) {
  Group& group = groups_.at(name);
  --group.open;
  group.ended.push_back(ticket);
}

void TicketGroups::forget_one(const std::string& name,
                              const std::function<bool(TicketId)>& is_known) {
  const auto found = groups_.find(name);
  Group& group = found->second;
  if (--group.known == 0) {
    groups_.erase(found);
    return;
  }
  for (; !group.ended.empty() && !is_known(group.ended.front()); ++group.dropped)
    group.ended.pop_front();
}

}  // namespace kw::service
