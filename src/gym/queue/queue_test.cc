#include "gym/queue/queue.h"

#include <algorithm>
#include <set>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace kw::gym {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;
using JobId = Queue::JobId;
using TicketId = Queue::TicketId;

Queue::Time at(int seconds) {
  return Queue::Time(std::chrono::seconds(1000 + seconds));
}

class QueueTest : public testing::Test {
 protected:
  Queue::Accepted add(const std::string& key, int priority = 0, const std::string& tenant = "") {
    return queue_.submit({.key = key, .tenant = tenant, .priority = priority});
  }
  Queue::Accepted add_of(const std::string& problem) {
    return queue_.submit({.key = std::to_string(added_++), .affinity = problem});
  }
  Queue::Accepted add_until(const std::string& key, int seconds) {
    return queue_.submit({.key = key, .deadline = at(seconds)});
  }
  JobId start() { return queue_.start({}).value(); }
  JobId start_preferring(JobId preferred) {
    return queue_.start([=](JobId job) { return job == preferred; }).value();
  }

  Queue queue_;
  int added_ = 0;
};

TEST_F(QueueTest, JobsBeginInTheirOrder) {
  EXPECT_FALSE(queue_.start({}));
  const auto a = add("a"), b = add("b");
  EXPECT_TRUE(a.is_new && b.is_new);
  EXPECT_EQ(queue_.waiting(), 2);
  EXPECT_EQ(start(), a.job);
  EXPECT_EQ(start(), b.job);
  EXPECT_FALSE(queue_.start({}));
  EXPECT_EQ(queue_.running(), 2);
  EXPECT_THAT(queue_.finish(b.job), ElementsAre(b.ticket));
  EXPECT_EQ(queue_.running(), 1);
}

TEST_F(QueueTest, TheSameKeyJoinsAWaitingAndARunningJob) {
  const auto first = add("a"), second = add("a");
  EXPECT_FALSE(second.is_new);
  EXPECT_EQ(start(), first.job);
  const auto third = add("a");
  EXPECT_EQ(third.job, first.job);
  EXPECT_THAT(queue_.finish(first.job), ElementsAre(first.ticket, second.ticket, third.ticket));
  EXPECT_TRUE(add("a").is_new);
}

TEST_F(QueueTest, AJobStopsWithItsLastTicket) {
  const auto first = add("a"), second = add("a");
  start();
  auto gone = queue_.cancel(first.ticket);
  EXPECT_FALSE(gone.stop || gone.dropped);
  gone = queue_.cancel(second.ticket);
  EXPECT_EQ(gone.stop, first.job);
  EXPECT_THAT(queue_.finish(first.job), IsEmpty());
}

TEST_F(QueueTest, AWaitingJobWithoutTicketsIsDropped) {
  const auto a = add("a"), b = add("b");
  EXPECT_EQ(queue_.cancel(a.ticket).dropped, a.job);
  EXPECT_EQ(start(), b.job);
  EXPECT_FALSE(queue_.start({}));
}

TEST_F(QueueTest, NobodyJoinsAJobThatIsBeingStopped) {
  const auto first = add("a");
  start();
  queue_.cancel(first.ticket);
  const auto second = add("a");
  EXPECT_TRUE(second.is_new);
  EXPECT_THAT(queue_.finish(first.job), IsEmpty());
  EXPECT_EQ(start(), second.job);  // the end of the first took no key from the second
  EXPECT_FALSE(add("a").is_new);
}

TEST_F(QueueTest, AnAnsweredTicketCannotBeCancelled) {
  const auto a = add("a");
  start();
  queue_.finish(a.job);
  const auto gone = queue_.cancel(a.ticket);
  EXPECT_FALSE(gone.stop || gone.dropped);
}

TEST_F(QueueTest, EachTicketHasItsOwnDeadline) {
  const auto soon = add_until("a", 5), never = add("a");
  EXPECT_EQ(queue_.next_deadline(), at(5));
  EXPECT_THAT(queue_.expire(at(4)), IsEmpty());
  start();
  const auto expired = queue_.expire(at(5));
  ASSERT_EQ(expired.size(), 1);
  EXPECT_EQ(expired[0].ticket, soon.ticket);
  EXPECT_FALSE(expired[0].gone.stop);  // the other one still wants it
  EXPECT_EQ(queue_.next_deadline(), Queue::Time::max());
  EXPECT_THAT(queue_.finish(never.job), ElementsAre(never.ticket));
}

