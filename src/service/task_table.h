// TaskTable: every task of a server and what becomes of it. A pure state machine over gym::Queue,
// which decides what runs next: no thread, no clock, no file. Each call may change rows;
// take_changes() gives them to the caller, who commits them before anybody hears of them.
//
// A lease has an epoch. An answer counts only with the epoch of the lease under way: what a worker
// that counted as lost sends later is refused. A job is tried again when its worker was lost
// (once) or the infrastructure failed (kMaxFailures in all): after a pause, and by another worker
// where there is one (retries.h).
#pragma once
#include <chrono>
#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <unordered_map>
#include <utility>
#include <vector>

#include "base/result.h"
#include "gym/queue/queue.h"
#include "service/abilities.h"
#include "service/activity.h"
#include "service/judging_time.h"
#include "service/pace.h"
#include "service/problem_shelf.h"
#include "service/retention.h"
#include "service/retries.h"
#include "service/roster.h"
#include "service/task_rows.h"
#include "service/ticket_groups.h"

namespace kw::service {

struct TaskOptions {
  std::chrono::milliseconds lease{30000};                  // until a silent worker counts as lost
  std::size_t most_waiting = 50000;                        // jobs; over it: lacks_room()
  std::size_t most_waiting_bytes = std::size_t{1} << 30U;  // of requests
  std::size_t kept = 10000;  // finished jobs whose answers can still be asked for, and those below
  std::size_t held = 10000;  // that ended in a group with open tickets (retention.h)
  ShelfLimits problems = {};
  std::chrono::milliseconds ageing{600000};  // a task that waits longer goes before all priorities
  // Tasks that none of the workers here can judge fail when this has been so for that long; 0: they
  // wait for ever. Without workers all tasks wait.
  std::chrono::milliseconds unserved{300000};
  RetryLimits retries = {};
};

struct Submission {
  std::string submission = {};  // the same text again gives the ticket that it gave before
  std::string key = {}, tenant = {};
  std::string owner = {};  // as in TicketRow
  // Limits of the owner's; 0: none.
  std::size_t most_open = 0;      // tickets
  std::size_t most_bytes = 0;     // of requests of open tickets
  std::int64_t most_seconds = 0;  // of judging in an hour
  int weight = 1;                 // of the tenant; not stored: after a restart it is 1
  int priority = 0;
  std::int64_t timeout_ms = 0;     // 0: none
  std::string group = {};          // tickets of a group can be waited for together; empty: none
  Needs needs = {};                // of the worker; part of the key
  std::string problem = {};        // hash; empty: none
  std::string problem_text = {};   // JSON; empty: the table must know the problem
  std::string baseline = {};       // hash of a baseline candidate; empty: none
  std::string baseline_text = {};  // as problem_text
  std::string request = {};        // JSON; problem and baseline are references
};

struct Lease {
  JobId job = 0;
  std::int64_t epoch = 0;
  std::string request = {};
};

struct TaskStatus {
  std::string state = {};  // of JobState, or "expired": the ticket's deadline came first
  bool is_final = false;
  int attempts = 0;                          // leases so far
  std::optional<std::size_t> position = {};  // waiting jobs before it, by priority and age
  // By measured times, shares and workers; nullopt: nothing has ended, or no worker is there.
  std::optional<double> estimated_start_seconds = {};
  std::string waits_for = {};  // the worker that it needs, where none here can judge it
  std::optional<double> retry_in_seconds = {};  // until it may be tried again
  bool is_for_others = false;  // then it waits for another worker than those that failed it
  std::string answer = {};     // JSON, when done, failed or dead
};

// The tickets of a group that are final.
struct GroupStatus {
  std::size_t open = 0;                                     // tickets that are not final yet
  std::size_t in_all = 0;                                   // that have ended, also before `after`
  std::size_t next = 0;                                     // the `after` of the next question
  std::vector<std::pair<TicketId, TaskStatus>> ended = {};  // in the order of their ends
};

struct QueueView {
  std::vector<TaskShare> tenants = {}, workers = {};  // by name; workers that have a lease
  std::map<std::string, double> judged_seconds = {};  // by tenant, also of those without a task
};

struct TaskCounts {
  std::size_t waiting = 0, leased = 0;
  // Since the server started.
  std::uint64_t submitted = 0, done = 0, failed = 0, dead = 0, cancelled = 0, lost_workers = 0,
                retries = 0, refused_answers = 0;
  // Waiting tasks that pause before a retry, and that are kept for other workers than those that
  // failed them. Retries that began with such a worker, and those that none came for.
  std::size_t pausing = 0, for_others = 0;
  std::uint64_t retried_elsewhere = 0, retried_there = 0;
};

// One caller at a time.
class TaskTable {
 public:
  using Time = gym::Queue::Time;
  static constexpr int kMaxFailures = 3;
  static constexpr int kMaxLost = 2;

