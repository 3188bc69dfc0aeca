// The state machine by itself, and over SQLite.
#include "service/task_table.h"

#include <cmath>
#include <filesystem>
#include <map>
#include <random>

#include <gtest/gtest.h>
#include <sqlite3.h>

#include "os/file.h"
#include "service/sqlite_storage.h"
#include "service/testing/storage_simulation.h"

namespace kw::service {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;

constexpr TaskOptions kOptions = {
    .lease = seconds(10), .most_waiting = 30, .kept = 1000, .problems = {.most_idle = 1}};

class TaskTableTest : public testing::Test {
 protected:
  bool has_room(const TaskTable& in, const std::vector<Submission>& submissions) const {
    return !in.lacks_room(submissions, now).has_value();
  }
  TicketId submit(const std::string& key, int priority = 0, std::int64_t timeout_ms = 0) {
    return table.submit(
        {.key = key, .priority = priority, .timeout_ms = timeout_ms, .request = "{}"}, now);
  }
  std::string state(TicketId ticket) { return table.status(ticket)->state; }
  void let_pass(milliseconds time) {
    now += time;
    table.expire(now);
  }
  // The pause before a retry goes by, and the time in which it is kept for other workers.
  void pass_retry() {
    let_pass(seconds(24));
    let_pass(seconds(5));
  }

  TaskTable::Time now{seconds(1000)};
  TaskTable table{kOptions, {}, now};
};

TEST_F(TaskTableTest, JoinsEqualRequestsAndAnswersEachSubmitter) {
  const TicketId a = submit("k"), b = submit("k"), other = submit("l", 1);
  EXPECT_EQ(table.counts().waiting, 2U);
  EXPECT_EQ(table.status(a)->position, 1U);
  EXPECT_EQ(table.status(other)->position, 0U);
  EXPECT_EQ(table.lease("w", "", now)->epoch, 1);
  const auto lease = table.lease("w", "", now);
  ASSERT_TRUE(table.cancel(a).has_value());
  ASSERT_TRUE(table.complete(lease->job, 1, R"({"verdict":1})", now).has_value());
  EXPECT_EQ(state(a), "cancelled");
  EXPECT_EQ(table.status(b)->answer, R"({"verdict":1})");
  EXPECT_FALSE(table.lease("w", "", now).has_value());
}

TEST_F(TaskTableTest, AWorkerGetsOnlyWhatItCanJudge) {
  const auto submit_for = [&](const std::string& key, Needs needs) {
    return table.submit({.key = key, .needs = std::move(needs), .request = key}, now);
  };
  const Abilities cpu({{"cpu", {"cpp", "python"}}}, sandbox::Level::kNamespaces);
  const Abilities gpu({{"cpu", {}}, {"cuda", {}}}, sandbox::Level::kFull);
  submit_for("gpu", {"cuda", "triton"});
  submit_for("safe", {"cpu", "cpp", sandbox::Level::kFull});
  submit_for("plain", {"cpu", "cpp"});
  EXPECT_EQ(table.lease("c", "", now, "", cpu)->request, "plain");
  EXPECT_FALSE(table.lease("c", "", now, "", cpu).has_value());
  EXPECT_EQ(table.lease("g", "", now, "", gpu)->request, "gpu");
  EXPECT_EQ(table.lease("g", "", now, "", gpu)->request, "safe");
}

TEST_F(TaskTableTest, ATaskThatNobodyHereCanJudgeFailsInTheEnd) {
  const Abilities cpu({{"cpu", {}}}, sandbox::Level::kFull),
      gpu({{"cuda", {}}}, sandbox::Level::kFull);
  const auto submit_cuda = [&](const std::string& key) {
    return table.submit({.key = key, .needs = {"cuda", "ptx"}, .request = "{}"}, now);
  };
  const TicketId first = submit_cuda("a"), twin = submit_cuda("a");
  const auto pass = [&](seconds time) {
    for (const TaskTable::Time end = now + time; now < end; now += seconds(1)) {
      table.see_worker("c", now, cpu);
      table.expire(now);
    }
  };
  now += seconds(10000);  // nobody is there at all
  table.expire(now);
  EXPECT_EQ(table.status(first)->waits_for, "");
  pass(seconds(299));
  EXPECT_EQ(state(first), "waiting");
  EXPECT_EQ(table.status(first)->waits_for, "a worker that judges ptx on cuda");
  table.see_worker("g", now, gpu);  // the time begins anew
  pass(seconds(10 + 299));
  EXPECT_EQ(state(first), "waiting");
  pass(seconds(3));
  EXPECT_EQ(state(first), "failed");
  EXPECT_EQ(state(twin), "failed");
  EXPECT_EQ(table.status(first)->answer,
            R"({"error":{"code":"unsupported","message":"it needs a worker that judges ptx on )"
            R"(cuda, and none has been here for 300 seconds"}})");
  EXPECT_EQ(table.take_ended(now).size(), 2U);
  const TicketId late = submit_cuda("b");  // known already
  pass(seconds(1));
  EXPECT_EQ(state(late), "failed");
  table.see_worker("g", now, gpu);
  const TicketId served = submit_cuda("c");
  pass(seconds(5));
  EXPECT_EQ(state(served), "waiting");
  EXPECT_TRUE(table.lease("g", "", now, "", gpu).has_value());
}

