// The requests to kernelwright-lm.
#include "kernelwright/model/generate.h"

#include "kernelwright/testing/fakes.h"

namespace kw::front {
namespace {

class GenerateTest : public FrontTest {};

TEST_F(GenerateTest, HandsItsSettingsOver) {
  EXPECT_EQ(
      kernelwright({"generate", "--model", "m", "--prompt", "a \"b\"", "--n", "3", "--stop", "x",
                    "--stop", "y", "--seed", "18446744073709551615", "--matmuls", "fastest"}),
      2);
  ASSERT_EQ(became.size(), 3U) << console.err_text;
  EXPECT_EQ(became[0], path("bin/kernelwright-lm"));
  EXPECT_EQ(became[1], "generate");
  Json settings = Json::parse(became[2]);
  EXPECT_EQ(settings["prompt"], "a \"b\"");
  EXPECT_EQ(settings["n"], 3);
  EXPECT_EQ(settings["matmuls"], "fastest");
  EXPECT_EQ(settings["context"], 0);
  EXPECT_EQ(settings["stop"], Json({"x", "y"}));
  EXPECT_EQ(settings["seed"], 18446744073709551615ULL);
}

TEST_F(GenerateTest, ImportHandsItsSettingsOver) {
  EXPECT_EQ(kernelwright({"model", "import", "a.gguf", "--out", "b", "--dtype", "bfloat16",
                          "--cut-vocabulary", "c.jsonl"}),
            2);
  ASSERT_EQ(became.size(), 3U) << console.err_text;
  EXPECT_EQ(became[1], "import");
  EXPECT_EQ(Json::parse(became[2]), Json({{"file", "a.gguf"},
                                          {"out", "b"},
                                          {"dtype", "bfloat16"},
                                          {"cut_vocabulary", "c.jsonl"}}));
  became.clear();
  EXPECT_EQ(kernelwright({"model", "import", "a.gguf", "--out", "b", "--dtype", "int4"}), 2);
  EXPECT_TRUE(became.empty());
  EXPECT_EQ(kernelwright({"model", "import", "a.gguf"}), 2);
  EXPECT_TRUE(became.empty());
}

TEST_F(GenerateTest, MergeHandsItsSettingsOver) {
  EXPECT_EQ(kernelwright({"model", "merge", "a", "--adapter", "b", "--out", "c"}), 2);
  ASSERT_EQ(became.size(), 3U) << console.err_text;
  EXPECT_EQ(became[1], "merge");
  EXPECT_EQ(Json::parse(became[2]),
            Json({{"model", "a"}, {"adapter", "b"}, {"out", "c"}, {"dtype", ""}}));
  became.clear();
  EXPECT_EQ(kernelwright({"model", "merge", "a", "--adapter", "b", "--out", "c", "--dtype", "i4"}),
            2);
  EXPECT_EQ(kernelwright({"model", "merge", "a", "--out", "c"}), 2);
  EXPECT_TRUE(became.empty());
}

TEST_F(GenerateTest, WantsOnePromptAndAModel) {
  auto talk = [&](std::vector<std::string> arguments) {
    console.err_text.clear();
    arguments.insert(arguments.begin(), "generate");
    EXPECT_EQ(kernelwright(arguments), 2);
    EXPECT_TRUE(became.empty());
    return console.err_text;
  };
  EXPECT_NE(talk({"--model", "m"}).find("one of --prompt"), std::string::npos);
  EXPECT_NE(talk({"--model", "m", "--prompt", "a", "--chat", "b"}).find("one of"),
            std::string::npos);
  EXPECT_NE(talk({"--prompt", "a"}).find("--model"), std::string::npos);
  EXPECT_NE(talk({"--model", "m", "--prompt", "a", "--system", "b"}).find("--system"),
            std::string::npos);
  EXPECT_NE(talk({"--model", "m", "--prompt", "a", "--seed", "-1"}).find("--seed"),
            std::string::npos);
  EXPECT_NE(talk({"--model", "m", "--prompt", "a", "--temprature", "1"}).find("--temperature"),
            std::string::npos);
}

}  // namespace
}  // namespace kw::front
