#include "service/task_rows.h"

#include <algorithm>

#include "text/enum_names.h"

namespace kw::service {
namespace {

constexpr auto kNames = text::enum_names<JobState>({{JobState::kWaiting, "waiting"},
                                                    {JobState::kLeased, "leased"},
                                                    {JobState::kDone, "done"},
                                                    {JobState::kFailed, "failed"},
                                                    {JobState::kDead, "dead"},
                                                    {JobState::kCancelled, "cancelled"}});

}  // namespace

std::string_view to_string(JobState state) {
  return kNames.name(state);
}

Status check_rows(const Rows& rows) {
  for (const TicketRow& ticket : rows.tickets) {
    if (std::ranges::binary_search(rows.jobs, ticket.job, {}, &JobRow::id)) continue;
    return fail(ErrorCode::kDataLoss, "the store has task {} without its judgement {}", ticket.id,
                ticket.job);
  }
  return {};
}

tl::unexpected<Error> unknown_task(TicketId ticket) {
  return fail(ErrorCode::kNotFound, "no task {}: it never was, or its answer is forgotten", ticket);
}

}  // namespace kw::service