TEST_F(QueueTest, ADeadlineIsBroughtForward) {
  const auto a = queue_.submit({.key = "a", .deadline = at(100)}), b = add("b");
  queue_.bring_forward(a.ticket, at(200));
  EXPECT_EQ(queue_.next_deadline(), at(100));
  queue_.bring_forward(a.ticket, at(20));
  queue_.bring_forward(b.ticket, at(10));
  EXPECT_EQ(queue_.expire(at(15)).size(), 1U);
  EXPECT_EQ(queue_.next_deadline(), at(20));
  EXPECT_EQ(queue_.expire(at(20)).front().ticket, a.ticket);
  queue_.bring_forward(a.ticket, at(30));
  EXPECT_EQ(queue_.next_deadline(), Queue::Time::max());
}

TEST_F(QueueTest, TheLatestDeadlineStopsTheJob) {
  const auto a = add_until("a", 5);
  add_until("a", 9);
  start();
  queue_.expire(at(5));
  const auto expired = queue_.expire(at(9));
  ASSERT_EQ(expired.size(), 1);
  EXPECT_EQ(expired[0].gone.stop, a.job);
}

TEST_F(QueueTest, ALateJobThatHasNotBegunIsDropped) {
  const auto a = add_until("a", 5);
  const auto expired = queue_.expire(at(6));
  ASSERT_EQ(expired.size(), 1);
  EXPECT_EQ(expired[0].gone.dropped, a.job);
  EXPECT_FALSE(queue_.start({}));
}

TEST_F(QueueTest, TheHighestPriorityOfItsTicketsCounts) {
  const auto a = add("a"), b = add("b", 1);
  const auto urgent = add("a", 2);
  EXPECT_EQ(urgent.job, a.job);
  queue_.cancel(urgent.ticket);  // and no longer when it has gone
  EXPECT_EQ(start(), b.job);
  EXPECT_EQ(start(), a.job);
}

TEST_F(QueueTest, APreferredJobGoesFirstButNotForEver) {
  const auto first = add("first");
  for (int i = 0; i < Queue::kMaxOvertaken; ++i) {
    const auto warm = add("warm" + std::to_string(i));
    ASSERT_EQ(start_preferring(warm.job), warm.job) << i;
  }
  const auto warm = add("warm");
  EXPECT_EQ(start_preferring(warm.job), first.job);
  EXPECT_EQ(start_preferring(warm.job), warm.job);
}

TEST_F(QueueTest, ProblemsThatNobodyJudgesGoFirst) {
  std::vector<JobId> jobs;
  for (const char* problem : {"p", "p", "q", "p", "", "q"}) jobs.push_back(add_of(problem).job);
  EXPECT_EQ(start(), jobs[0]);
  EXPECT_EQ(start(), jobs[2]);
  EXPECT_EQ(start(), jobs[4]);
  EXPECT_EQ(start(), jobs[1]);  // all that is left is like a running one: the oldest
  queue_.finish(jobs[2]);
  EXPECT_EQ(start(), jobs[5]);
  EXPECT_EQ(start(), jobs[3]);
}

TEST_F(QueueTest, AJobThatIsGivenBackIsJudgedByNobody) {
  const auto first = add_of("p"), second = add_of("q"), third = add_of("p");
  EXPECT_EQ(start(), first.job);
  queue_.give_back(first.job);
  EXPECT_EQ(queue_.start_with("q"), second.job);
  EXPECT_EQ(start(), first.job);
  EXPECT_EQ(start(), third.job);
}

// Otherwise one that nobody goes on with, as it is of another kind, might wait for ever.
TEST_F(QueueTest, AJobLikeARunningOneGoesFirstOnceItIsLate) {
  const auto first = add_of("p"), second = add_of("p");
  EXPECT_EQ(start(), first.job);
  for (int i = 0; i < Queue::kMaxOvertaken; ++i) {
    const auto other = add_of("q" + std::to_string(i));
    ASSERT_EQ(start(), other.job) << i;
  }
  add_of("r");
  EXPECT_EQ(start(), second.job);
}

TEST_F(QueueTest, ManyCandidatesOfAProblemDoNotHideTheNextOne) {
  std::vector<JobId> jobs;
  for (std::size_t i = 0; i < 2 * Queue::kMaxLookedAt; ++i) jobs.push_back(add_of("p").job);
  const auto other = add_of("q");
  EXPECT_EQ(start(), jobs[0]);
  EXPECT_EQ(start(), other.job);
}

TEST_F(QueueTest, PreferenceIsLessThanPriority) {
  const auto cold = add("cold", 1), warm = add("warm");
  EXPECT_EQ(start_preferring(warm.job), cold.job);
}

