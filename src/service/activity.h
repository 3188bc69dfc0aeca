// Activity: what a server has done of late, for those who watch it. Tallies that the TaskTable
// keeps up as it goes, so that a look costs the same however many tasks there are. Begins anew with
// the server.
#pragma once
#include <array>
#include <chrono>
#include <cstdint>
#include <deque>
#include <functional>
#include <map>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "gym/queue/queue.h"
#include "service/answer_summary.h"
#include "service/task_rows.h"

namespace kw::service {

// The jobs of one tenant.
struct TaskShare {
  std::string name = {};
  std::size_t waiting = 0, leased = 0;
  double judged_seconds = 0;  // since the server's start
};

// A task that has its end.
struct EndedTask {
  TicketId id = 0;
  std::string state = {};  // as in TaskStatus
  AnswerSummary answer = {};
  std::string owner = {}, group = {};  // as in TicketRow
  std::string worker = {};             // that had it last; empty: none
  gym::Queue::Time at = {};
};

struct WorkerActivity {
  std::string name = {};
  std::size_t leased = 0;
  std::size_t slots = 0;  // the most that it had leased at once
  std::uint64_t answers = 0;
  std::string unfit = {};  // why it takes no tasks; empty: it does
  gym::Queue::Time seen = {};
};

// It holds what one tenant may know, or the sum over all of them.
struct Overview {
  static constexpr std::chrono::seconds kSpan{5};      // of a number in ends
  std::vector<TaskShare> tenants = {};                 // those that have most, at most kMaxListed
  std::vector<WorkerActivity> workers = {};            // seen last, at most kMaxListed; by name
  std::map<std::string, std::uint64_t> outcomes = {};  // ended tasks, by outcome or state
  std::vector<std::uint32_t> ends = {};                // ended tasks in each span, oldest first
  std::vector<EndedTask> ended = {};                   // newest first
  std::uint64_t next = 0;                              // place behind the newest
  double judged_seconds = 0;                           // of all tenants; 0 for one tenant's view
};

// One caller at a time.
class Activity {
 public:
  using Time = gym::Queue::Time;
  static constexpr std::size_t kMaxEnded = 100;     // tasks that are remembered, by owner
  static constexpr std::size_t kMaxWorkers = 1000;  // the one that was not seen for longest goes
  static constexpr std::size_t kMaxListed = 100;
  static constexpr std::size_t kSpans = 60;

  // Jobs of a tenant that begin (1) or cease (-1) to wait, or to be leased.
  void count_waiting(const std::string& tenant, int change);
  void count_leased(const std::string& tenant, const std::string& worker, int change);
  void see_worker(const std::string& worker, Time now);
  void count_answer(const std::string& worker);
  // Nothing happens for a worker that is not known.
  void note_fitness(const std::string& worker, const std::string& unfit);
  void note_end(EndedTask task);

  const std::map<std::string, TaskShare>& tenants() const { return tenants_; }
  // Tasks that the workers judge at once that have some, or were seen since then, and that count.
  std::size_t slots(Time since,
                    const std::function<bool(const std::string& worker)>& counts = {}) const;
  // Whether a worker that counts has some, or was seen since then, and takes tasks.
  bool has_worker(Time since, const std::function<bool(const std::string& worker)>& counts) const;
  // By name.
  std::vector<TaskShare> busy_workers() const;
  // tenant: its own tasks, without workers; empty: all. after: tasks behind this place.
  Overview look(const std::string& tenant, std::uint64_t after, Time now) const;

 private:
  struct Tally {
    std::map<std::string, std::uint64_t> outcomes = {};
    std::array<std::uint32_t, kSpans> ends = {};
    std::int64_t newest_span = 0;
    std::deque<EndedTask> ended = {};  // oldest first
    std::uint64_t in_all = 0;

    void add(EndedTask task);
  };

  void drop_silent_workers();

  std::map<std::string, TaskShare> tenants_;  // none without a job
  std::map<std::string, WorkerActivity> workers_;
  std::set<std::pair<Time, std::string>> by_seen_;
  Tally all_;
  std::map<std::string, Tally> by_owner_;  // of owners with a name: tenants of tokens
};

}  // namespace kw::service
