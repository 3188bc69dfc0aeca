// The turns of a TaskService without a thread, by a clock of the test's.
#include "service/task_service.h"

#include <gtest/gtest.h>

namespace kw::service {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;

// Each commit takes so long, by the test's clock.
class SlowStorage : public MemoryStorage {
 public:
  SlowStorage(TaskTable::Time& now, const milliseconds& delay) : now_(now), delay_(delay) {}
  Status commit(const Changes& changes) override {
    now_ += delay_;
    return MemoryStorage::commit(changes);
  }

 private:
  TaskTable::Time& now_;
  const milliseconds& delay_;
};

class TaskServiceTest : public testing::Test {
 protected:
  TaskServiceTest() {
    TaskServiceOptions options;
    options.tasks.lease = seconds(10);
    options.now = [this] { return now; };
    service = TaskService::start_without_thread(std::make_unique<SlowStorage>(now, commit_takes),
                                                std::move(options))
                  .value();
    service->submit({{.key = "k", .request = "{}"}},
                    [this](auto submitted) { ticket = submitted->tickets.front(); });
    service->lease({.worker = "w"}, {}, [](const auto&) {});
    turn();
  }
  void turn() {
    service->turn();
    (void)service->rest();
  }
  std::string state() {
    std::string out;
    service->status(ticket, "", milliseconds(0), [&](auto status) { out = status->state; });
    turn();
    return out;
  }

  TaskTable::Time now{seconds(1000)};
  milliseconds commit_takes{0};
  std::unique_ptr<TaskService> service;
  TicketId ticket = 0;
};

// A worker opens each problem that it is given.
TEST_F(TaskServiceTest, SeveralTasksForOneWorkerAreOfOneProblem) {
  for (const char* key : {"p 1", "q 1", "p 2", "q 2"})
    service->submit(
        {{.key = key, .problem = std::string(1, key[0]), .problem_text = "{}", .request = key}},
        [](const auto&) {});
  std::vector<std::string> given;
  service->lease({.worker = "w", .most = 2}, {}, [&](const auto& leases) {
    for (const Lease& each : *leases) given.push_back(each.request);
  });
  turn();
  EXPECT_EQ(given, (std::vector<std::string>{"p 1", "p 2"}));
}

// Its worker goes on with what it has open.
TEST_F(TaskServiceTest, ATaskWithoutAProblemLeavesTheOthersWithTheirs) {
  service->submit({{.key = "bare", .priority = 1, .request = "bare"}}, [](const auto&) {});
  for (const char* key : {"q 1", "p 1"})
    service->submit(
        {{.key = key, .problem = std::string(1, key[0]), .problem_text = "{}", .request = key}},
        [](const auto&) {});
  std::vector<std::string> given;
  service->lease({.worker = "w", .problem = "p", .most = 3}, {}, [&](const auto& leases) {
    for (const Lease& each : *leases) given.push_back(each.request);
  });
  turn();
  EXPECT_EQ(given, (std::vector<std::string>{"bare", "p 1", "q 1"}));
}

TEST(TaskServiceStart, RowsThatDoNotBelongTogetherAreRefused) {
  auto storage = std::make_unique<MemoryStorage>();
  ASSERT_TRUE(storage->commit({.tickets = {{.id = 4, .job = 3}}}));
  const auto started = TaskService::start_without_thread(std::move(storage), {});
  ASSERT_FALSE(started.has_value());
  EXPECT_EQ(started.error().code(), ErrorCode::kDataLoss);
  EXPECT_NE(started.error().message().find("task 4 without its judgement 3"), std::string::npos);
}

TEST_F(TaskServiceTest, ASilentWorkerIsLost) {
  for (int i = 0; i < 10; ++i) {
    EXPECT_EQ(state(), "leased");
    now += service->rest();
  }
  EXPECT_EQ(state(), "waiting");
}

// Equal workers wait for a lease. The one that failed the task does not stand for the others.
TEST_F(TaskServiceTest, ARetryFindsAnotherWorkerBesideTheOneThatFailed) {
  std::vector<std::string> told;
  service->report({{.kind = ReportKind::kFail,
                    .job = 2,
                    .epoch = 1,
                    .why = Error(ErrorCode::kUnavailable, "gone")}},
                  [](const auto&) {});
  for (const char* worker : {"w", "x"})
    service->lease({.worker = worker, .wait = seconds(30)}, {},
                   [&told, worker](const auto& leases) {
                     if (!leases) return;  // the service ends
                     for (const Lease& each : *leases)
                       told.push_back(fmt::format("{} {}", worker, each.epoch));
                   });
  turn();
  for (int i = 0; i < 3 && told.empty(); ++i) {
    EXPECT_EQ(state(), "waiting");
    now += milliseconds(500);
    turn();
  }
  EXPECT_EQ(told, std::vector<std::string>{"x 2"});
}

TEST_F(TaskServiceTest, APauseOfTheServerIsNoSilenceOfAWorker) {
  now += seconds(60);
  EXPECT_EQ(state(), "leased");
  now += seconds(9);
  EXPECT_EQ(state(), "leased");
}

TEST_F(TaskServiceTest, ASlowCommitIsNoSilenceOfAWorker) {
  commit_takes = seconds(40);
  service->submit({{.key = "other", .request = "{}"}}, [](const auto&) {});
  turn();
  commit_takes = milliseconds(0);
  EXPECT_EQ(state(), "leased");
}

}  // namespace
}  // namespace kw::service
