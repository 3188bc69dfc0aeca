// Promises: what callers and workers of a simulated server have seen, and whether it keeps the
// promises of docs/service.md. It knows nothing of how the server works.
#pragma once
#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "base/result.h"
#include "service/task_messages.h"
#include "service/task_table.h"
#include "world.h"

namespace kw::service::simulation {

// A wish of a client.
struct Wish {
  std::string name;  // of the submission
  std::string key, request;
  milliseconds timeout{0};  // 0: none
  Time sent{};              // first, by the server's clock
};

// One thread.
class Promises {
 public:
  Promises(World& world, milliseconds lease) : world_(world), lease_(lease) {}

  // Times are those of the server's clock when it acted.
  void accepted(const Wish& wish, TicketId ticket, Time at);
  void will_cancel(TicketId ticket) { asked_to_cancel_.insert(ticket); }
  void seen(TicketId ticket, const Result<TaskStatus>& status, Time at);
  // The status after a cancellation.
  void cancelled(TicketId ticket, const TaskStatus& status);
  // A group has ended, and these are the tickets that it told in one start of the server.
  void group_ended(const std::string& group, const std::vector<TicketId>& accepted,
                   const std::vector<TicketId>& told);
  // A server that has no task of the group, or this many.
  void group_at_end(const std::string& group, std::size_t wanted, std::size_t there);

  void granted(const Lease& lease, const std::string& name);
  // What the server decides in a turn: a lease that it grants, and a failure or a death that it
  // takes from a worker.
  void leased(const Lease& lease, const std::string& worker, Time at);
  void failure_taken(const LeaseReport& report, const std::string& worker, Time at);
  // The key that a lease's request asks for.
  std::optional<std::string> key_of(const std::string& request) const;
  void answers(const Lease& lease, const std::string& answer);
  void answer_taken(const LeaseReport& report);
  void fails(const LeaseReport& report);
  void killed(JobId job);
  // A worker says that the life before it died with this lease.
  void told_lost(const LeaseReport& report) {
    silence_[{report.job, report.epoch}].longest = lease_;
  }

  // The server hears something of a lease, or grants it; silence is counted in the time in which it
  // could hear.
  void heard(JobId job, std::int64_t epoch);
  void listened(std::chrono::nanoseconds time) { listened_ += time; }
  void server_started(Time at);

  // All of it is over: what was accepted has ended.
  std::vector<TicketId> open() const;
  const std::map<TicketId, Wish>& wishes() const { return wishes_; }
  void broken(std::string what);
  const std::optional<std::string>& violation() const { return violation_; }
  bool holds() const { return !violation_.has_value(); }
  // Ends by state, to see that a run has seen something.
  std::map<std::string, int> ends() const;

 private:
  using LeaseOf = std::pair<JobId, std::int64_t>;
  struct Produced {
    JobId job = 0;
    std::int64_t epoch = 0;
    std::string key;
  };
  struct Silence {
    std::chrono::nanoseconds since{0}, longest{0};
  };
  void check_end(TicketId ticket, const TaskStatus& status, Time at);
  int silent_leases(JobId job, int leases) const;

  World& world_;
  const milliseconds lease_;
  std::optional<std::string> violation_;
  std::map<TicketId, Wish> wishes_;
  std::map<TicketId, Time> accepted_at_;
  std::map<std::string, TicketId> ticket_of_;
  std::set<TicketId> asked_to_cancel_;
  struct End {
    std::string state, answer;
    Time at;  // of the earliest reply that says so
  };
  std::map<TicketId, End> end_of_;
  std::map<std::string, std::string> key_of_request_;
  std::map<LeaseOf, std::string> lease_names_;
  struct Failure {
    std::set<std::string> workers;
    Time at;  // of the last one
  };
  std::map<JobId, Failure> failures_;  // in this start of the server
  std::set<LeaseOf> leased_;
  std::map<JobId, std::int64_t> newest_epoch_;
  std::map<JobId, std::string> key_of_job_;
  std::map<std::string, Produced> produced_;
  std::map<JobId, LeaseReport> taken_;
  std::map<JobId, std::set<std::int64_t>> retried_;  // epochs that failed
  std::set<JobId> failed_for_good_;
  std::map<JobId, int> kills_;
  std::map<LeaseOf, Silence> silence_;
  std::chrono::nanoseconds listened_{0};
  Time started_{};
};

}  // namespace kw::service::simulation
