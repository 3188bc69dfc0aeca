#include "task/language.h"

#include <set>
#include <string_view>

#include <gtest/gtest.h>

#include "task/target.h"

namespace kw::task {
namespace {

TEST(Languages, EachIsInTheTableOnce) {
  std::set<std::string_view> names, titles;
  for (const LanguageFacts& facts : all_languages()) {
    EXPECT_EQ(&facts_of(facts.language), &facts);
    EXPECT_EQ(language_from_string(facts.name), facts.language);
    EXPECT_EQ(to_string(facts.language), facts.name);
    EXPECT_TRUE(names.insert(facts.name).second) << facts.name;
    EXPECT_TRUE(titles.insert(facts.title).second) << facts.title;
    EXPECT_FALSE(facts.extensions.empty()) << facts.name;
    EXPECT_EQ(facts.fence_tags.empty(), facts.syntax == Syntax::kBinary) << facts.name;
  }
  EXPECT_EQ(language_from_string("C++"), std::nullopt);
}

TEST(Targets, TritonIsInterpretedWhereTheProcessorIsAskedFor) {
  EXPECT_EQ(route(Language::kTriton, Target::kCpu), Target::kInterpret);
  EXPECT_EQ(route(Language::kCpp, Target::kCpu), Target::kCpu);
  EXPECT_EQ(route(Language::kCpp, Target::kCuda), std::nullopt);
  EXPECT_TRUE(is_interpreted(Language::kTriton, "cpu"));
  EXPECT_FALSE(is_interpreted(Language::kTriton, "cuda"));
  EXPECT_FALSE(is_interpreted(Language::kPython, "cpu"));
  EXPECT_EQ(workload_target(Language::kTriton, "cpu"), "interpret");
  EXPECT_EQ(workload_target(Language::kTriton, "cuda"), "cuda");
  EXPECT_EQ(workload_target(Language::kPtx, "cuda"), "cuda");
  EXPECT_EQ(workload_target(Language::kPtx, "cpu"), "cpu");
}

TEST(Targets, NamesReadBack) {
  for (const Target target : all_targets())
    EXPECT_EQ(target_from_string(to_string(target)), target);
  EXPECT_EQ(target_from_string("tpu"), std::nullopt);
  EXPECT_EQ(languages_for(Target::kCpu), "cpp, python and triton");
}

}  // namespace
}  // namespace kw::task
