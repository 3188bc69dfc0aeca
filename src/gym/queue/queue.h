// Queue: which judgement runs next, and when one stops. A pure state machine: no thread, no clock,
// no process, and every change of state is a call. Gym runs it with threads; a service can store
// its calls and run them again.
//
// A ticket is one submitter's wish; a job is one judgement. Tickets of the same key join one job.
// A job ends early when its last ticket has gone. Each ticket keeps its own deadline, so the job
// may run until the latest of them.
//
// Order: the highest priority first. Among equal ones the tenant that has had the fewest starts,
// counted from the time when it last had nothing waiting; then a job that the caller prefers (its
// session is open); then the oldest. A job that preferred ones have overtaken kMaxOvertaken times
// goes before them.
#pragma once
#include <chrono>
#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

namespace kw::gym {

// One caller at a time.
class Queue {
 public:
  using Time = std::chrono::steady_clock::time_point;
  using TicketId = std::uint64_t;
  using JobId = std::uint64_t;
  static constexpr int kMaxOvertaken = 16;

  struct Wish {
    std::string key = {};  // the same key asks for the same judgement
    std::string tenant = {};
    int priority = 0;  // the higher, the earlier; a job has the highest of its tickets
    Time deadline = Time::max();
  };
  struct Accepted {
    TicketId ticket = 0;
    JobId job = 0;
    bool is_new = false;  // the job: the caller keeps what it needs to run it
  };
  Accepted submit(Wish wish);

  // A ticket's end before its job's. stop: the running job that nobody waits for any more; the
  // caller stops it, and finish() ends it. dropped: a job that had not begun and will not.
  struct Gone {
    std::optional<JobId> stop = {}, dropped = {};
  };
  // Nothing happens for a ticket that has its answer.
  Gone cancel(TicketId ticket);

  // Tickets whose deadline has come: each has gone as by cancel().
  struct Expired {
    TicketId ticket = 0;
    Gone gone;
  };
  std::vector<Expired> expire(Time now);
  // When expire() next has something to do; Time::max(): never, as it stands.
  Time next_deadline() const;

  // Begins the next job; nullopt when none waits. is_preferred may be empty.
  std::optional<JobId> start(const std::function<bool(JobId)>& is_preferred);

  // A job that was begun waits again, with its tickets and at its old place: its worker was lost.
  // False when nobody waits for it any more: it ends without an answer.
  bool give_back(JobId job);

  // A job that was begun has ended. Returns the tickets that get its answer, oldest first.
  std::vector<TicketId> finish(JobId job);

  // All jobs end: those that wait are dropped, those that run are to be stopped. Tickets of dropped
  // jobs are returned and have gone; those of running jobs wait for finish().
  struct Shutdown {
    std::vector<TicketId> tickets;
    std::vector<JobId> stop, dropped;
  };
  Shutdown shut_down();

  std::size_t waiting() const;  // jobs
  std::size_t running() const;

 private:
  struct Job {
    std::string key, tenant;
    int priority = 0;
    bool is_running = false, is_stopped = false;
    int overtaken = 0;
    std::vector<TicketId> tickets = {};  // in the order of their numbers
  };
  struct Ticket {
    JobId job = 0;
    int priority = 0;
    Time deadline;
  };
  struct Tenant {
    std::uint64_t starts = 0;  // counted from the least of the others when it came
    std::size_t waiting = 0;   // jobs
  };

  void begin_waiting(const std::string& tenant);
  void end_waiting(Job& job);
  void forget_ticket(std::map<TicketId, Ticket>::iterator ticket);
  void forget_key(const Job& job, JobId id);
  std::optional<JobId> chosen(const std::function<bool(JobId)>& is_preferred) const;

  std::uint64_t next_ = 1;
  std::map<JobId, Job> jobs_;
  std::map<TicketId, Ticket> tickets_;
  std::set<std::pair<Time, TicketId>> deadlines_;  // of tickets that have one
  std::map<std::string, JobId> by_key_;            // jobs that can be joined
  std::map<std::string, Tenant> tenants_;
};

}  // namespace kw::gym
