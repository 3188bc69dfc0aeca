// Queue: which judgement runs next, and when one stops. A pure state machine: no thread, no clock,
// no process, and every change of state is a call. Gym runs it with threads; a service can store
// its calls and run them again.
//
// A ticket is one submitter's wish; a job is one judgement. Tickets of the same key join one job.
// A job ends early when its last ticket has gone. Each ticket keeps its own deadline, so the job
// may run until the latest of them.
//
// Order: the highest priority first; a job that has aged is before all of them. Among equal ones
// the tenant that has had the least time of judging for its weight, counted from when it last had
// nothing waiting; then a job that the caller prefers (its session is open); then, of this tenant's
// jobs of the kind of its oldest, one whose affinity no running job has; then the oldest. A job
// that others have overtaken kMaxOvertaken times goes before them.
//
// A start costs its tenant what the job is expected to take. When it ends, it costs what it took
// instead. A tenant that comes begins at the virtual time: at the least that a waiting tenant has
// had by jobs that have ended. Jobs under way do not count there, as their expected costs may be
// far from true.
//
// Jobs may be of several pools, and of several kinds. Tenants have their shares of each pool apart:
// what one has had of one pool says nothing about another. Who starts a job may take those of some
// pools and kinds alone; between pools the older job goes first.
//
// Waiting jobs lie in buckets, one for each priority, pool, tenant and kind, and the buckets of a
// priority and pool are ordered by what their tenants have had. So no call looks at every waiting
// job. What start() counts as overtaken costs each job at most kMaxOvertaken steps in its life.
#pragma once
#include <chrono>
#include <cstdint>
#include <functional>
#include <limits>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include <ext/pb_ds/assoc_container.hpp>
#include <ext/pb_ds/tree_policy.hpp>

#include "gym/queue/cost_estimates.h"

namespace kw::gym {

// One caller at a time.
class Queue {
 public:
  using Time = std::chrono::steady_clock::time_point;
  using TicketId = std::uint64_t;
  using JobId = std::uint64_t;
  // A problem usually has fewer candidates, so that who has its session open judges them all.
  static constexpr int kMaxOvertaken = 64;
  // A start looks at so many affinities of a bucket for one that no running job has.
  static constexpr std::size_t kMaxLookedAt = 64;

  struct Wish {
    std::string key = {};  // the same key asks for the same judgement
    std::string tenant = {};
    std::string affinity = {};  // the problem, for example; jobs with the same one share a session
    int priority = 0;           // the higher, the earlier; a job has the highest of its tickets
    int weight = 1;             // of the tenant, from 1 on: its share beside other tenants
    std::string pool = {};      // what the job is judged on, such as the target
    std::string kind = {};      // what else tells who can judge it
    Time deadline = Time::max();
    Time ages_at = Time::max();  // when a new job that still waits goes before all priorities
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
  // The ticket's deadline is then, unless it is earlier. Nothing happens for a ticket that has its
  // answer.
  void bring_forward(TicketId ticket, Time deadline);
  // Jobs that have waited long enough, by Wish::ages_at.
  void age(Time now);
  // When expire() next has something to do; Time::max(): never, as it stands.
  Time next_deadline() const;

  // Begins the next job; nullopt when none waits. is_preferred may be empty; it is asked about
  // waiting jobs one after the other.
  std::optional<JobId> start(const std::function<bool(JobId)>& is_preferred);
  // The same, where the jobs with this affinity are preferred; an empty one prefers none.
  // accepts: the pools and kinds to choose from; empty: all.
  using Accepts = std::function<bool(const std::string& pool, const std::string& kind)>;
  std::optional<JobId> start_with(const std::string& affinity, const Accepts& accepts = {});

  // Waiting jobs that are before this waiting one by priority and age.
  std::size_t position(JobId job) const;
  // How long the waiting jobs are expected to take that begin before this waiting one, by
  // priorities, shares and age, if no others come. nullopt: no job has ended, so nobody knows.
  std::optional<CostEstimates::Cost> work_before(JobId job) const;
  // The mean of late of all jobs; nullopt as there.
  std::optional<CostEstimates::Cost> expected() const { return estimates_.mean(); }

  // A job that was begun waits again, with its tickets and at its old place: its worker was lost.
  // False when nobody waits for it any more: it ends without an answer. cost: what its tenant is
  // charged for it; nullopt: what was expected.
  using Cost = CostEstimates::Cost;
  bool give_back(JobId job, std::optional<Cost> cost = std::nullopt);
  // Others can judge the job from now on. It keeps its place.
  void set_kind(JobId job, const std::string& kind);

  // A job that was begun has ended. Returns the tickets that get its answer, oldest first. took:
  // how long it was judged; nullopt: nobody knows.
  std::vector<TicketId> finish(JobId job, std::optional<Cost> took = std::nullopt);

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
  static constexpr int kAged = std::numeric_limits<int>::max();  // the priority of aged jobs

