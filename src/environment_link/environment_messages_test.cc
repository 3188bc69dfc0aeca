#include "environment_link/environment_messages.h"

#include <gtest/gtest.h>

namespace kw::environment_link {
namespace {

Json again(const TrainerMessage& message) {
  return to_json(trainer_message_from_json(to_json(message)).value());
}
Json again(const EnvironmentMessage& message) {
  return to_json(environment_message_from_json(to_json(message)).value());
}

TEST(EnvironmentMessages, KeepWhatTheySay) {
  const std::vector<TrainerMessage> asked = {Hello{kEnvironmentProtocol, {{"kind", "kernels"}}},
                                             Begin{1, "relu"},
                                             StepRequest{2, 1, 3, "text", text::Finish::kLength},
                                             End{1},
                                             Cancel{2},
                                             Paused{}};
  for (const TrainerMessage& one : asked) EXPECT_EQ(again(one), to_json(one));
  environment::Step step;
  step.reward = 0.1;
  step.interval = environment::RewardInterval{0.05, 0.2};
  step.next = {{{"user", "Again."}}, false};
  step.facts = {{"outcome", "passed"}};
  environment::Step last;
  last.done = true;
  const std::vector<EnvironmentMessage> said = {
      Welcome{kEnvironmentProtocol, {"a", "b"}, "two problems"},
      Began{1, {{{"user", "Write it."}}, true}},
      Stepped{2, step},
      Stepped{3, last},
      Failed{4, ErrorCode::kUnavailable, "the checker went away"},
      Pause{},
      Resume{}};
  for (const EnvironmentMessage& one : said) EXPECT_EQ(again(one), to_json(one));
  const auto read = environment_message_from_json(to_json(said[2])).value();
  EXPECT_EQ(std::get<Stepped>(read).step.interval, step.interval);
}

TEST(EnvironmentMessages, OthersAreRefused) {
  const Json step = to_json(TrainerMessage(StepRequest{2, 1, 0, "", text::Finish::kStop}));
  for (const auto& [key, value] : std::vector<std::pair<std::string, Json>>{
           {"id", 0}, {"id", -1}, {"episode", 0}, {"finish", "soon"}, {"more", 1}, {"type", "x"}}) {
    Json changed = step;
    changed[key] = value;
    const auto read = trainer_message_from_json(changed);
    ASSERT_FALSE(read.has_value()) << key;
    EXPECT_NE(read.error().message().find(key), std::string::npos) << read.error().message();
  }
  environment::Step done;
  done.done = true;
  Json stepped = to_json(EnvironmentMessage(Stepped{1, done}));
  stepped["reward"] = nullptr;
  EXPECT_FALSE(environment_message_from_json(stepped).has_value());
  stepped["reward"] = 1;
  stepped["interval"] = {2, 1};
  EXPECT_FALSE(environment_message_from_json(stepped).has_value());
}

}  // namespace
}  // namespace kw::environment_link
