// Retries: what a task waits for that a worker failed by ours or was lost with. First a pause goes
// by, so that what was wrong may pass. Then those workers leave the task to others, for some time
// without others that can judge it, and for longer where they are there. Pure: the caller has the
// clock.
#pragma once
#include <chrono>
#include <functional>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "gym/queue/queue.h"
#include "service/task_rows.h"

namespace kw::service {

struct RetryLimits {
  // The pause before the first retry; each later one is four times as long, but not over the
  // longest. All of them vary by half of themselves, so that tasks that failed together come apart.
  std::chrono::milliseconds first{1000}, longest{16000};
  // How long after the pause a task waits for another worker where none is there.
  std::chrono::milliseconds elsewhere{5000};
  // How long it waits for one that is there and busy.
  std::chrono::milliseconds busy{600000};
};

// The pause before a job's retry with that number, from 1 on. The same job and lease have the same.
std::chrono::milliseconds retry_pause(const RetryLimits& limits, int number, JobId job,
                                      std::int64_t epoch);

// One caller at a time.
class Retries {
 public:
  using Time = gym::Queue::Time;
  explicit Retries(RetryLimits limits) : limits_(limits) {}

  // The worker failed or was lost with the job's lease of that epoch; number: of the retry.
  void pause(JobId job, int number, std::int64_t epoch, const std::string& worker, Time now);
  // Somebody has the job: it waits no more. True: a retry with another worker; false: with one that
  // failed it before; nullopt: it is no retry.
  std::optional<bool> begin(JobId job, const std::string& worker);
  void forget(JobId job);

  // The job as the queue's kind says who may take it: `kind` as long as everybody may.
  std::string kind_of(JobId job, const std::string& kind) const;
  // What kind_of() was given.
  static std::string_view kind_in(std::string_view kind);
  // Whether a job of this kind is for that worker, as far as retries go.
  static bool may_take(std::string_view kind, const std::string& worker);

  // Jobs whose kind_of() has changed by now. is_there: whether a worker is there that can judge
  // the job, and is none of these.
  using IsThere = std::function<bool(JobId job, const std::vector<std::string>& none_of)>;
  std::vector<JobId> due(Time now, const IsThere& is_there);
  Time next() const { return times_.empty() ? Time::max() : times_.begin()->first; }

  // Whether a job that waits is kept for other workers than this one.
  bool is_avoided(const std::string& worker) const { return avoided_.contains(worker); }
  // While it pauses: until then.
  std::optional<Time> pauses_until(JobId job) const;
  bool is_kept_for_others(JobId job) const;
  std::size_t pausing() const { return pausing_; }
  std::size_t kept_for_others() const { return kept_; }

 private:
  enum class Stage { kNone, kPauses, kKeptForOthers, kForAll };
  struct Entry {
    std::vector<std::string> workers = {};  // that failed it or were lost with it
    Stage stage = Stage::kNone;
    Time until = Time::max();    // the end of the stage
    Time give_up = Time::max();  // then it is for all, whoever is there
  };
  void enter(JobId job, Entry& entry, Stage stage, Time until);
  const Entry* find(JobId job) const;

  const RetryLimits limits_;
  std::map<JobId, Entry> entries_;
  std::set<std::pair<Time, JobId>> times_;
  std::map<std::string, std::size_t> avoided_;  // jobs that are kept for others, by worker
  std::size_t pausing_ = 0, kept_ = 0;
};

}  // namespace kw::service