TEST_F(TaskTableTest, WhatWaitsIsToldOnceToThoseThatCompileAhead) {
  const auto add = [&](const char* key, Needs needs, int priority = 0) {
    return table.submit(
        {.key = key, .priority = priority, .needs = std::move(needs), .request = key}, now);
  };
  add("a", {"cuda", "cuda"});
  add("b", {"cuda", "ptx"}, 1);
  add("python", {"cuda", "python"});
  add("c", {"cpu", "cpp"});
  const TicketId gone = add("gone", {"cuda", "cuda"});
  ASSERT_TRUE(table.cancel(gone));
  const Abilities gpu({{"cuda", {"cuda", "ptx"}}}, sandbox::Level::kFull);
  using Requests = std::vector<std::string>;
  EXPECT_EQ(table.to_compile(1, gpu), Requests{"b"});
  EXPECT_EQ(table.to_compile(9, gpu), Requests{"a"});
  EXPECT_EQ(table.to_compile(9, gpu), Requests{});
  EXPECT_EQ(table.counts().waiting, 4U) << "they wait on";
  EXPECT_EQ(table.lease("w", "", now)->request, "b");
  EXPECT_EQ(table.to_compile(9, Abilities()), Requests{"c"});
}

TEST_F(TaskTableTest, WhatATaskNeedsOutlivesTheServer) {
  MemoryStorage storage;
  table.submit({.key = "a", .needs = {"cuda", "ptx"}, .request = "{}"}, now);
  ASSERT_TRUE(storage.commit(table.take_changes()));
  TaskTable next(kOptions, storage.load().value(), now);
  EXPECT_FALSE(next.lease("w", "", now, "", Abilities({{"cpu", {}}}, sandbox::Level::kFull)));
  EXPECT_TRUE(next.lease("w", "", now, "", Abilities({{"cuda", {}}}, sandbox::Level::kFull)));
}

TEST_F(TaskTableTest, RefusesTheAnswerOfAnOlderEpoch) {
  const TicketId ticket = submit("k");
  const auto first = table.lease("slow", "", now);
  now += seconds(10);
  table.expire(now);
  EXPECT_EQ(state(ticket), "waiting");
  const auto late = table.complete(first->job, first->epoch, "{}", now);
  ASSERT_FALSE(late.has_value());
  EXPECT_EQ(late.error().code(), ErrorCode::kAlreadyExists);
  EXPECT_EQ(late.error().message(),
            "task 2: the lease with epoch 1 is over; the task is waiting, its epoch is 1");
  let_pass(milliseconds(1500));
  const auto second = table.lease("w", "", now);
  EXPECT_EQ(second->epoch, 2);
  EXPECT_FALSE(table.renew(first->job, 1, now).has_value());
  EXPECT_TRUE(table.complete(second->job, 2, "{}", now).has_value());
  EXPECT_TRUE(table.complete(second->job, 2, "{}", now).has_value()) << "its answer was lost";
  EXPECT_FALSE(table.complete(second->job, 2, "{ }", now).has_value());
  EXPECT_FALSE(table.fail_job(second->job, 2, {ErrorCode::kUnavailable, ""}, now).has_value());
}

