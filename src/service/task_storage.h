// TaskStorage: where the rows of a TaskTable lie. One thread at a time.
#pragma once
#include <map>
#include <optional>
#include <string>

#include "base/result.h"
#include "service/task_rows.h"

namespace kw::service {

inline tl::unexpected<Error> no_request(JobId job) {
  return fail(ErrorCode::kNotFound, "no request of job {} is stored", job);
}

class TaskStorage {
 public:
  virtual ~TaskStorage() = default;
  virtual Result<Rows> load() = 0;
  // All or nothing, and durable when it returns. kResourceExhausted for a full disk.
  virtual Status commit(const Changes& changes) = 0;
  // The request of a job that was committed and is not forgotten; kNotFound for others.
  virtual Result<std::string> request(JobId job) = 0;
};

// Forgets everything at its end.
class MemoryStorage : public TaskStorage {
 public:
  Result<Rows> load() override {
    Rows out{.next_id = next_id_};
    for (const auto& [id, row] : jobs_) {
      out.jobs.push_back(row);
      if (is_final(row.state)) out.jobs.back().request.reset();
    }
    for (const auto& [id, row] : tickets_) out.tickets.push_back(row);
    for (const auto& [hash, text] : problems_) out.problems.push_back({hash, text});
    return out;
  }
  Status commit(const Changes& changes) override {
    for (JobRow row : changes.jobs) {
      const JobRow& old = jobs_[row.id];
      if (!row.request) row.request = old.request;
      if (!row.answer) row.answer = old.answer;
      jobs_[row.id] = std::move(row);
    }
    for (const TicketRow& row : changes.tickets) tickets_[row.id] = row;
    for (JobId job : changes.forgotten) {
      jobs_.erase(job);
      std::erase_if(tickets_, [&](const auto& ticket) { return ticket.second.job == job; });
    }
    for (const ProblemRow& row : changes.problems) problems_[row.hash] = row.text;
    for (const std::string& hash : changes.forgotten_problems) problems_.erase(hash);
    if (changes.next_id != 0) next_id_ = changes.next_id;
    return {};
  }
  Result<std::string> request(JobId job) override {
    auto found = jobs_.find(job);
    if (found == jobs_.end()) return no_request(job);
    const std::optional<std::string>& text = found->second.request;
    if (!text) return no_request(job);
    return *text;
  }

 private:
  std::map<JobId, JobRow> jobs_;
  std::map<TicketId, TicketRow> tickets_;
  std::map<std::string, std::string> problems_;
  std::uint64_t next_id_ = 1;
};

}  // namespace kw::service
