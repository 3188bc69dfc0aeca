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
  EXPECT_TRUE(is_interpreted(Language::kTriton, Target::kCpu));
  EXPECT_FALSE(is_interpreted(Language::kTriton, Target::kCuda));
  EXPECT_FALSE(is_interpreted(Language::kPython, Target::kCpu));
  EXPECT_EQ(workload_target(Language::kTriton, Target::kCpu), Target::kInterpret);
  EXPECT_EQ(workload_target(Language::kTriton, Target::kCuda), Target::kCuda);
  EXPECT_EQ(workload_target(Language::kPtx, Target::kCuda), Target::kCuda);
  EXPECT_EQ(workload_target(Language::kPtx, Target::kCpu), Target::kCpu);
}

TEST(Targets, JsonHasTheirNames) {
  EXPECT_EQ(Json(Target::kInterpret), "interpret");
  EXPECT_EQ(Json(std::vector{Target::kCpu, Target::kCuda}), Json({"cpu", "cuda"}));
  Target target = Target::kCuda;
  const auto read = [&](Json value) {
    ObjectReader reader = ObjectReader::make(value, "o").value();
    const Status status = read_setting(reader, "target", target);
    return status ? std::string(to_string(target)) : status.error().message();
  };
  EXPECT_EQ(read(Json::object()), "cuda") << "a missing key leaves the target as it is";
  EXPECT_EQ(read({{"target", "cpu"}}), "cpu");
  EXPECT_EQ(read({{"target", "gpu"}}),
            "o.target: \"gpu\" is not one of cpu, interpret, cuda (did you mean \"cpu\"?)");
  EXPECT_EQ(read({{"target", ""}}), "o.target: \"\" is not one of cpu, interpret, cuda");
  EXPECT_EQ(read({{"target", 3}}), "o.target: expected a string, found 3");
}

TEST(Targets, NamesReadBack) {
  for (const Target target : all_targets())
    EXPECT_EQ(target_from_string(to_string(target)), target);
  EXPECT_EQ(target_from_string("tpu"), std::nullopt);
  EXPECT_EQ(parse_target("interpret").value(), Target::kInterpret);
  EXPECT_EQ(parse_target("tpu").error().message(),
            "\"tpu\" is not one of cpu, interpret, cuda (did you mean \"cpu\"?)");
  EXPECT_EQ(languages_for(Target::kCpu), "cpp, python and triton");
}

}  // namespace
}  // namespace kw::task
