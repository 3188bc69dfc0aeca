// The command line of the engine's program, and flags that are refused.
#include "kernelwright/testing/fakes.h"

namespace kw::front {
namespace {

class ServeModelTest : public FrontTest {
 protected:
  std::string talk(std::vector<std::string> arguments) {
    console.err_text.clear();
    started_program.clear();
    arguments.insert(arguments.begin(), "serve-model");
    EXPECT_EQ(kernelwright(arguments), 2);
    return console.err_text;
  }
};

TEST_F(ServeModelTest, HandsItsSettingsOver) {
  EXPECT_NE(talk({"--model", "m", "--slots", "3", "--context", "128"}).find("not in tests"),
            std::string::npos);
  ASSERT_EQ(started_program.size(), 3U);
  EXPECT_EQ(started_program[0], path("bin/kernelwright-lm"));
  EXPECT_EQ(started_program[1], "serve");
  const Json settings = Json::parse(started_program[2]);
  EXPECT_EQ(settings["model"], "m");
  EXPECT_EQ(settings["slots"], 3);
  EXPECT_EQ(settings["context"], 128);
  EXPECT_EQ(settings["matmuls"], "batch_invariant");
  EXPECT_EQ(settings["socket"], os::ChildProgram::kSocket);
}

TEST_F(ServeModelTest, RefusesFlagsBeforeItStartsAnything) {
  for (const std::vector<std::string>& flags :
       std::vector<std::vector<std::string>>{{"--port", "65536"},
                                             {"--slots", "0"},
                                             {"--context", "1"},
                                             {"--api-key", "short"},
                                             {"--tls-key", "k.pem"},
                                             {"--grace", "-1"},
                                             {"--max-waiting", "-1"}}) {
    std::vector<std::string> arguments = {"--model", "m"};
    arguments.insert(arguments.end(), flags.begin(), flags.end());
    EXPECT_NE(talk(arguments).find("error: "), std::string::npos) << flags[0];
    EXPECT_TRUE(started_program.empty()) << flags[0];
  }
  EXPECT_EQ(talk({"--model", "m", "--api-key", "short-secret"}).find("short-secret"),
            std::string::npos);
  EXPECT_NE(talk({}).find("--model"), std::string::npos);
}

}  // namespace
}  // namespace kw::front
