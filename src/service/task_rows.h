// Rows: the stored form of tasks. A job is one judgement; a ticket is one submitter's wish for it.
#pragma once
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"

namespace kw::service {

using JobId = std::uint64_t;
using TicketId = std::uint64_t;

// The numbers are stored: never renumber them.
enum class JobState {
  kWaiting = 0,
  kLeased = 1,
  kDone = 2,       // has a verdict
  kFailed = 3,     // the infrastructure failed: has an error, and no verdict
  kDead = 4,       // dead letter: workers were lost while they judged it
  kCancelled = 5,  // nobody waits for it any more
};
enum class TicketState { kOpen = 0, kCancelled = 1, kExpired = 2 };

std::string_view to_string(JobState state);  // "waiting", "leased", ...
inline bool is_final(JobState state) {
  return state >= JobState::kDone;
}

// The answer for a ticket that is not known, or is another tenant's.
tl::unexpected<Error> unknown_task(TicketId ticket);

struct JobRow {
  JobId id = 0;
  std::string key = {}, tenant = {};
  std::string problem = {};  // hash; empty: none, or the request has the problem itself
  std::string needs = {};    // Needs::text(); empty: it came before schema 5
  JobState state = JobState::kWaiting;
  std::int64_t epoch = 0;   // of the last lease: each lease has the next one
  int lost = 0;             // workers that went away with it
  int failures = 0;         // of the infrastructure
  std::string worker = {};  // that had it last
  std::string lease = {};   // the worker's own name for that lease; empty: none
  std::uint64_t ended = 0;  // its place among the ends of all jobs, from 1 on; 0: it has none
  // JSON texts. In changes: nullopt for what stays as it is stored.
  std::optional<std::string> request = {}, answer = {};
  bool operator==(const JobRow&) const = default;
};

struct TicketRow {
  TicketId id = 0;
  JobId job = 0;
  std::string submission = {};  // the submitter's own name for it; empty: none
  int priority = 0;
  std::int64_t timeout_ms = 0;  // 0: none. Counted from the acceptance, or the server's start
  TicketState state = TicketState::kOpen;
  std::string owner = {};  // the tenant of the submitter's token; empty: it had none
  std::string group = {};  // the submitter's name for tickets that it waits for together
  bool operator==(const TicketRow&) const = default;
};

struct ProblemRow {
  std::string hash = {};
  std::string text = {};  // JSON
  bool operator==(const ProblemRow&) const = default;
};

// One transaction.
struct Changes {
  std::vector<JobRow> jobs = {};
  std::vector<TicketRow> tickets = {};
  std::vector<JobId> forgotten = {};  // with their tickets
  std::vector<ProblemRow> problems = {};
  std::vector<std::string> forgotten_problems = {};  // hashes
  std::uint64_t next_id = 0;                         // 0: unchanged
  bool empty() const {
    return jobs.empty() && tickets.empty() && forgotten.empty() && problems.empty() &&
           forgotten_problems.empty() && next_id == 0;
  }
};

// Everything, each list in the order of its ids, or hashes. Jobs that are final come without their
// request.
struct Rows {
  std::vector<JobRow> jobs = {};
  std::vector<TicketRow> tickets = {};
  std::vector<ProblemRow> problems = {};
  std::uint64_t next_id = 1;
  bool operator==(const Rows&) const = default;
};

// kDataLoss names the first ticket whose job is not among the rows.
Status check_rows(const Rows& rows);

}  // namespace kw::service