  using Account = std::pair<std::string, std::string>;  // pool, tenant

  struct Job {
    std::string key, affinity, kind;
    Account account;
    int priority = 0;
    Time ages_at = Time::max();
    bool is_running = false, is_stopped = false, has_aged = false;
    int overtaken = 0;
    std::uint64_t share = 0;             // while it runs: what its start added to Tenant::used
    std::vector<TicketId> tickets = {};  // in the order of their numbers
  };
  struct Ticket {
    JobId job = 0;
    int priority = 0;
    Time deadline;
  };
  struct Tenant {
    std::uint64_t used = 0;       // microseconds / weight, from the virtual time when it came
    std::uint64_t under_way = 0;  // the part of it that running jobs are expected to take
    std::size_t waiting = 0, running = 0;  // jobs
    int weight = 1;
    std::set<std::pair<int, std::string>> buckets = {};  // by priority and kind

    std::uint64_t had() const { return used - under_way; }
    std::uint64_t share_of(Cost cost) const {
      return static_cast<std::uint64_t>(cost.count()) / static_cast<std::uint64_t>(weight);
    }
  };
  template <typename Key>
  using OrderedSet =
      __gnu_pbds::tree<Key, __gnu_pbds::null_type, std::less<Key>, __gnu_pbds::rb_tree_tag,
                       __gnu_pbds::tree_order_statistics_node_update>;

  // The order of a priority's buckets. What is used may be out of date, then it is too little.
  struct Place {
    std::uint64_t used = 0;
    bool has_no_late = false;
    JobId first = 0;
    auto operator<=>(const Place&) const = default;
  };
  // The waiting jobs of one tenant, priority, pool and kind.
  struct Bucket {
    Account account;
    std::string kind;
    OrderedSet<JobId> late, rest;                        // late: overtaken too often
    std::map<std::string, std::set<JobId>> by_affinity;  // of rest; those without one too
    Place place;
  };
  // A Level has the waiting jobs of one priority and pool.
  struct Level {
    std::map<std::pair<std::string, std::string>, Bucket> buckets;  // by tenant and kind
    std::map<Place, Bucket*> order;
  };
  struct Pool {
    std::set<std::pair<std::uint64_t, std::string>> waiting_tenants = {};  // with Tenant::had()
    std::uint64_t virtual_time = 0;
  };
  // Finds the first job of a bucket's rest whose affinity no running job has, or else the first.
  JobId first_apart(const Bucket& bucket) const;
  // The first preferred job of a bucket's rest.
  using Preferred = std::function<std::optional<JobId>(const Bucket&)>;

  void begin_waiting(JobId id, const Job& job);
  void end_waiting(JobId id, const Job& job);
  void put(JobId id, const Job& job);
  void take(JobId id, const Job& job);
  void place(Level& level, Bucket& bucket);
  void set_priority(JobId id, Job& job, int priority);
  Pool& pool_of(const Job& job) { return pools_[job.account.first]; }
  Level& level_of(const Job& job) { return levels_.at(job.priority).at(job.account.first); }
  static std::pair<std::string, std::string> bucket_of(const Job& job) {
    return {job.account.second, job.kind};
  }
  static void advance(Pool& pool);
  void forgive(const std::string& pool);
  void charge(Job& job);
  void begin_running(Job& job);
  void end_running(Job& job);
  void settle(Job& job, std::optional<Cost> cost);
  void forget_idle(const Account& account);
  Cost work_of(const Bucket& bucket, std::size_t jobs) const;
  Cost work_of_all(const Level& level) const;
  void count_overtaken(JobId id, const Job& job, const Accepts& accepts);
  void forget_ticket(std::map<TicketId, Ticket>::iterator ticket);
  void forget_key(const Job& job, JobId id);
  std::optional<JobId> chosen_in(Level& level, const Preferred& preferred, const Accepts& accepts);
  std::optional<JobId> chosen(const Preferred& preferred, const Accepts& accepts);
  std::optional<JobId> start_chosen(const Preferred& preferred, const Accepts& accepts);

  std::uint64_t next_ = 1;
  std::map<JobId, Job> jobs_;
  std::map<TicketId, Ticket> tickets_;
  std::set<std::pair<Time, TicketId>> deadlines_;  // of tickets that have one
  std::map<std::string, JobId> by_key_;            // jobs that can be joined
  std::map<Account, Tenant> tenants_;
  std::map<std::string, Pool> pools_;
  std::set<std::pair<Time, JobId>> ages_;  // of waiting jobs that will age
  CostEstimates estimates_;
  std::map<std::pair<std::string, std::string>, int> running_;  // by pool and affinity: how many
  std::map<int, std::map<std::string, Level>, std::greater<>> levels_;  // by priority and pool
  OrderedSet<std::pair<int, JobId>> waiting_;                           // -priority, id
};

}  // namespace kw::gym