  // Leases of the rows begin anew at now, as do the deadlines of tickets.
  TaskTable(TaskOptions options, const Rows& rows, Time now);

  // When too much waits already, or too much of the owner. Submissions that are known by name need
  // no room. All are of one owner.
  std::optional<NoRoom> lacks_room(const std::vector<Submission>& submissions, Time now) const;
  // kNotFound names the first submission whose problem or baseline is neither known nor in one
  // before it.
  Status knows_parts(const std::vector<Submission>& submissions) const;
  // key: a problem's hash, or baseline_key().
  void put_part(const std::string& key, std::string text);
  // JSON. kNotFound.
  Result<std::string> part(const std::string& key);
  TicketId submit(Submission submission, Time now);
  // Whether a ticket is the tenant's; an empty tenant sees all. True for a ticket that is not
  // known.
  bool is_of(TicketId ticket, const std::string& tenant) const;
  // True also for a ticket that is not known.
  bool is_final(TicketId ticket) const;
  // kNotFound for a ticket that never was or is forgotten.
  Result<TaskStatus> status(TicketId ticket) const;
  // Those that ended behind the first `after`, at most `most`. After a restart the order is that of
  // the ids. kNotFound for a group without tickets.
  Result<GroupStatus> group(const std::string& name, std::size_t after, std::size_t most) const;
  // Empty: none.
  std::string group_of(TicketId ticket) const;
  // The last ticket of a group that was accepted; nullopt for none, and when it is forgotten.
  struct Newest {
    TicketId ticket = 0;
    std::string key = {};  // of what it asks for
    TaskStatus status = {};
  };
  std::optional<Newest> newest_of(const std::string& group) const;
  // Nothing happens to a ticket that has its answer.
  Status cancel(TicketId ticket);
  // It expires after so long, unless it does so before, or has its answer by then.
  Status let_expire(TicketId ticket, std::chrono::milliseconds after, Time now);

  // name: what leased_as() finds it by; empty: nothing. problem: its jobs are preferred.
  // can: tasks that need more are left for others.
  std::optional<Lease> lease(const std::string& worker, const std::string& name, Time now,
                             const std::string& problem = {}, const Abilities& can = {});
  // The problem's hash; empty where the request has none. The job is there.
  const std::string& problem_of(JobId job) const { return jobs_.at(job).row.problem; }
  // Requests of waiting jobs that nobody was told of yet, those first that go first: for workers
  // that compile ahead. The jobs stay where they are.
  std::vector<std::string> to_compile(std::size_t most, const Abilities& can);
  // The lease under way with this name, renewed: its worker has not got the answer.
  std::optional<Lease> leased_as(const std::string& name, Time now);
  // The calls below fail with kAlreadyExists when the lease is over, and with kNotFound for an
  // unknown job.
  // True: go on. False: nobody waits for the answer any more.
  Result<bool> renew(JobId job, std::int64_t epoch, Time now);
  // The answer is an object with "verdict". The same answer again is fine.
  Status complete(JobId job, std::int64_t epoch, std::string answer, Time now,
                  AnswerSummary summary = {});
  // Our failure or the world's, never the candidate's.
  Status fail_job(JobId job, std::int64_t epoch, const Error& why, Time now);
  // The worker ends: the job waits again, and nothing is counted.
  Status release(JobId job, std::int64_t epoch);
  // The worker has died, as who comes after it says: it counts as lost now.
  Status lost(JobId job, std::int64_t epoch, Time now);

  // Leases, tickets and pauses whose time has come.
  void expire(Time now);
  // All leases end later by so much: nobody could renew them meanwhile.
  void extend_leases(std::chrono::nanoseconds by);
  // Tickets that have become final since the last call, each once. Before take_changes().
  std::vector<TicketId> take_ended(Time now);
  Time next_deadline() const;

  TaskCounts counts() const;
  std::size_t waiting() const { return counts_.waiting; }
  // Whether a task waits that this worker does not get, as it failed it.
  bool is_avoided(const std::string& worker) const { return retries_.is_avoided(worker); }
  QueueView view() const;
  // tenant: whose tasks; empty: all. after: the `next` of an earlier look, or 0.
  Overview overview(const std::string& tenant, std::uint64_t after, Time now) const;
  // It asks for tasks; or it is there and takes none, and says why.
  void see_worker(const std::string& worker, Time now, const Abilities& can = {},
                  const std::string& unfit = {});
  // The request of a ticket's job. job: for a caller who must look for it in the storage, as that
  // of a final job is not kept here. kNotFound.
  struct KeptRequest {
    JobId job = 0;
    std::optional<std::string> text = {};
  };
  Result<KeptRequest> request_of(TicketId ticket) const;
  Changes take_changes();

