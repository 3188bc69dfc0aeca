#include "service/activity.h"

#include <gtest/gtest.h>

namespace kw::service {
namespace {

using std::chrono::seconds;

class ActivityTest : public testing::Test {
 protected:
  static Activity::Time at(int second) { return Activity::Time{seconds(second)}; }
  void end(TicketId id, int second, const char* owner = "", const char* outcome = "passed") {
    activity.note_end({.id = id,
                       .state = "done",
                       .answer = {.outcome = outcome},
                       .owner = owner,
                       .at = at(second)});
  }
  static std::vector<TicketId> ids(const Overview& overview) {
    std::vector<TicketId> out;
    for (const EndedTask& each : overview.ended) out.push_back(each.id);
    return out;
  }
  static std::uint32_t sum(const Overview& overview) {
    std::uint32_t out = 0;
    for (std::uint32_t each : overview.ends) out += each;
    return out;
  }

  Activity activity;
};

TEST_F(ActivityTest, TellsTheEndsBehindAPlaceNewestFirst) {
  for (TicketId id : {1U, 2U, 3U}) end(id, 10);
  const Overview first = activity.look("", 1, at(11));
  EXPECT_EQ(ids(first), (std::vector<TicketId>{3, 2}));
  EXPECT_TRUE(ids(activity.look("", first.next, at(11))).empty());
  for (TicketId id = 4; id <= 500; ++id) end(id, 12);
  const Overview later = activity.look("", first.next, at(12));
  ASSERT_EQ(later.ended.size(), Activity::kMaxEnded);
  EXPECT_EQ(later.ended.front().id, 500U);
  EXPECT_EQ(later.next, 500U);
  EXPECT_TRUE(activity.look("", 1000, at(12)).ended.empty());  // a place of another server
}

TEST_F(ActivityTest, CountsTheEndsOfTheLastFiveMinutes) {
  end(1, 100);
  end(2, 104);
  end(3, 105);
  EXPECT_EQ(activity.look("", 0, at(109)).ends.back(), 1U);
  EXPECT_EQ(activity.look("", 0, at(109)).ends[Activity::kSpans - 2], 2U);
  EXPECT_EQ(activity.look("", 0, at(399)).ends.front(), 2U);
  EXPECT_EQ(sum(activity.look("", 0, at(400))), 1U);
  EXPECT_EQ(sum(activity.look("", 0, at(100000))), 0U);
  end(4, 700);  // the old numbers of its round are forgotten
  EXPECT_EQ(sum(activity.look("", 0, at(700))), 1U);
}

TEST_F(ActivityTest, ATenantSeesItsOwnAlone) {
  end(1, 10, "a", "passed");
  end(2, 10, "b", "timeout");
  end(3, 10, "", "violation");
  activity.count_waiting("a", 1);
  activity.count_waiting("b", 1);
  activity.see_worker("w", at(10));
  const Overview a = activity.look("a", 0, at(11));
  EXPECT_EQ(ids(a), std::vector<TicketId>{1});
  EXPECT_EQ(a.outcomes, (std::map<std::string, std::uint64_t>{{"passed", 1}}));
  EXPECT_EQ(sum(a), 1U);
  EXPECT_TRUE(a.workers.empty());
  ASSERT_EQ(a.tenants.size(), 1U);
  EXPECT_EQ(a.tenants[0].name, "a");
  const Overview nobody = activity.look("c", 0, at(11));
  EXPECT_TRUE(nobody.tenants.empty() && nobody.ended.empty() && sum(nobody) == 0);
  EXPECT_EQ(activity.look("", 0, at(11)).outcomes.size(), 3U);
}

TEST_F(ActivityTest, KnowsAsManyWorkersAndTenantsAsHaveSomething) {
  activity.count_leased("t", "busy", 1);
  for (std::size_t i = 0; i < 2 * Activity::kMaxWorkers; ++i)
    activity.see_worker(std::to_string(i), at(static_cast<int>(i)));
  activity.count_answer("busy");
  const auto busy = activity.busy_workers();
  ASSERT_EQ(busy.size(), 1U);
  EXPECT_EQ(busy[0].name, "busy");
  EXPECT_EQ(activity.look("", 0, at(9999)).workers.size(), Activity::kMaxListed);
  activity.count_leased("t", "busy", -1);
  EXPECT_TRUE(activity.tenants().empty());
  activity.see_worker("late", at(99999));
  std::size_t known = 0;
  for (const WorkerActivity& each : activity.look("", 0, at(99999)).workers)
    known += each.name == "late" || each.name == "1999" ? 1U : 0U;
  EXPECT_EQ(known, 2U);
}

}  // namespace
}  // namespace kw::service