TEST_F(QueueTest, TenantsTakeTurns) {
  std::vector<JobId> flood;
  for (int i = 0; i < 6; ++i) flood.push_back(add("f" + std::to_string(i), 0, "flood").job);
  EXPECT_EQ(start(), flood[0]);
  EXPECT_EQ(start(), flood[1]);
  // A tenant that comes later begins at what has ended, so it comes first until it has as much
  // under way.
  const auto x = add("x", 0, "other"), y = add("y", 0, "other"), z = add("z", 0, "other");
  std::vector<JobId> order;
  while (auto job = queue_.start({})) order.push_back(*job);
  EXPECT_THAT(order, ElementsAre(x.job, y.job, flood[2], z.job, flood[3], flood[4], flood[5]));
}

TEST_F(QueueTest, AWeightIsAShare) {
  for (int i = 0; i < 30; ++i) {
    add("a" + std::to_string(i), 0, "a");
    queue_.submit({.key = "b" + std::to_string(i), .tenant = "b", .weight = 2});
  }
  int of_a = 0;
  for (int i = 0; i < 30; ++i) {
    const auto job = queue_.start({});
    of_a += queue_.finish(*job).front() % 4 == 1 ? 1 : 0;  // each pair of submissions takes four
  }
  EXPECT_EQ(of_a, 10);
}

TEST_F(QueueTest, TimeIsShared) {
  const std::map<std::string, std::chrono::seconds> takes = {{"long", std::chrono::seconds(8)},
                                                             {"short", std::chrono::seconds(1)}};
  std::map<std::string, std::chrono::seconds> had;
  std::map<JobId, std::string> tenants;
  for (int i = 0; i < 200; ++i)
    for (const auto& [tenant, time] : takes)
      tenants[queue_.submit({.key = tenant + std::to_string(i), .tenant = tenant}).job] = tenant;
  for (int i = 0; i < 90; ++i) {
    const JobId job = start();
    const std::string& tenant = tenants.at(job);
    had[tenant] += takes.at(tenant);
    queue_.finish(job, takes.at(tenant));
  }
  EXPECT_LE(std::chrono::abs(had["long"] - had["short"]), std::chrono::seconds(8));
}

TEST_F(QueueTest, WhoStartsTakesOnlyWhatItAccepts) {
  const auto gpu = queue_.submit({.key = "a", .pool = "cuda", .kind = "ptx"});
  const auto first = queue_.submit({.key = "b", .pool = "cpu", .kind = "cpp"});
  const auto urgent = queue_.submit({.key = "c", .priority = 5, .pool = "cpu", .kind = "python"});
  const auto only = [this](const std::string& pool, const std::string& kind) {
    return queue_.start_with("", [=](const std::string& p, const std::string& k) {
      return p == pool && (kind.empty() || k == kind);
    });
  };
  EXPECT_EQ(only("cuda", "cpp"), std::nullopt);
  EXPECT_EQ(only("cpu", "cpp"), first.job);
  EXPECT_EQ(only("cpu", ""), urgent.job);
  EXPECT_EQ(only("cpu", ""), std::nullopt);
  EXPECT_EQ(queue_.start_with(""), gpu.job);
}

// A tenant whose tasks wait for a rare machine does not get the common ones for nothing later.
TEST_F(QueueTest, SharesOfPoolsAreApart) {
  const auto add_to = [this](const std::string& pool, const std::string& tenant, int number) {
    const std::string key = pool + tenant + std::to_string(number);
    queue_.submit({.key = key, .tenant = tenant, .pool = pool});
  };
  const auto start_of = [this](const std::string& pool) {
    return queue_.start_with("",
                             [=](const std::string& p, const std::string&) { return p == pool; });
  };
  add_to("cuda", "waits", 0);
  for (int i = 0; i < 20; ++i) add_to("cpu", "busy", i);
  for (int i = 0; i < 10; ++i) queue_.finish(start_of("cpu").value(), std::chrono::seconds(10));
  for (int i = 0; i < 10; ++i) add_to("cpu", "new", i);
  std::vector<JobId> begun;
  for (int i = 0; i < 4; ++i) {
    begun.push_back(start_of("cpu").value());
    queue_.finish(begun.back(), std::chrono::seconds(10));
  }
  const auto of_busy = std::ranges::count_if(begun, [](JobId id) { return id < 43; });
  EXPECT_EQ(of_busy, 2);
}

TEST_F(QueueTest, ATenantThatComesLaterIsNotOwedWhatItDidNotAskFor) {
  for (int i = 0; i < 12; ++i) add("a" + std::to_string(i), 0, "a");
  for (int i = 0; i < 4; ++i) queue_.finish(start(), std::chrono::seconds(5));
  std::set<JobId> late;
  for (int i = 0; i < 4; ++i) late.insert(add("b" + std::to_string(i), 0, "b").job);
  int of_late = 0;
  for (int i = 0; i < 4; ++i) {
    const JobId job = start();
    of_late += late.contains(job) ? 1 : 0;
    queue_.finish(job, std::chrono::seconds(5));
  }
  EXPECT_EQ(of_late, 2);
}

