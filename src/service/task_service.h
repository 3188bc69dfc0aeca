// TaskService: the thread that owns a TaskTable and its storage.
//
// Theory of operation: calls are closures in a mailbox. The thread takes all that wait, runs them
// on the table, commits what they changed in one transaction, and only then hands out the replies,
// so nobody hears of what a crash could still undo. Calls that come during a commit share the next
// one. Long polls wait in lists of the thread's, not on threads, and cost nothing while nothing
// happens to their task. After a commit that failed the table is ahead of the disk: every later
// call gets the error, on_broken is called, and the server must end.
//
// A worker cannot renew its lease while the thread hears nobody: in a commit that takes long, or
// when the process was paused. Such a stretch, of a tenth of a lease or more, is added to all
// leases.
#pragma once
#include <atomic>
#include <chrono>
#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <stop_token>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "os/mailbox.h"
#include "service/task_messages.h"
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
  // Its work is done by the caller, who calls rest(), waits that long or until a call has come, and
  // calls turn(). For callers with a clock of their own.
  static Result<std::unique_ptr<TaskService>> start_without_thread(
      std::unique_ptr<TaskStorage> storage, TaskServiceOptions options);
  std::chrono::milliseconds rest();
  void turn() { round({}); }
  ~TaskService();
  TaskService(const TaskService&) = delete;
  TaskService& operator=(const TaskService&) = delete;

  // All or none. The tickets have the order of the submissions; there are none without room.
  struct Submitted {
    std::vector<TicketId> tickets = {};
    std::optional<NoRoom> no_room = {};
  };
  void submit(std::vector<Submission> submissions, Reply<Submitted> reply);
  // So that requests can name it by its hash. text: its JSON.
  // key: as the shelf has it. It replies with the key.
  void put_part(std::string key, std::string text, Reply<std::string> reply);
  void part(std::string key, Reply<std::string> reply);
  // As soon as the ticket is final, or when the wait is over.
  // tenant: whose ticket it must be, else kNotFound; empty: anybody's.
  void status(TicketId ticket, const std::string& tenant, std::chrono::milliseconds wait,
              Reply<TaskStatus> reply);
  // As soon as `least` more of a group's tickets are final, or all are, or the wait is over.
  struct GroupCall {
    std::string name = {};
    std::size_t after = 0, least = 1, most = 1000;
    std::chrono::milliseconds wait{0};
  };
  void group(GroupCall call, Reply<GroupStatus> reply);
  // It replies with the last ticket that was accepted of each group, if there is one.
  void newest(std::vector<std::string> groups,
              Reply<std::vector<std::optional<TaskTable::Newest>>> reply);
  void cancel(TicketId ticket, const std::string& tenant, Reply<TaskStatus> reply);
  // Its caller has gone: it expires unless it ends within `after`.
  void let_expire(TicketId ticket, const std::string& tenant, std::chrono::milliseconds after);
  // As many as there are, up to call.most; none when nothing came in time. Nothing is leased to a
  // client that has gone. The same name again gives the same leases: for a worker that has not got
  // the answer.
  void lease(LeaseCall call, std::stop_token gone, Reply<std::vector<Lease>> reply);
  // Answers with what can be compiled ahead, at once, also when there is nothing.
  void compile(LeaseCall call, Reply<std::vector<std::string>> reply);
  // Several reports of workers at once; the results have their order.
  void report(std::vector<LeaseReport> reports, Reply<std::vector<Result<bool>>> reply);
  void counts(Reply<TaskCounts> reply);
  void view(Reply<QueueView> reply);
  // It holds what has happened behind the place `after`, and how things stand. tenant: as in
  // status().
  struct Seen {
    Overview overview;
    TaskCounts counts;
    TaskTable::Time now;
  };
  void overview(const std::string& tenant, std::uint64_t after, Reply<Seen> reply);
  // The JSON of what a ticket asks for, its problem as a reference.
  void request(TicketId ticket, const std::string& tenant, Reply<std::string> reply);

  // This start of the server: places in a group's order are those of one start.
  const std::string& start_name() const { return start_name_; }
  const TaskOptions& tasks() const { return options_.tasks; }

 private:
  // This is called when the changes are on disk, or could not be.
  using Told = std::function<void(const Status& committed)>;
  using Call = std::function<Told(TaskTable& table, TaskTable::Time now)>;
  struct Watcher {
    TicketId ticket = 0;
    TaskTable::Time until;
    Reply<TaskStatus> reply;
  };
  struct GroupWatcher {
    GroupCall call;
    TaskTable::Time until;
    Reply<GroupStatus> reply;
  };
  using WatcherId = std::uint64_t;
  struct Idle {
    LeaseCall call;
    TaskTable::Time until;
    std::stop_token gone;
    Reply<std::vector<Lease>> reply;
    bool is_replaced = false;
  };

  TaskService(std::unique_ptr<TaskStorage> storage, TaskServiceOptions options, const Rows& rows);
  template <typename T, typename Do>
  void call(Reply<T> reply, Do act);
  void run(const std::stop_token& stop);
  void round(Call first);
  void make_up(TaskTable::Time now);
  void hand_out(TaskTable::Time now, std::vector<Told>& told);
  std::vector<Lease> lease_all(const LeaseCall& call, TaskTable::Time now);
  void look(TaskTable::Time now, std::vector<Told>& told);
  bool is_due(const GroupCall& call) const;
  void tell(WatcherId id, std::vector<Told>& told);
  void tell_group(WatcherId id, std::vector<Told>& told);
  std::chrono::milliseconds time_to_next(TaskTable::Time now) const;

  const TaskServiceOptions options_;
  const std::string start_name_;
  std::unique_ptr<TaskStorage> storage_;
  TaskTable table_;
  os::Mailbox<Call> calls_;
  WatcherId next_watcher_ = 1;
  std::map<WatcherId, Watcher> watchers_;
  std::map<WatcherId, GroupWatcher> group_watchers_;
  std::set<std::pair<std::string, WatcherId>> by_group_;
  std::set<std::pair<TicketId, WatcherId>> by_ticket_;
  std::set<std::pair<TaskTable::Time, WatcherId>> watch_ends_;
  std::deque<Idle> idle_;
  std::optional<Error> broken_;
  TaskTable::Time heard_until_;  // nobody has been heard since
  std::jthread thread_;          // last: it uses the rest
};

}  // namespace kw::service