TEST_F(TaskTableTest, ALeaseWhoseAnswerWasLostIsFoundByItsName) {
  const TicketId ticket = submit("k");
  EXPECT_FALSE(table.leased_as("n", now).has_value());
  const auto lease = table.lease("w", "n", now);
  now += seconds(9);
  const auto again = table.leased_as("n", now);
  ASSERT_TRUE(again.has_value());
  EXPECT_EQ(std::pair(again->job, again->epoch), std::pair(lease->job, lease->epoch));
  now += seconds(9);
  table.expire(now);
  EXPECT_EQ(state(ticket), "leased") << "it was renewed";
  ASSERT_TRUE(table.complete(lease->job, 1, "{}", now));
  EXPECT_FALSE(table.leased_as("n", now).has_value());
}

TEST_F(TaskTableTest, RenewalKeepsALeaseAndTwoLostWorkersAreADeadLetter) {
  const TicketId ticket = submit("k");
  const auto lease = table.lease("w", "", now);
  for (int i = 0; i < 5; ++i) {
    now += seconds(9);
    table.expire(now);
    EXPECT_EQ(table.renew(lease->job, 1, now), true);
  }
  EXPECT_EQ(table.next_deadline(), now + seconds(10));
  for (int i = 0; i < 2; ++i) {
    now += seconds(10);
    table.expire(now);
    if (i > 0) break;
    let_pass(milliseconds(1500));
    EXPECT_TRUE(table.lease("x", "", now).has_value());
  }
  EXPECT_EQ(state(ticket), "dead");
  EXPECT_NE(table.status(ticket)->answer.find("2 workers were lost"), std::string::npos);
  EXPECT_EQ(table.counts().lost_workers, 2U);
}

TEST_F(TaskTableTest, RetriesTheInfrastructuresFailuresThreeTimesAndOthersNever) {
  const TicketId a = submit("a");
  for (int i = 0; i < TaskTable::kMaxFailures; ++i) {
    EXPECT_EQ(state(a), "waiting");
    const auto lease = table.lease("w", "", now);
    ASSERT_TRUE(table.fail_job(lease->job, lease->epoch, {ErrorCode::kUnavailable, "gone"}, now));
    pass_retry();
  }
  EXPECT_EQ(state(a), "failed");
  EXPECT_EQ(table.status(a)->answer, R"({"error":{"code":"unavailable","message":"gone"}})");
  const TicketId b = submit("b");
  const auto never = table.lease("w", "", now);
  ASSERT_TRUE(table.fail_job(never->job, 1, {ErrorCode::kUnsupported, "no"}, now));
  EXPECT_EQ(state(b), "failed");
  const TicketId c = submit("c");
  for (int i = 0; i < 9; ++i) {
    const auto lease = table.lease("w", "", now);
    ASSERT_TRUE(table.release(lease->job, lease->epoch));
  }
  EXPECT_EQ(state(c), "waiting") << "a worker that ends is no failure";
}

