#include "service/retries.h"

#include <algorithm>

#include "base/random.h"

namespace kw::service {
namespace {

constexpr int kGrowth = 4;
// Behind a kind: nothing else, and nobody may take it; or the workers that may not, each with it.
constexpr char kMark = '\n';

}  // namespace

std::chrono::milliseconds retry_pause(const RetryLimits& limits, int number, JobId job,
                                      std::int64_t epoch) {
  std::chrono::milliseconds pause = limits.first;
  for (int i = 1; i < number && pause < limits.longest; ++i) pause *= kGrowth;
  pause = std::min(pause, limits.longest);
  const double part = Rng::at(job, static_cast<std::uint64_t>(epoch)).uniform();
  return std::chrono::milliseconds(
      static_cast<std::int64_t>((0.5 + part) * static_cast<double>(pause.count())));
}

const Retries::Entry* Retries::find(JobId job) const {
  const auto found = entries_.find(job);
  return found == entries_.end() ? nullptr : &found->second;
}

void Retries::enter(JobId job, Entry& entry, Stage stage, Time until) {
  const auto count = [&](bool begins) {
    if (entry.stage == Stage::kPauses) begins ? ++pausing_ : --pausing_;
    if (entry.stage != Stage::kKeptForOthers) return;
    begins ? ++kept_ : --kept_;
    for (const std::string& worker : entry.workers) {
      if (begins)
        ++avoided_[worker];
      else if (--avoided_[worker] == 0)
        avoided_.erase(worker);
    }
  };
  count(false);
  times_.erase({entry.until, job});
  entry.stage = stage;
  entry.until = until;
  if (until != Time::max()) times_.emplace(until, job);
  count(true);
}

void Retries::pause(JobId job, int number, std::int64_t epoch, const std::string& worker,
                    Time now) {
  Entry& entry = entries_[job];
  if (std::ranges::find(entry.workers, worker) == entry.workers.end())
    entry.workers.push_back(worker);
  const Time end = now + retry_pause(limits_, number, job, epoch);
  entry.give_up = end + limits_.busy;
  enter(job, entry, Stage::kPauses, end);
}

std::optional<bool> Retries::begin(JobId job, const std::string& worker) {
  const auto found = entries_.find(job);
  if (found == entries_.end() || found->second.stage == Stage::kNone) return std::nullopt;
  Entry& entry = found->second;
  enter(job, entry, Stage::kNone, Time::max());
  return std::ranges::find(entry.workers, worker) == entry.workers.end();
}

void Retries::forget(JobId job) {
  const auto found = entries_.find(job);
  if (found == entries_.end()) return;
  enter(job, found->second, Stage::kNone, Time::max());
  entries_.erase(found);
}

std::string Retries::kind_of(JobId job, const std::string& kind) const {
  const Entry* entry = find(job);
  if (entry == nullptr) return kind;
  if (entry->stage == Stage::kPauses) return kind + kMark;
  std::string out = kind;
  if (entry->stage != Stage::kKeptForOthers) return out;
  out += kMark;
  for (const std::string& worker : entry->workers) out += worker + kMark;
  return out;
}

std::string_view Retries::kind_in(std::string_view kind) {
  return kind.substr(0, kind.find(kMark));
}

bool Retries::may_take(std::string_view kind, const std::string& worker) {
  const std::size_t mark = kind.find(kMark);
  if (mark == std::string_view::npos) return true;
  if (mark + 1 == kind.size()) return false;
  return kind.find(kMark + worker + kMark, mark) == std::string_view::npos;
}

std::vector<JobId> Retries::due(Time now, const IsThere& is_there) {
  std::vector<JobId> out;
  while (!times_.empty() && times_.begin()->first <= now) {
    const JobId job = times_.begin()->second;
    Entry& entry = entries_.at(job);
    const bool pauses = entry.stage == Stage::kPauses;
    if (pauses || (now < entry.give_up && is_there(job, entry.workers))) {
      enter(job, entry, Stage::kKeptForOthers, now + limits_.elsewhere);
      if (!pauses) continue;
    } else {
      enter(job, entry, Stage::kForAll, Time::max());
    }
    out.push_back(job);
  }
  return out;
}

std::optional<Retries::Time> Retries::pauses_until(JobId job) const {
  const Entry* entry = find(job);
  if (entry == nullptr || entry->stage != Stage::kPauses) return std::nullopt;
  return entry->until;
}

bool Retries::is_kept_for_others(JobId job) const {
  const Entry* entry = find(job);
  return entry != nullptr && entry->stage == Stage::kKeptForOthers;
}

}  // namespace kw::service
