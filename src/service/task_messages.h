// The bodies of the API's calls and answers as values. docs/service.md has the JSON. Free
// functions; kInvalidArgument names the key.
#pragma once
#include <chrono>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/json.h"
#include "base/result.h"
#include "service/task_table.h"

namespace kw::service {

inline constexpr std::size_t kMaxTasksAtOnce = 1000;
inline constexpr std::chrono::seconds kLongestPoll{30};

// where: the key, for the error.
Result<std::chrono::milliseconds> poll_time(double seconds, const std::string& where);

Result<std::vector<Submission>> submissions_from_json(Json body);

struct LeaseCall {
  std::string worker = {}, name = {};
  std::string problem = {};  // hash of the one that the worker has open: its tasks are preferred
  std::size_t most = 1;
  std::chrono::milliseconds wait{0};
  Abilities can = {};      // of the worker
  std::string unfit = {};  // why it takes nothing now, though it is there; empty: it takes tasks
};
// kUnsupported for another version of the gym.
Result<LeaseCall> lease_call_from_json(const Json& body);

enum class ReportKind { kRenew, kComplete, kFail, kRelease, kLost };
std::string_view to_string(ReportKind kind);  // "renew", ...
// A worker says this of its lease.
struct LeaseReport {
  ReportKind kind = ReportKind::kRenew;
  JobId job = 0;
  std::int64_t epoch = 0;
  std::string answer = {};        // of complete
  AnswerSummary summary = {};     // the answer's
  std::optional<Error> why = {};  // of fail
};
Result<LeaseReport> lease_report_from_json(const Json& body, ReportKind kind, JobId job);
// {"reports": [{"task", "report": "complete", ...}]}
Result<std::vector<LeaseReport>> lease_reports_from_json(const Json& body);

// A place in a group's order, as clients hold it: "START-NUMBER". 0 for one of another start, so
// that nothing is missed; kInvalidArgument for other texts.
Result<std::size_t> place_of(std::string_view cursor, std::string_view start_name);
std::string cursor_of(std::size_t place, std::string_view start_name);

// Texts of answers: stored JSON goes into them as it is.
std::string status_text(TicketId id, const TaskStatus& status);
std::string group_text(const GroupStatus& group, std::string_view start_name);
std::string leases_text(const std::vector<Lease>& leases, double seconds);

std::string requests_text(const std::vector<std::string>& requests);

// kNotFound for a word that is no number of a task.
Result<std::uint64_t> task_id_of(std::string_view word);

}  // namespace kw::service