TEST_F(TaskTableTest, ARetryWaitsAndGoesToAnotherWorker) {
  const TicketId ticket = submit("k");
  const auto first = table.lease("a", "", now);
  table.see_worker("b", now);
  ASSERT_TRUE(table.fail_job(first->job, 1, {ErrorCode::kUnavailable, "gone"}, now));
  EXPECT_EQ(table.counts().pausing, 1U);
  EXPECT_FALSE(table.lease("b", "", now).has_value());
  const double pause = table.status(ticket)->retry_in_seconds.value();
  EXPECT_GE(pause, 0.5);
  EXPECT_LE(pause, 1.5);
  EXPECT_EQ(table.next_deadline(), now + milliseconds(std::lround(pause * 1000)));
  let_pass(milliseconds(std::lround(pause * 1000)));
  EXPECT_FALSE(table.status(ticket)->retry_in_seconds.has_value());
  EXPECT_TRUE(table.status(ticket)->is_for_others);
  EXPECT_EQ(table.counts().for_others, 1U);
  EXPECT_FALSE(table.lease("a", "", now).has_value());
  for (int i = 0; i < 3; ++i) {
    table.see_worker("b", now);
    let_pass(seconds(5));
    EXPECT_FALSE(table.lease("a", "", now).has_value()) << "b is there";
  }
  EXPECT_EQ(table.lease("b", "", now)->epoch, 2);
  EXPECT_EQ(table.counts().retried_elsewhere, 1U);
  EXPECT_EQ(table.counts().for_others, 0U);
}

TEST_F(TaskTableTest, ARetryIsNotKeptForWorkersThatCannotJudgeIt) {
  const auto of = [](const char* target) {
    return Abilities({{target, {}}}, sandbox::Level::kFull);
  };
  const TicketId ticket = table.submit({.key = "k", .needs = {"cpu", "cpp"}, .request = "{}"}, now);
  const auto first = table.lease("a", "", now, "", of("cpu"));
  ASSERT_TRUE(table.lost(first->job, 1, now));
  let_pass(milliseconds(1500));
  table.see_worker("of a GPU", now, of("cuda"));
  table.see_worker("in quarantine", now, of("cpu"), "its disk is full");
  let_pass(seconds(5));
  EXPECT_FALSE(table.status(ticket)->is_for_others);
  EXPECT_EQ(table.lease("a", "", now, "", of("cpu"))->epoch, 2);
  EXPECT_EQ(table.counts().retried_there, 1U);
}

TEST_F(TaskTableTest, ARetryWaitsAnewAfterTheServersRestart) {
  MemoryStorage storage;
  submit("k");
  const auto first = table.lease("a", "", now);
  ASSERT_TRUE(table.fail_job(first->job, 1, {ErrorCode::kUnavailable, "gone"}, now));
  ASSERT_TRUE(storage.commit(table.take_changes()));
  TaskTable next(kOptions, storage.load().value(), now);
  EXPECT_EQ(next.counts().pausing, 1U);
  EXPECT_FALSE(next.lease("b", "", now).has_value());
  next.expire(now + milliseconds(1500));
  EXPECT_FALSE(next.lease("a", "", now).has_value());
  EXPECT_TRUE(next.lease("b", "", now).has_value());
}

TEST_F(TaskTableTest, StopsAJudgementThatNobodyWaitsFor) {
  const TicketId a = submit("k", 0, 5000);
  const auto lease = table.lease("w", "", now);
  EXPECT_EQ(table.renew(lease->job, 1, now), true);
  now += seconds(5);
  table.expire(now);
  EXPECT_EQ(state(a), "expired");
  EXPECT_EQ(table.renew(lease->job, 1, now), false);
  const TicketId b = submit("k");
  ASSERT_TRUE(table.complete(lease->job, 1, "{}", now));
  EXPECT_EQ(state(b), "waiting") << "it came after the stop, and has a judgement of its own";
  EXPECT_EQ(table.counts().cancelled, 1U);
}

TEST_F(TaskTableTest, ATicketWithoutItsCallerExpires) {
  const TicketId left = submit("k"), other = submit("other");
  ASSERT_TRUE(table.let_expire(left, seconds(60), now));
  const TicketId joined = submit("k");
  now += seconds(60);
  table.expire(now);
  EXPECT_EQ(state(left), "expired");
  EXPECT_EQ(state(joined), "waiting");
  EXPECT_EQ(table.status(joined)->position, 0U) << "it has the place of the first";
  EXPECT_EQ(state(other), "waiting");
  ASSERT_TRUE(table.let_expire(left, seconds(60), now)) << "it has its end";
  EXPECT_FALSE(table.let_expire(999, seconds(60), now));
}