TEST_F(QueueTest, WorkBeforeAJobFollowsSharesAndPriorities) {
  const auto seconds = [](int n) { return std::optional<Queue::Cost>(std::chrono::seconds(n)); };
  const auto job = [&](const std::string& key, const std::string& tenant, int priority = 0,
                       int weight = 1) {
    return queue_
        .submit({.key = key,
                 .tenant = tenant,
                 .affinity = tenant,
                 .priority = priority,
                 .weight = weight})
        .job;
  };
  std::vector<JobId> a, b;
  for (int i = 0; i < 8; ++i) a.push_back(job("a" + std::to_string(i), "a"));
  EXPECT_EQ(queue_.work_before(a[3]), std::nullopt) << "nothing has been measured";
  queue_.finish(start(), std::chrono::seconds(6));
  EXPECT_EQ(queue_.work_before(a[1]), seconds(0));
  EXPECT_EQ(queue_.work_before(a[4]), seconds(18));
  // b comes at a's level, with twice the weight: 12 seconds of it go before each 6 of a.
  for (int i = 0; i < 3; ++i) b.push_back(job("b" + std::to_string(i), "b", 0, 2));
  EXPECT_EQ(queue_.work_before(b[0]), seconds(0));
  EXPECT_EQ(queue_.work_before(b[2]), seconds(12 + 6));
  EXPECT_EQ(queue_.work_before(a[2]), seconds(6 + 12));
  EXPECT_EQ(queue_.work_before(a[7]), seconds(36 + 18)) << "b has no more than three";
  const JobId urgent = job("urgent", "c", 1);
  EXPECT_EQ(queue_.work_before(urgent), seconds(0));
  EXPECT_EQ(queue_.work_before(a[1]), seconds(6));
}

TEST_F(QueueTest, ACostThatWasExpectedAndNotHadIsGivenBack) {
  for (int i = 0; i < 4; ++i) {
    add("a" + std::to_string(i), 0, "a");
    add("b" + std::to_string(i), 0, "b");
  }
  const JobId first = start();
  queue_.give_back(first, Queue::Cost(0));
  EXPECT_EQ(start(), first) << "its tenant has had nothing";
  EXPECT_EQ(start(), first + 2);
  EXPECT_EQ(queue_.finish(first).size(), 1U);
  EXPECT_EQ(start(), first + 4) << "both have one under way, and this is the older";
}

TEST_F(QueueTest, AJobThatHasAgedGoesBeforeAllPriorities) {
  const auto old = queue_.submit({.key = "old", .ages_at = at(10)});
  const auto urgent = add("urgent", 5), later = add("later", 5);
  queue_.age(at(9));
  EXPECT_EQ(start(), urgent.job);
  queue_.age(at(10));
  EXPECT_EQ(queue_.position(old.job), 0U);
  EXPECT_EQ(start(), old.job);
  EXPECT_TRUE(queue_.give_back(old.job));
  EXPECT_EQ(start(), old.job) << "it does not wait again";
  EXPECT_EQ(start(), later.job);
}

TEST_F(QueueTest, AJobThatIsGivenBackHasItsOldPlace) {
  const auto first = add("a"), second = add("b");
  EXPECT_EQ(start(), first.job);
  EXPECT_TRUE(queue_.give_back(first.job));
  EXPECT_EQ(queue_.waiting(), 2);
  EXPECT_FALSE(add("a").is_new);
  EXPECT_EQ(start(), first.job);
  EXPECT_EQ(start(), second.job);
  EXPECT_EQ(queue_.cancel(second.ticket).stop, second.job);
  EXPECT_FALSE(queue_.give_back(second.job)) << "nobody waits for it";
  EXPECT_EQ(queue_.running(), 1);
  EXPECT_EQ(queue_.finish(first.job).size(), 2);
}

TEST_F(QueueTest, ShutdownDropsWhatWaitsAndStopsWhatRuns) {
  const auto running = add("a"), waiting = add("b"), joined = add("b");
  start();
  const auto shutdown = queue_.shut_down();
  EXPECT_THAT(shutdown.stop, ElementsAre(running.job));
  EXPECT_THAT(shutdown.dropped, ElementsAre(waiting.job));
  EXPECT_THAT(shutdown.tickets, ElementsAre(waiting.ticket, joined.ticket));
  EXPECT_THAT(queue_.finish(running.job), ElementsAre(running.ticket));
  EXPECT_EQ(queue_.waiting() + queue_.running(), 0);
}

}  // namespace
}  // namespace kw::gym
