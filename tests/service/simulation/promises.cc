#include "promises.h"

#include <algorithm>

#include "base/error_names.h"
#include "base/json.h"

namespace kw::service::simulation {

void Promises::broken(std::string what) {
  world_.trace("BROKEN: {}", what);
  if (!violation_) violation_ = std::move(what);
}

void Promises::accepted(const Wish& wish, TicketId ticket, Time at) {
  key_of_request_[wish.request] = wish.key;
  const auto [place, is_new] = ticket_of_.emplace(wish.name, ticket);
  if (place->second != ticket)
    return broken(
        fmt::format("submission {} is task {} and task {}", wish.name, place->second, ticket));
  if (is_new && !wishes_.emplace(ticket, wish).second)
    return broken(fmt::format("task {} is of two submissions", ticket));
  if (is_new) accepted_at_[ticket] = at;
}

void Promises::server_started(Time at) {
  started_ = at;
  failures_.clear();  // pauses begin anew, and of the workers it knows the last alone
  for (const auto& [lease, silence] : silence_) heard(lease.first, lease.second);
}

void Promises::seen(TicketId ticket, const Result<TaskStatus>& status, Time at) {
  if (!status)
    return broken(fmt::format("accepted task {} is lost: {}", ticket, status.error().message()));
  const Wish& wish = wishes_.at(ticket);
  const auto known = end_of_.find(ticket);
  if (!status->is_final) {
    // A reply from before may come later: another call of the same client has overtaken it.
    if (known != end_of_.end() && at > known->second.at)
      broken(fmt::format("task {} was {} and is {} again", ticket, known->second.state,
                         status->state));
    const Time from = std::max(accepted_at_.at(ticket), started_);
    if (wish.timeout.count() > 0 && at >= from + wish.timeout)
      broken(fmt::format("task {} is {} after its timeout", ticket, status->state));
    return;
  }
  if (known == end_of_.end()) {
    end_of_.emplace(ticket, End{status->state, status->answer, at});
    return check_end(ticket, *status, at);
  }
  End& end = known->second;
  end.at = std::min(end.at, at);
  if (end.state != status->state || end.answer != status->answer)
    broken(fmt::format("task {} has two ends: {} {}, and {} {}", ticket, end.state, end.answer,
                       status->state, status->answer));
}

void Promises::check_end(TicketId ticket, const TaskStatus& status, Time at) {
  const Wish& wish = wishes_.at(ticket);
  if (status.state == "cancelled") {
    if (!asked_to_cancel_.contains(ticket))
      broken(fmt::format("task {} is cancelled, which nobody asked for", ticket));
    return;
  }
  if (status.state == "expired") {
    if (wish.timeout.count() == 0 || at < wish.sent + wish.timeout)
      broken(fmt::format("task {} expired before its time", ticket));
    return;
  }
  if (status.state == "done") {
    const auto made = produced_.find(status.answer);
    if (made == produced_.end())
      return broken(
          fmt::format("task {} has an answer that no worker gave: {}", ticket, status.answer));
    if (made->second.key != wish.key)
      broken(fmt::format("task {} asked for {} and has the answer for {}", ticket, wish.key,
                         made->second.key));
    const auto taken = taken_.find(made->second.job);
    if (taken != taken_.end() && taken->second.answer != status.answer)
      broken(fmt::format("task {} has another answer than the one that was taken", ticket));
    return;
  }
  const Json answer = parse_json(status.answer).value_or(Json::object());
  const std::string message = answer.value("/error/message"_json_pointer, "");
  // Workers of the simulation say which job they failed.
  if (status.state == "failed") {
    const JobId job = std::strtoull(message.c_str(), nullptr, 10);
    if (!failed_for_good_.contains(job) && retried_[job].size() < TaskTable::kMaxFailures)
      broken(fmt::format("task {} failed after {} failures", ticket, retried_[job].size()));
    return;
  }
  if (status.state != "dead") return broken(fmt::format("task {} is {}", ticket, status.state));
  const std::string word = "task ";
  const std::size_t number = message.find(word);
  const JobId job = number == message.npos
                        ? 0
                        : std::strtoull(message.c_str() + number + word.size(), nullptr, 10);
  if (const int silent = silent_leases(job, status.attempts); silent < TaskTable::kMaxLost)
    broken(fmt::format("task {} is a dead letter, and {} workers of job {} were silent", ticket,
                       silent, job));
}

// A worker that renews at a third of the time is never silent for so long. No worker has heard of
// a lease that the server granted when it died.
int Promises::silent_leases(JobId job, int leases) const {
  int out = leases;
  for (auto each = silence_.lower_bound({job, 0});
       each != silence_.end() && each->first.first == job; ++each)
    if (std::max(each->second.longest, listened_ - each->second.since) < lease_ * 7 / 10) --out;
  return out;
}

void Promises::heard(JobId job, std::int64_t epoch) {
  Silence& silence = silence_.try_emplace({job, epoch}, Silence{.since = listened_}).first->second;
  silence.longest = std::max(silence.longest, listened_ - silence.since);
  silence.since = listened_;
}

void Promises::cancelled(TicketId ticket, const TaskStatus& status) {
  if (!status.is_final)
    broken(fmt::format("task {} was cancelled and is {}", ticket, status.state));
}

void Promises::group_ended(const std::string& group, const std::vector<TicketId>& accepted,
                           const std::vector<TicketId>& told) {
  std::vector<TicketId> wanted = accepted, got = told;
  std::ranges::sort(wanted);
  std::ranges::sort(got);
  if (wanted != got)
    broken(fmt::format("group {} of {} tasks told {} ends", group, wanted.size(), got.size()));
}

void Promises::group_at_end(const std::string& group, std::size_t wanted, std::size_t there) {
  if (there != 0 && there != wanted)
    broken(fmt::format("group {} has {} of its {} tasks", group, there, wanted));
}

std::optional<std::string> Promises::key_of(const std::string& request) const {
  // A request that nobody heard the acceptance of is known by its text alone.
  const std::size_t at = request.find("\"key\":\"");
  if (at == request.npos) return std::nullopt;
  const std::size_t from = at + 7;
  return request.substr(from, request.find('"', from) - from);
}

void Promises::granted(const Lease& lease, const std::string& name) {
  const LeaseOf id(lease.job, lease.epoch);
  const auto [place, is_new] = lease_names_.emplace(id, name);
  if (place->second != name)
    broken(fmt::format("job {} has epoch {} twice", lease.job, lease.epoch));
  std::int64_t& newest = newest_epoch_[lease.job];
  newest = std::max(newest, lease.epoch);
  const auto key = key_of(lease.request);
  if (!key) return broken(fmt::format("job {} came without its request", lease.job));
  const auto known = key_of_job_.emplace(lease.job, *key).first;
  if (known->second != *key) broken(fmt::format("job {} has two requests", lease.job));
}

void Promises::leased(const Lease& lease, const std::string& worker, Time at) {
  if (!leased_.emplace(lease.job, lease.epoch).second) return;  // its answer was lost
  const auto failed = failures_.find(lease.job);
  if (failed == failures_.end()) return;
  const RetryLimits limits;
  const auto after = std::chrono::duration_cast<milliseconds>(at - failed->second.at);
  if (after < limits.first / 2)
    broken(fmt::format("job {} is tried again after {} ms", lease.job, after.count()));
  if (failed->second.workers.contains(worker) && after < limits.first / 2 + limits.elsewhere)
    broken(fmt::format("job {} comes back after {} ms to {}, which failed it", lease.job,
                       after.count(), worker));
}

void Promises::failure_taken(const LeaseReport& report, const std::string& worker, Time at) {
  Failure& failure = failures_[report.job];
  failure.workers.insert(worker);
  failure.at = at;
}

void Promises::answers(const Lease& lease, const std::string& answer) {
  produced_[answer] = {lease.job, lease.epoch, key_of(lease.request).value_or("")};
}

void Promises::answer_taken(const LeaseReport& report) {
  if (report.epoch < newest_epoch_[report.job])
    broken(fmt::format("job {}: the answer of epoch {} was taken after epoch {} was leased",
                       report.job, report.epoch, newest_epoch_[report.job]));
  const auto [place, is_new] = taken_.emplace(report.job, report);
  if (place->second.answer != report.answer)
    broken(fmt::format("job {} took two answers", report.job));
}

void Promises::fails(const LeaseReport& report) {
  if (report.why && may_retry(report.why->code())) {
    retried_[report.job].insert(report.epoch);
  } else {
    failed_for_good_.insert(report.job);
  }
}

void Promises::killed(JobId job) {
  if (++kills_[job] > TaskTable::kMaxLost) broken(fmt::format("job {} killed a third worker", job));
}

std::vector<TicketId> Promises::open() const {
  std::vector<TicketId> out;
  for (const auto& [ticket, wish] : wishes_)
    if (!end_of_.contains(ticket)) out.push_back(ticket);
  return out;
}

std::map<std::string, int> Promises::ends() const {
  std::map<std::string, int> out;
  for (const auto& [ticket, end] : end_of_) ++out[end.state];
  return out;
}

}  // namespace kw::service::simulation