TEST_F(TaskTableTest, LimitsWhatWaitsAndForgetsTheOldest) {
  std::vector<Submission> many(31);
  EXPECT_FALSE(has_room(table, many));
  many.pop_back();
  EXPECT_TRUE(has_room(table, many));
  TaskTable small({.kept = 1}, {}, now);
  const auto judged = [&](const char* name) {
    const TicketId out = small.submit({.submission = name, .key = name, .request = "{}"}, now);
    EXPECT_TRUE(small.complete(small.lease("w", "", now).value().job, 1, "{}", now));
    return out;
  };
  const TicketId s = judged("s"), t = judged("t");
  EXPECT_EQ(small.submit({.submission = "s", .key = "other", .request = "{}"}, now), s);
  EXPECT_EQ(small.take_changes().forgotten.size(), 1U);
  EXPECT_EQ(small.status(s).error().code(), ErrorCode::kNotFound);
  EXPECT_TRUE(small.status(t));
  EXPECT_NE(small.submit({.submission = "s", .key = "s", .request = "{}"}, now), s);
}

TEST_F(TaskTableTest, AGroupTellsItsEndsInTheirOrder) {
  const auto add = [&](TaskTable& to, const char* key, const char* group) {
    return to.submit({.key = key, .group = group, .request = "{}"}, now);
  };
  const TicketId a = add(table, "a", "g"), b = add(table, "b", "g"), c = add(table, "c", "g");
  add(table, "d", "h");
  EXPECT_EQ(table.newest_of("g")->ticket, c);
  EXPECT_EQ(table.newest_of("g")->key, "c");
  EXPECT_EQ(table.newest_of("g")->status.state, "waiting");
  EXPECT_FALSE(table.newest_of("x").has_value());
  EXPECT_EQ(table.group("x", 0, 9).error().code(), ErrorCode::kNotFound);
  ASSERT_TRUE(table.cancel(b));
  ASSERT_TRUE(table.complete(table.lease("w", "", now)->job, 1, "{\"n\":1}", now));
  EXPECT_EQ(table.take_ended(now), (std::vector<TicketId>{b, a}));
  EXPECT_TRUE(table.take_ended(now).empty());
  auto group = table.group("g", 0, 1).value();
  EXPECT_EQ(std::tuple(group.open, group.in_all, group.next), std::tuple(1U, 2U, 1U));
  EXPECT_EQ(group.ended.at(0).first, b);
  group = table.group("g", group.next, 9).value();
  EXPECT_EQ(group.ended.at(0).first, a);
  EXPECT_EQ(group.ended.at(0).second.answer, "{\"n\":1}");
  // The next start tells them again, in the order of their numbers.
  MemoryStorage memory;
  ASSERT_TRUE(memory.commit(table.take_changes()));
  const TaskTable next({}, memory.load().value(), now);
  group = next.group("g", 0, 9).value();
  EXPECT_EQ(group.open, 1U);
  ASSERT_EQ(group.ended.size(), 2U);
  EXPECT_EQ(group.ended.at(0).first, a);
  EXPECT_FALSE(next.is_final(c));
  EXPECT_EQ(next.newest_of("g")->ticket, c);
}

TEST_F(TaskTableTest, AGroupForgetsWithItsTasks) {
  TaskTable small({.kept = 1}, {}, now);
  const auto judged = [&](const char* key) {
    small.submit({.key = key, .group = "g", .request = "{}"}, now);
    EXPECT_TRUE(small.complete(small.lease("w", "", now)->job, 1, "{}", now));
    (void)small.take_changes();
  };
  judged("a");
  judged("b");
  const auto group = small.group("g", 0, 9).value();
  EXPECT_EQ(std::tuple(group.in_all, group.next, group.ended.size()), std::tuple(2U, 2U, 1U));
  small.submit({.key = "c", .request = "{}"}, now);
  EXPECT_TRUE(small.complete(small.lease("w", "", now)->job, 1, "{}", now));
  (void)small.take_changes();
  EXPECT_FALSE(small.group("g", 0, 9).has_value());
}

