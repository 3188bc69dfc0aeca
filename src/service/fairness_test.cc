// Tenants that flood a table, by a simulated clock: who gets how much of the workers' time.
#include <algorithm>
#include <map>
#include <set>

#include <gtest/gtest.h>

#include "service/task_table.h"

namespace kw::service {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;

struct Tenant {
  milliseconds takes;  // each of its tasks
  int weight = 1;
};

// Workers that are never idle, and tenants that always have tasks that wait.
class Flood {
 public:
  explicit Flood(std::map<std::string, Tenant> tenants) : tenants_(std::move(tenants)) {
    for (const auto& [name, tenant] : tenants_)
      for (int i = 0; i < 20; ++i) submit(name);
  }

  // The workers' time by tenant, of what ended in so long.
  std::map<std::string, double> run(milliseconds time, int workers) {
    std::map<std::string, double> out;
    while (running_.size() < static_cast<std::size_t>(workers)) begin();
    const TaskTable::Time end = now_ + time;
    while (running_.begin()->end <= end) {
      const Judgement judgement = *running_.begin();
      running_.erase(running_.begin());
      now_ = judgement.end;
      table_.expire(now_);
      EXPECT_TRUE(table_.complete(judgement.job, judgement.epoch, "{}", now_));
      out[judgement.tenant] +=
          std::chrono::duration<double>(tenants_.at(judgement.tenant).takes).count();
      submit(judgement.tenant);
      begin();
    }
    now_ = end;
    return out;
  }

  void set_time(const std::string& name, milliseconds takes) { tenants_.at(name).takes = takes; }
  // It submits a task of the tenant's and gives what its status says.
  std::optional<double> estimate_of_next(const std::string& tenant) {
    return table_.status(last_ = submit(tenant))->estimated_start_seconds;
  }
  // Until that task begins, while others come.
  double begin_of_last(int workers) {
    const TaskTable::Time from = now_;
    while (table_.status(last_)->state == "waiting") run(milliseconds(100), workers);
    return std::chrono::duration<double>(now_ - from).count();
  }
  void join(const std::string& name, Tenant tenant) {
    tenants_[name] = tenant;
    for (int i = 0; i < 20; ++i) submit(name);
  }

 private:
  struct Judgement {
    TaskTable::Time end;
    JobId job = 0;
    std::int64_t epoch = 0;
    std::string tenant;
    auto operator<=>(const Judgement&) const = default;
  };

  TicketId submit(const std::string& tenant) {
    Submission wish{.key = fmt::format("{} {}", tenant, ++number_), .tenant = tenant};
    wish.owner = tenant;
    wish.weight = tenants_.at(tenant).weight;
    wish.problem = "problem of " + tenant;
    wish.problem_text = "{}";
    wish.request = tenant;
    return table_.submit(std::move(wish), now_);
  }
  void begin() {
    const auto lease = table_.lease("w", "", now_);
    ASSERT_TRUE(lease.has_value());
    running_.insert(
        {now_ + tenants_.at(lease->request).takes, lease->job, lease->epoch, lease->request});
  }

  std::map<std::string, Tenant> tenants_;
  TaskTable::Time now_{seconds(1000)};
  TaskTable table_{{.lease = seconds(600), .kept = 100, .ageing = seconds(300)}, {}, now_};
  std::set<Judgement> running_;
  int number_ = 0;
  TicketId last_ = 0;
};

TEST(Fairness, TenantsGetTheirSharesOfTheTimeWhateverTheirTasksTake) {
  const std::map<std::string, Tenant> tenants = {{"a", {milliseconds(250)}},
                                                 {"b", {seconds(1)}},
                                                 {"c", {seconds(3), 2}},
                                                 {"d", {seconds(7)}},
                                                 {"e", {seconds(12), 3}}};
  Flood flood(tenants);
  const auto had = flood.run(seconds(1800), 4);
  double all = 0, weights = 0;
  for (const auto& [name, tenant] : tenants) {
    all += had.at(name);
    weights += tenant.weight;
  }
  for (const auto& [name, tenant] : tenants) {
    const double share = all * tenant.weight / weights;
    EXPECT_NEAR(had.at(name), share, share / 10) << name;
  }
}

// Its tasks under way are expected to take a second each, as none has ended yet.
TEST(Fairness, ATenantThatWaitsAloneHasNoStart) {
  for (const milliseconds takes : {milliseconds(20), milliseconds(5000)}) {
    constexpr int kWorkers = 4;
    Flood flood({{"a", {takes}}});
    flood.run(takes / 2, kWorkers);
    flood.join("b", {takes});
    const auto had = flood.run(takes * 50, kWorkers);
    const double task = std::chrono::duration<double>(takes).count();
    EXPECT_NEAR(had.at("a"), had.at("b"), task * kWorkers) << takes.count() << " ms";
  }
}

TEST(Fairness, ATenantWhoseTasksBecomeShorterHasNoStart) {
  Flood flood({{"a", {seconds(10)}}});
  flood.run(seconds(200), 4);
  flood.set_time("a", milliseconds(100));
  flood.run(seconds(11), 4);
  flood.join("b", {milliseconds(100)});
  const auto had = flood.run(seconds(10), 4);
  EXPECT_NEAR(had.at("a"), had.at("b"), 1.0);
}

// A task's status, when it comes, is held against its beginning.
TEST(Estimates, TellWhenATaskBegins) {
  Flood flood({{"a", {seconds(4)}}, {"b", {seconds(10), 2}}});
  EXPECT_EQ(flood.estimate_of_next("a"), std::nullopt) << "nothing has been measured";
  flood.run(seconds(300), 3);
  for (const char* tenant : {"a", "b"}) {
    const std::optional<double> expected = flood.estimate_of_next(tenant);
    ASSERT_TRUE(expected.has_value());
    const double begins = flood.begin_of_last(3);
    EXPECT_NEAR(*expected, begins, std::max(begins / 5, 5.0)) << tenant;
  }
}

TEST(Estimates, AreNoneWithoutWorkers) {
  TaskTable::Time now{seconds(1000)};
  TaskTable table({.lease = seconds(30)}, {}, now);
  const auto submit = [&](const char* key) { return table.submit({.key = key}, now); };
  submit("a");
  const TicketId second = submit("b");
  table.see_worker("w", now);
  const auto lease = table.lease("w", "", now);
  now += seconds(6);
  ASSERT_TRUE(table.complete(lease->job, lease->epoch, "{}", now));
  EXPECT_EQ(table.status(second)->estimated_start_seconds, 3);
  now += seconds(37);
  table.expire(now);
  EXPECT_EQ(table.status(second)->position, 0U);
  EXPECT_EQ(table.status(second)->estimated_start_seconds, std::nullopt);
  table.see_worker("w", now);
  EXPECT_EQ(table.status(second)->estimated_start_seconds, 3);
}

TEST(Fairness, ATenantAloneHasAllOfTheTime) {
  Flood flood({{"a", {seconds(1)}}});
  EXPECT_NEAR(flood.run(seconds(100), 1).at("a"), 100, 1);
}

class QuotaTest : public testing::Test {
 protected:
  Submission wish(const std::string& key) {
    Submission out{.key = key, .tenant = "t", .owner = "t"};
    out.most_bytes = 100;
    out.most_seconds = 60;
    out.request = std::string(40, ' ');
    return out;
  }
  std::string refusal(std::vector<Submission> wishes) {
    const auto no_room = table.lacks_room(wishes, now);
    return no_room ? no_room->why : "";
  }
  seconds asked_to_wait(std::vector<Submission> wishes) {
    return table.lacks_room(wishes, now).value().after;
  }