 private:
  struct Job {
    JobRow row;
    gym::Queue::JobId queued = 0;  // in queue_, until it is final
    bool is_stopped = false;       // leased, and nobody waits
    Time lease_begin = {}, lease_end = Time::max();
    std::vector<TicketId> tickets = {};
    Needs needs = {};
    std::string baseline = {};   // hash; empty: none, or it is final
    AnswerSummary summary = {};  // of its answer, unless that is older than the server's start
  };
  struct Ticket {
    TicketRow row;
    gym::Queue::TicketId queued = 0;
    std::size_t bytes = 0;  // of the request, while it is open
  };
  // The open tickets of an owner.
  struct Open {
    std::size_t tickets = 0, bytes = 0;
  };

  // Waiting jobs that need the same.
  struct Want {
    Needs needs;
    std::size_t waiting = 0;
    std::optional<Time> unserved_since = {};  // nobody here can judge them
  };

  // The request of a job that is not final, which has it.
  static const std::string& text_of(const JobRow& job);
  void restore(const Rows& rows, Time now);
  void restore_queue(Time now);
  void restore_ticket(Ticket& ticket);
  void restore_finished();
  void note_end(const Ticket& ticket);
  // Each once.
  std::vector<std::string> open_groups_of(const Job& job) const;
  gym::Queue::Accepted enter(const JobRow& job, const Submission& submission, Ticket& ticket,
                             Time now);
  void set_state(Job& job, JobState state);
  void end(Job& job, JobState state, std::optional<std::string> answer,
           std::optional<gym::Queue::Cost> took = std::nullopt);
  gym::Queue::Cost judged(const Job& job, Time now);
  void hear(const std::string& worker, Time now);
  void count_want(const Job& job, int change);
  void look_at_retries(Time now);
  void look_at_wants(Time now);
  void refuse(Job& job);
  void hold_parts(const Job& job);
  void let_go_parts(const Job& job);
  void note_uncompiled(const Job& job, int priority);
  std::optional<Pace> pace(const Needs& needs = {}) const;
  double share_of(const std::string& tenant) const;
  std::optional<NoRoom> over_quota(const Submission& of, std::size_t tickets, std::size_t bytes,
                                   Time now) const;
  void end_lease(Job& job);
  void give_back(Job& job, gym::Queue::Cost cost);
  void try_again(Job& job, gym::Queue::Cost cost, Time now);
  void pause(Job& job, Time now);
  void lose(Job& job, Time now);
  void leave(Ticket& ticket, TicketState state, const gym::Queue::Gone& gone);
  Result<Job*> held(JobId job, std::int64_t epoch);
  void forget(JobId job);

  const TaskOptions options_;
  gym::Queue queue_;
  ProblemShelf shelf_;  // a job holds its problem and its baseline until it is final
  std::uint64_t next_ = 1;
  std::map<JobId, Job> jobs_;
  std::map<TicketId, Ticket> tickets_;
  std::unordered_map<std::string, TicketId> by_submission_;
  TicketGroups groups_;
  std::unordered_map<std::string, Open> open_;       // by owner
  std::unordered_map<std::string, JobId> by_lease_;  // of leases under way
  std::unordered_map<gym::Queue::JobId, JobId> of_queue_;
  std::unordered_map<gym::Queue::TicketId, TicketId> ticket_of_queue_;
  std::set<std::pair<Time, JobId>> lease_ends_;
  Retention retention_;            // of finished jobs
  std::uint64_t ends_ = 0;         // of jobs
  std::size_t waiting_bytes_ = 0;  // of requests of waiting and leased jobs
  TaskCounts counts_;
  Activity activity_;
  Roster roster_;
  std::map<std::string, Want> wants_;  // by Needs::text()
  // Waiting jobs in a language that is compiled, of which nobody was told: -priority, id.
  std::set<std::pair<int, JobId>> uncompiled_;
  JudgingTime judging_;
  Retries retries_;
  std::set<JobId> new_jobs_, changed_jobs_, answered_jobs_;
  std::set<TicketId> changed_tickets_;
  std::vector<JobId> forgotten_;
  std::vector<TicketId> ended_;
  bool next_changed_ = false;
  Time heard_;  // the latest time that expire() was told
};

}  // namespace kw::service