// Whoever waits for the last task of a group may hear of the first ones with it.
TEST_F(TaskTableTest, WhatEndedInAGroupIsKnownUntilAllOfItHasEnded) {
  MemoryStorage memory;
  TaskTable small({.kept = 2}, {}, now);
  int number = 0;
  const auto judge_others = [&](TaskTable& in, int count) {
    while (count-- > 0) {
      in.submit({.key = fmt::format("{}", ++number), .priority = 1, .request = "{}"}, now);
      ASSERT_TRUE(in.complete(in.lease("w", "", now)->job, 1, "{}", now));
      ASSERT_TRUE(memory.commit(in.take_changes()));
    }
  };
  small.submit({.key = "a", .group = "g", .request = "{}"}, now);
  small.submit({.key = "b", .group = "g", .request = "{}"}, now);
  ASSERT_TRUE(small.complete(small.lease("w", "", now)->job, 1, "{}", now));
  judge_others(small, 5);
  EXPECT_EQ(small.group("g", 0, 9)->ended.size(), 1U);
  TaskTable next({.kept = 2}, memory.load().value(), now);
  judge_others(next, 5);
  EXPECT_EQ(next.group("g", 0, 9)->ended.size(), 1U);
  ASSERT_TRUE(next.complete(next.lease("w", "", now)->job, 1, "{}", now));
  ASSERT_TRUE(memory.commit(next.take_changes()));
  EXPECT_EQ(next.group("g", 0, 9)->ended.size(), 2U);
  // Another start takes both for what ended last.
  TaskTable last({.kept = 2}, memory.load().value(), now);
  EXPECT_EQ(last.group("g", 0, 9)->ended.size(), 2U);
  judge_others(last, 1);
  EXPECT_EQ(last.group("g", 0, 9)->ended.size(), 1U);
  judge_others(last, 1);
  EXPECT_FALSE(last.group("g", 0, 9).has_value());
}

TEST_F(TaskTableTest, AnOwnerHasItsQuotaAndSeesItsOwn) {
  const auto some = [](const char* owner, std::initializer_list<const char*> names) {
    std::vector<Submission> out;
    for (const char* name : names)
      out.push_back(
          {.submission = name, .key = name, .owner = owner, .most_open = 2, .request = "{}"});
    return out;
  };
  EXPECT_EQ(table.lacks_room(some("o", {"a", "b", "c"}), now).value().why,
            "0 tasks of o are under way, and it may have 2: try again later");
  const auto first = some("o", {"a", "b"});
  ASSERT_TRUE(has_room(table, first));
  const TicketId a = table.submit(first[0], now);
  table.submit(first[1], now);
  EXPECT_TRUE(has_room(table, first)) << "known by name";
  EXPECT_FALSE(has_room(table, some("o", {"c"})));
  EXPECT_TRUE(has_room(table, some("p", {"c"})));
  EXPECT_TRUE(table.is_of(a, "o") && table.is_of(a, "") && !table.is_of(a, "p"));
  ASSERT_TRUE(table.cancel(a));
  EXPECT_TRUE(has_room(table, some("o", {"c"})));
}

TEST_F(TaskTableTest, AWorkerKeepsItsProblem) {
  const auto add = [&](const char* key, const char* problem) {
    table.submit({.key = key, .problem = problem, .problem_text = problem, .request = key}, now);
  };
  add("a", "p");
  add("b", "q");
  add("c", "p");
  EXPECT_EQ(table.lease("w", "", now, "q")->request, "b");
  EXPECT_EQ(table.lease("w", "", now, "q")->request, "a");
}

TEST_F(TaskTableTest, ARequestMayNameAProblemThatIsKnownOrCameBefore) {
  const auto asks = [](const char* problem, const char* text) {
    return Submission{.key = problem, .problem = problem, .problem_text = text, .request = "{}"};
  };
  const auto unknown = table.knows_parts({asks("p", "text"), asks("p", ""), asks("q", "")});
  ASSERT_FALSE(unknown.has_value());
  EXPECT_EQ(unknown.error().code(), ErrorCode::kNotFound);
  EXPECT_EQ(unknown.error().message(),
            "tasks[2].request.problem: no problem q here: send it whole, or first to POST "
            "/v1/problems");
  table.put_part("q", "other text");
  EXPECT_TRUE(table.knows_parts({asks("p", "text"), asks("p", ""), asks("q", "")}));
}

