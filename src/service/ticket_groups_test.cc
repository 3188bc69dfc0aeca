#include "service/ticket_groups.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace kw::service {
namespace {

using testing::ElementsAre;

TEST(TicketGroups, TicketsStandInTheOrderOfTheirEnds) {
  TicketGroups groups;
  for (const TicketId ticket : {1U, 2U, 3U}) groups.begin("g", ticket);
  groups.end("g", 3);
  groups.end("g", 1);
  const TicketGroups::Group* group = groups.find("g");
  ASSERT_NE(group, nullptr);
  EXPECT_EQ(group->open, 1U);
  EXPECT_EQ(group->newest, 3U);
  EXPECT_THAT(group->ended, ElementsAre(3, 1));
}

TEST(TicketGroups, ForgottenTicketsLeaveFromTheFrontAndStayCounted) {
  TicketGroups groups;
  for (const TicketId ticket : {1U, 2U, 3U}) groups.begin("g", ticket);
  for (const TicketId ticket : {1U, 2U, 3U}) groups.end("g", ticket);
  groups.forget_one("g", [](TicketId ticket) { return ticket != 2; });
  EXPECT_THAT(groups.find("g")->ended, ElementsAre(1, 2, 3)) << "the first one is still known";
  groups.forget_one("g", [](TicketId ticket) { return ticket == 3; });
  EXPECT_THAT(groups.find("g")->ended, ElementsAre(3));
  EXPECT_EQ(groups.find("g")->ended_in_all(), 3U);
  groups.forget_one("g", [](TicketId) { return false; });
  EXPECT_EQ(groups.find("g"), nullptr) << "a group goes with its last known ticket";
}

}  // namespace
}  // namespace kw::service
