// Whether submissions are accepted: room, quotas of owners, and problems.
#include <algorithm>
#include <string>
#include <unordered_set>

#include "base/text.h"
#include "service/task_table.h"

namespace kw::service {

std::optional<NoRoom> TaskTable::over_quota(const Submission& of, std::size_t tickets,
                                            std::size_t bytes, Time now) const {
  const auto found = open_.find(of.owner);
  const Open open = found == open_.end() ? Open{} : found->second;
  const std::string owner = printable(of.owner, 200);
  if (of.most_open > 0 && open.tickets + tickets > of.most_open)
    return NoRoom{
        .why = fmt::format("{} tasks of {} are under way, and it may have {}: try again later",
                           open.tickets, owner, of.most_open),
        .after = retry_after(pace(), open.tickets + tickets - of.most_open, share_of(of.owner))};
  if (of.most_bytes > 0 && open.bytes + bytes > of.most_bytes)
    return NoRoom{
        .why = fmt::format("requests of {} under way have {} bytes with these, and it may have {}: "
                           "try again later",
                           owner, open.bytes + bytes, of.most_bytes),
        .after = retry_after(pace(),
                             tasks_of_bytes(open.bytes + bytes - of.most_bytes, open.bytes + bytes,
                                            open.tickets + tickets),
                             share_of(of.owner))};
  const auto judged =
      std::chrono::floor<std::chrono::seconds>(judging_.in_last_hour(of.owner, now));
  if (of.most_seconds > 0 && judged.count() >= of.most_seconds)
    return NoRoom{
        .why = fmt::format("tasks of {} were judged for {} seconds in the last hour, and it may "
                           "have {}: try again later",
                           owner, judged.count(), of.most_seconds),
        .after = judging_.until_below(of.owner, std::chrono::seconds(of.most_seconds), now)};
  return std::nullopt;
}

std::optional<NoRoom> TaskTable::lacks_room(const std::vector<Submission>& submissions,
                                            Time now) const {
  std::size_t bytes = waiting_bytes_ + shelf_.held_bytes(), fresh = 0, requested = 0;
  for (const Submission& each : submissions) {
    if (!each.submission.empty() && by_submission_.contains(each.submission)) continue;
    bytes += each.request.size();
    requested += each.request.size();
    if (!shelf_.contains(each.problem)) bytes += each.problem_text.size();
    if (!shelf_.contains(baseline_key(each.baseline))) bytes += each.baseline_text.size();
    ++fresh;
  }
  if (fresh == 0) return std::nullopt;
  if (auto over = over_quota(submissions.front(), fresh, requested, now)) return over;
  if (counts_.waiting + fresh <= options_.most_waiting && bytes <= options_.most_waiting_bytes)
    return std::nullopt;
  const std::size_t with_these = counts_.waiting + fresh;
  std::size_t tasks = with_these > options_.most_waiting ? with_these - options_.most_waiting : 1;
  if (bytes > options_.most_waiting_bytes)
    tasks = std::max(tasks, tasks_of_bytes(bytes - options_.most_waiting_bytes, bytes, with_these));
  return NoRoom{.why = fmt::format("{} tasks wait already, {} bytes with these: try again later",
                                   counts_.waiting, bytes),
                .after = retry_after(pace(), tasks)};
}

Status TaskTable::knows_parts(const std::vector<Submission>& submissions) const {
  std::unordered_set<std::string> whole;
  const auto knows = [&](const std::string& key, const std::string& text) {
    if (!text.empty()) whole.insert(key);
    return whole.contains(key) || shelf_.contains(key);
  };
  for (std::size_t i = 0; i < submissions.size(); ++i) {
    const Submission& each = submissions[i];
    const std::string baseline = baseline_key(each.baseline);
    const bool knows_problem = each.problem.empty() || knows(each.problem, each.problem_text);
    const bool knows_baseline = each.baseline.empty() || knows(baseline, each.baseline_text);
    if (knows_problem && knows_baseline) continue;
    if (!each.submission.empty() && by_submission_.contains(each.submission)) continue;
    return fail(ErrorCode::kNotFound,
                "tasks[{}].request.{}: no {} here: send it whole, or first to POST /v1/{}", i,
                knows_problem ? "options.baseline" : "problem",
                name_of_part(knows_problem ? baseline : each.problem),
                knows_problem ? "baselines" : "problems");
  }
  return {};
}

// By the workers that can judge what needs this.
std::optional<Pace> TaskTable::pace(const Needs& needs) const {
  const auto task = queue_.expected();
  const std::size_t slots =
      activity_.slots(heard_ - options_.lease,
                      [&](const std::string& worker) { return roster_.can(worker, needs); });
  if (!task || slots == 0) return std::nullopt;
  return Pace{.task = *task, .slots = slots};
}

// The part of the leases that a tenant has.
double TaskTable::share_of(const std::string& tenant) const {
  const auto found = activity_.tenants().find(tenant);
  const std::size_t mine = found == activity_.tenants().end() ? 0 : found->second.leased;
  return static_cast<double>(std::max<std::size_t>(mine, 1)) /
         static_cast<double>(std::max<std::size_t>(counts_.leased, 1));
}

}  // namespace kw::service