TEST_F(TaskTableTest, TheProblemsOfWaitingTasksTakeRoomOnce) {
  TaskOptions options = kOptions;
  options.most_waiting_bytes = 1000;
  TaskTable small(options, {}, now);
  const Submission large{
      .key = "a", .problem = "p", .problem_text = std::string(900, ' '), .request = "{}"};
  ASSERT_TRUE(has_room(small, {large}));
  small.submit(large, now);
  Submission other = large;
  other.key = "b";
  EXPECT_TRUE(has_room(small, {other}));
  other.problem = "q";
  EXPECT_FALSE(has_room(small, {other}));
}

TEST(TaskSimulation, SqliteAndMemoryAgreeThroughCuts) {
  const auto folder = os::TempDir::make("kw-tasks-");
  ASSERT_TRUE(folder.has_value());
  for (unsigned seed = 1; seed <= 10; ++seed) {
    agree_through_cuts(
        seed, [&] { return open_sqlite_storage(folder->path() / std::to_string(seed)).value(); });
    if (testing::Test::HasFatalFailure()) return;
  }
}

// A file as an older version left it.
void change_file(const std::filesystem::path& folder, const std::string& statements) {
  sqlite3* file = nullptr;
  ASSERT_EQ(sqlite3_open((folder / "tasks.sqlite").c_str(), &file), SQLITE_OK);
  EXPECT_EQ(sqlite3_exec(file, statements.c_str(), nullptr, nullptr, nullptr), SQLITE_OK)
      << sqlite3_errmsg(file);
  sqlite3_close(file);
}

TEST(SqliteStorage, TakesOverFilesOfOlderSchemas) {
  const std::string to_fourth = "ALTER TABLE jobs DROP COLUMN needs; ";
  const std::string to_third = "ALTER TABLE jobs DROP COLUMN ended; ";
  const std::string to_second = "ALTER TABLE jobs DROP COLUMN problem; DROP TABLE problems; ";
  const std::string to_first =
      "ALTER TABLE tickets DROP COLUMN team; ALTER TABLE tickets DROP "
      "COLUMN owner; ";
  // Older versions had the whole problem in a request.
  const Changes changes{
      .jobs = {{.id = 2, .key = "k", .request = R"({"problem":{"name":"relu"}})"}},
      .tickets = {{.id = 1, .job = 2, .submission = "s"}},
      .next_id = 3};
  for (const int schema : {1, 2, 3, 4, 5}) {
    const auto folder = os::TempDir::make("kw-tasks-");
    ASSERT_TRUE(folder.has_value());
    ASSERT_TRUE(open_sqlite_storage(folder->path()).value()->commit(changes));
    change_file(folder->path(), (schema < 5 ? to_fourth : "") + (schema < 4 ? to_third : "") +
                                    (schema < 3 ? to_second : "") + (schema == 1 ? to_first : "") +
                                    fmt::format("PRAGMA user_version={};", schema));
    auto storage = open_sqlite_storage(folder->path());
    ASSERT_TRUE(storage.has_value()) << storage.error().message();
    const Rows rows = (*storage)->load().value();
    ASSERT_EQ(rows.tickets.size(), 1U);
    EXPECT_EQ(rows.tickets[0].submission, "s");
    EXPECT_EQ(rows.tickets[0].group, "");
    EXPECT_EQ(rows.next_id, 3U);
    EXPECT_EQ(rows.jobs.at(0).problem, "");
    EXPECT_EQ(rows.jobs.at(0).request, changes.jobs[0].request);
    TaskTable table({}, rows, {});
    const auto lease = table.lease("worker", "", {});
    ASSERT_TRUE(lease.has_value());
    EXPECT_EQ(lease->request, *changes.jobs[0].request);
    EXPECT_TRUE((*storage)->commit(table.take_changes()));
    storage->reset();
    EXPECT_TRUE(open_sqlite_storage(folder->path()).has_value()) << "a second time";
  }
}