  TaskTable::Time now{seconds(100000)};
  TaskTable table{{}, {}, now};
};

TEST_F(QuotaTest, BytesOfOpenRequests) {
  EXPECT_EQ(refusal({wish("a"), wish("b")}), "");
  const TicketId first = table.submit(wish("a"), now);
  table.submit(wish("b"), now);
  EXPECT_EQ(refusal({wish("c")}),
            "requests of t under way have 120 bytes with these, and it may have 100: try again "
            "later");
  ASSERT_TRUE(table.cancel(first));
  EXPECT_EQ(refusal({wish("c")}), "");
}

TEST_F(QuotaTest, ACallerComesAgainWhenTheWorkersHaveMadeRoom) {
  for (int i = 0; i < 2; ++i) table.submit(wish(fmt::format("{}", i)), now);
  EXPECT_EQ(asked_to_wait({wish("a")}), RetryAfter::kUnknown) << "nothing has been measured";
  table.see_worker("w", now);
  auto lease = table.lease("w", "", now);
  now += seconds(20);
  table.expire(now);
  ASSERT_TRUE(table.complete(lease->job, lease->epoch, "{}", now));
  table.submit(wish("2"), now);
  EXPECT_EQ(asked_to_wait({wish("a")}), seconds(20)) << "one slot, and one task too many";
  EXPECT_EQ(asked_to_wait({wish("a"), wish("b")}), seconds(40));
}

TEST_F(QuotaTest, SecondsOfAnHour) {
  for (int i = 0; i < 2; ++i) {
    EXPECT_EQ(refusal({wish("a")}), "");
    table.submit(wish("a"), now);
    const auto lease = table.lease("w", "", now);
    now += seconds(30);
    ASSERT_TRUE(table.complete(lease->job, lease->epoch, "{}", now));
  }
  EXPECT_EQ(refusal({wish("a")}),
            "tasks of t were judged for 60 seconds in the last hour, and it may have 60: try again "
            "later");
  EXPECT_EQ(table.view().judged_seconds.at("t"), 60);
  const seconds wait = asked_to_wait({wish("a")});
  EXPECT_GT(wait, std::chrono::minutes(58));
  now += wait - seconds(1);
  EXPECT_NE(refusal({wish("a")}), "");
  now += seconds(1);
  EXPECT_EQ(refusal({wish("a")}), "");
  now += std::chrono::minutes(61);
  EXPECT_EQ(refusal({wish("a")}), "");
}

TEST_F(QuotaTest, AgeingEndsTheWaitBehindHigherPriorities) {
  Submission low = wish("low"), high = wish("high");
  low.priority = -1;
  const TicketId ticket = table.submit(low, now);
  for (int i = 0; i < 700 && table.status(ticket)->state == "waiting"; ++i) {
    high.key = fmt::format("high {}", i);
    table.submit(high, now);
    const auto lease = table.lease("w", "", now);
    if (table.status(ticket)->state != "waiting") break;
    now += seconds(1);
    ASSERT_TRUE(table.complete(lease->job, lease->epoch, "{}", now));
  }
  EXPECT_EQ(now - TaskTable::Time(seconds(100000)), TaskOptions().ageing);
  EXPECT_EQ(table.status(ticket)->state, "leased");
}

}  // namespace
}  // namespace kw::service
