#include "service/task_rows.h"

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

tl::unexpected<Error> unknown_task(TicketId ticket) {
  return fail(ErrorCode::kNotFound, "no task {}: it never was, or its answer is forgotten", ticket);
}

}  // namespace kw::service