// A task that ended late, and came early, is not the first to be forgotten.
TEST(SqliteStorage, TasksAreForgottenByTheirEndsAlsoAfterARestart) {
  const auto folder = os::TempDir::make("kw-tasks-");
  ASSERT_TRUE(folder.has_value());
  TicketId early = 0, late = 0;
  {
    auto storage = open_sqlite_storage(folder->path()).value();
    TaskTable table({.kept = 2}, {}, {});
    late = table.submit({.key = "late", .request = "{}"}, {});
    early = table.submit({.key = "early", .request = "{}"}, {});
    const auto first = table.lease("w", "", {}), second = table.lease("w", "", {});
    ASSERT_TRUE(table.complete(second->job, 1, "{}", {}));
    ASSERT_TRUE(table.complete(first->job, 1, "{}", {}));
    ASSERT_TRUE(storage->commit(table.take_changes()));
  }
  TaskTable table({.kept = 2}, open_sqlite_storage(folder->path()).value()->load().value(), {});
  table.submit({.key = "other", .request = "{}"}, {});
  ASSERT_TRUE(table.complete(table.lease("w", "", {})->job, 1, "{}", {}));
  (void)table.take_changes();
  EXPECT_TRUE(table.status(late).has_value());
  EXPECT_FALSE(table.status(early).has_value());
}

TEST(SqliteStorage, KeepsTheRequestOfAFinalJob) {
  const auto folder = os::TempDir::make("kw-tasks-");
  ASSERT_TRUE(folder.has_value());
  auto storage = open_sqlite_storage(folder->path()).value();
  TaskTable table({}, {}, {});
  const TicketId ticket = table.submit({.key = "k", .request = R"({"n":1})"}, {});
  EXPECT_EQ(table.request_of(ticket)->text, R"({"n":1})");
  ASSERT_TRUE(storage->commit(table.take_changes()));
  ASSERT_TRUE(table.complete(table.lease("w", "", {})->job, 1, "{}", {}));
  ASSERT_TRUE(storage->commit(table.take_changes()));
  const auto kept = table.request_of(ticket).value();
  EXPECT_FALSE(kept.text.has_value());
  EXPECT_EQ(storage->request(kept.job).value(), R"({"n":1})");
  EXPECT_EQ(storage->request(99).error().code(), ErrorCode::kNotFound);
}

TEST(SqliteStorage, RefusesAFileOfALaterSchema) {
  const auto folder = os::TempDir::make("kw-tasks-");
  ASSERT_TRUE(folder.has_value());
  ASSERT_TRUE(open_sqlite_storage(folder->path()).has_value());
  change_file(folder->path(), "PRAGMA user_version=7;");
  const auto storage = open_sqlite_storage(folder->path());
  ASSERT_FALSE(storage.has_value());
  EXPECT_EQ(storage.error().code(), ErrorCode::kUnsupported);
  EXPECT_NE(storage.error().message().find("schema 7"), std::string::npos);
}

TEST(SqliteStorage, IsForOneServerAndRefusesOtherFiles) {
  const auto folder = os::TempDir::make("kw-tasks-");
  ASSERT_TRUE(folder.has_value());
  const auto first = open_sqlite_storage(folder->path() / "a");
  ASSERT_TRUE(first.has_value()) << first.error().message();
  const auto second = open_sqlite_storage(folder->path() / "a");
  ASSERT_FALSE(second.has_value());
  EXPECT_EQ(second.error().code(), ErrorCode::kAlreadyExists);
  EXPECT_NE(second.error().message().find("another server has it"), std::string::npos);
  std::filesystem::create_directory(folder->path() / "b");
  ASSERT_TRUE(os::write_file_atomic(folder->path() / "b" / "tasks.sqlite", std::string(8192, 'x')));
  const auto other = open_sqlite_storage(folder->path() / "b");
  ASSERT_FALSE(other.has_value());
  EXPECT_EQ(other.error().code(), ErrorCode::kDataLoss);
}

}  // namespace
}  // namespace kw::service
