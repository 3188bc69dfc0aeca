// TaskService: the thread that owns a TaskTable and its storage.
//
// Theory of operation: calls are closures in a mailbox. The thread takes all that wait, runs them
// on the table, commits what they changed in one transaction, and only then hands out the replies,
// so nobody hears of what a crash could still undo. Long polls wait in lists of the thread's, not
// on threads. After a commit that failed the table is ahead of the disk: every later call gets the
// error, on_broken is called, and the server must end.
#pragma once
#include <atomic>
#include <chrono>
#include <deque>
#include <functional>
#include <memory>
#include <optional>
#include <stop_token>
#include <string>
#include <thread>
#include <vector>

#include "os/mailbox.h"
#include "service/task_storage.h"
#include "service/task_table.h"

namespace kw::service {

struct TaskServiceOptions {
  TaskOptions tasks;
  std::function<TaskTable::Time()> now = std::chrono::steady_clock::now;
  std::function<void(const Error&)> on_broken = [](const Error&) {};  // once, on its thread
};

// Any thread. Replies are called once each, on its thread, and must not wait; those under way when
// it ends get kUnavailable.
class TaskService {
 public:
  template <typename T>
  using Reply = std::function<void(Result<T>)>;

  static Result<std::unique_ptr<TaskService>> start(std::unique_ptr<TaskStorage> storage,
                                                    TaskServiceOptions options);
  ~TaskService();
  TaskService(const TaskService&) = delete;
  TaskService& operator=(const TaskService&) = delete;

  // All or none. The tickets have the order of the submissions.
  void submit(std::vector<Submission> submissions, Reply<std::vector<TicketId>> reply);
  // As soon as the ticket is final, or when the wait is over or the client has gone.
  void status(TicketId ticket, std::chrono::milliseconds wait, std::stop_token gone,
              Reply<TaskStatus> reply);
  void cancel(TicketId ticket, Reply<TaskStatus> reply);
  // nullopt when nothing came in time. Nothing is leased to a client that has gone.
  // The same name again gives the same lease: for a worker that has not got the answer.
  void lease(std::string worker, std::string name, std::chrono::milliseconds wait,
             std::stop_token gone, Reply<std::optional<Lease>> reply);
  void renew(JobId job, std::int64_t epoch, Reply<bool> reply);
  void complete(JobId job, std::int64_t epoch, std::string answer, Reply<bool> reply);
  void fail_job(JobId job, std::int64_t epoch, Error why, Reply<bool> reply);
  void release(JobId job, std::int64_t epoch, Reply<bool> reply);
  void counts(Reply<TaskCounts> reply);

  const TaskOptions& tasks() const { return options_.tasks; }

 private:
  // This is called when the changes are on disk, or could not be.
  using Told = std::function<void(const Status& committed)>;
  using Call = std::function<Told(TaskTable& table, TaskTable::Time now)>;
  struct Watcher {
    TicketId ticket = 0;
    TaskTable::Time until;
    std::stop_token gone;
    Reply<TaskStatus> reply;
  };
  struct Idle {
    std::string worker, name;
    TaskTable::Time until;
    std::stop_token gone;
    Reply<std::optional<Lease>> reply;
    bool is_replaced = false;
  };

  TaskService(std::unique_ptr<TaskStorage> storage, TaskServiceOptions options, const Rows& rows);
  template <typename T, typename Do>
  void call(Reply<T> reply, Do act);
  void run(const std::stop_token& stop);
  void round(Call first);
  void hand_out(TaskTable::Time now, std::vector<Told>& told);
  void look(TaskTable::Time now, std::vector<Told>& told);
  std::chrono::milliseconds time_to_next(TaskTable::Time now) const;

  const TaskServiceOptions options_;
  std::unique_ptr<TaskStorage> storage_;
  TaskTable table_;
  os::Mailbox<Call> calls_;
  std::vector<Watcher> watchers_;
  std::deque<Idle> idle_;
  std::optional<Error> broken_;
  std::jthread thread_;  // last: it uses the rest
};

}  // namespace kw::service
