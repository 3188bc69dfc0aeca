#include "service/retention.h"

#include <gtest/gtest.h>

namespace kw::service {
namespace {

// All that are forgotten where none are kept.
std::vector<JobId> line_of(Retention& retention) {
  std::vector<JobId> out;
  while (const auto job = retention.take_excess(0)) out.push_back(*job);
  return out;
}

TEST(Retention, ForgetsTheOldestOfTooMany) {
  Retention retention(10);
  for (const JobId job : std::vector<JobId>{5, 3, 9}) retention.end(job, {});
  EXPECT_EQ(retention.take_excess(2), 5U);
  EXPECT_EQ(retention.take_excess(2), std::nullopt);
  EXPECT_EQ(line_of(retention), (std::vector<JobId>{3, 9}));
}

TEST(Retention, HoldsWhatEndedInAnOpenGroup) {
  Retention retention(10);
  retention.end(1, {"a"});
  retention.end(2, {});
  retention.end(3, {"a"});
  retention.end(4, {"b"});
  EXPECT_EQ(line_of(retention), std::vector<JobId>{2});
  retention.end(5, {});
  retention.close("a");
  EXPECT_EQ(line_of(retention), (std::vector<JobId>{5, 1, 3}));
  retention.close("b");
  retention.close("nobody's");
  EXPECT_EQ(line_of(retention), std::vector<JobId>{4});
}

TEST(Retention, HoldsAJobOfSeveralGroupsForAllOfThem) {
  Retention retention(10);
  retention.end(1, {"a", "b"});
  retention.close("a");
  EXPECT_TRUE(line_of(retention).empty());
  retention.close("a");
  EXPECT_TRUE(line_of(retention).empty());
  retention.close("b");
  EXPECT_EQ(line_of(retention), std::vector<JobId>{1});
}

TEST(Retention, HoldsNoMoreThanItMay) {
  Retention retention(2);
  for (const JobId job : std::vector<JobId>{1, 2, 3, 4}) retention.end(job, {"a"});
  EXPECT_EQ(line_of(retention), (std::vector<JobId>{1, 2}));
  retention.end(5, {"a"});
  retention.close("a");
  EXPECT_EQ(line_of(retention), (std::vector<JobId>{3, 4, 5}));
}

}  // namespace
}  // namespace kw::service
