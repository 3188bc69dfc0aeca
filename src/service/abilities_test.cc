#include "service/abilities.h"

#include <gtest/gtest.h>

#include "gym/testing/fake_judge.h"

namespace kw::service {
namespace {

using sandbox::Level;

TEST(Abilities, CoverWhatTheirTargetsLanguagesAndIsolationAllow) {
  const Abilities here({{"cpu", {"cpp", "python"}}, {"cuda", {}}}, Level::kNamespaces);
  EXPECT_TRUE(here.cover(Needs{}));
  EXPECT_TRUE(here.cover({.target = "cpu", .language = "cpp"}));
  EXPECT_FALSE(here.cover({.target = "cpu", .language = "triton"}));
  EXPECT_TRUE(here.cover({.target = "cpu"}));
  EXPECT_TRUE(here.cover({.target = "cuda", .language = "ptx", .isolation = Level::kNamespaces}));
  EXPECT_FALSE(here.cover({.target = "cuda", .language = "ptx", .isolation = Level::kFull}));
  EXPECT_FALSE(here.cover({.isolation = Level::kFull}));
  EXPECT_FALSE(Abilities({{"cpu", {}}}, Level::kFull).cover({.target = "cuda"}));
  EXPECT_TRUE(Abilities().cover({"cuda", "triton", Level::kFull}));
}

TEST(Abilities, TravelAsJson) {
  const Abilities here({{"cpu", {"python", "cpp"}}}, Level::kBasic);
  EXPECT_EQ(here.to_json().dump(), R"({"targets":{"cpu":["cpp","python"]},"isolation":"basic"})");
  EXPECT_EQ(abilities_from_json(here.to_json(), "can").value(), here);
  EXPECT_NE(here, Abilities());
  for (const char* wrong :
       {R"({"targets":{}, "isolation":"full"})", R"({"targets":{"tpu":[]}, "isolation":"full"})",
        R"({"targets":{"cpu":[]}, "isolation":"some"})", R"({"targets":{"cpu":[]}})",
        R"({"targets":{"cpu":[1]}, "isolation":"full"})", "7"}) {
    const auto read = abilities_from_json(Json::parse(wrong), "can");
    ASSERT_FALSE(read) << wrong;
    EXPECT_EQ(read.error().code(), ErrorCode::kInvalidArgument);
    EXPECT_TRUE(read.error().message().starts_with("can")) << read.error().message();
  }
}

TEST(Abilities, NeedsAreStoredAsText) {
  const Needs needs{"cuda", "triton", Level::kFull};
  EXPECT_EQ(needs.text(), "cuda/triton/full");
  EXPECT_EQ(needs_of_text(needs.text()).text(), needs.text());
  EXPECT_EQ(needs_of_text("").text(), "//none");
  EXPECT_EQ(worker_for(needs), "a worker that judges triton on cuda, with the isolation full");
}

TEST(Abilities, AreThoseOfTheTargetsThatAreAvailable) {
  gym::FakeJudge judge;
  judge.on_capabilities = [](task::Target target) -> Result<gym::Capabilities> {
    gym::Capabilities out;
    out.available = target == task::Target::kCpu;
    out.why_not = out.available ? "" : "no GPU";
    out.languages = {"cpp"};
    out.level = "namespaces";
    return out;
  };
  EXPECT_EQ(abilities_of(judge).value(), Abilities({{"cpu", {"cpp"}}}, Level::kNamespaces));
  judge.on_capabilities = [](task::Target) -> Result<gym::Capabilities> {
    return fail(ErrorCode::kUnsupported, "no torch");
  };
  const auto none = abilities_of(judge);
  ASSERT_FALSE(none);
  EXPECT_EQ(none.error().message(), "nothing can be judged here: cpu: no torch; cuda: no torch");
}

}  // namespace
}  // namespace kw::service
