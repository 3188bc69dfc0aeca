#include "base/option_facts.h"

#include <limits>
#include <vector>

#include <gtest/gtest.h>

#include "base/settings_json.h"

namespace kw {
namespace {

struct Options {
  int jobs = 2;
  double share = 0.5, any = 0;
  bool fast = true;
  std::string name = "x";
  std::vector<std::string> words = {};
};

template <OptionsOf<Options> O, typename Visit>
void describe(O& o, Visit&& visit) {
  visit("jobs", o.jobs, OptionFacts{"--jobs", "N", "", "at once", 1, 8});
  visit("share", o.share, OptionFacts{"--share", "S", "", "of all", 0, 1});
  visit("any", o.any, OptionFacts{"--any", "X"});
  visit("fast", o.fast, OptionFacts{"--no-fast"});
  visit("name", o.name, OptionFacts{"--name", "NAME"});
  visit("words", o.words, OptionFacts{"--word", "WORD"});
}

std::string complaint(const Options& options, OptionNames names = OptionNames::kFlags) {
  const Status status = check_ranges(options, names, "run");
  return status ? "" : status.error().message();
}

TEST(OptionFacts, NumbersHaveRangesWhoseErrorsNameTheOption) {
  EXPECT_EQ(complaint({}), "");
  EXPECT_EQ(complaint({.jobs = 9}), "--jobs: 9 is not between 1 and 8");
  EXPECT_EQ(complaint({.jobs = 0}, OptionNames::kKeys), "run.jobs: 0 is not between 1 and 8");
  EXPECT_EQ(complaint({.share = 1.5}), "--share: 1.5 is not between 0 and 1");
  const double nan = std::numeric_limits<double>::quiet_NaN();
  EXPECT_EQ(complaint({.share = nan}), "--share: nan is not between 0 and 1");
  EXPECT_EQ(complaint({.any = nan}), "--any: not a number");
  EXPECT_EQ(complaint({.any = -1e300}), "");
}

TEST(OptionFacts, TheSameDescriptionGivesTheStoredForm) {
  const Options options{.jobs = 3, .fast = false, .words = {"a", "b"}};
  const Json json = settings_to_json(options);
  EXPECT_EQ(json.size(), 6U);
  const auto read = settings_from_json<Options>(json, "run");
  ASSERT_TRUE(read) << read.error().message();
  EXPECT_EQ(settings_to_json(*read), json);
}

}  // namespace
}  // namespace kw
