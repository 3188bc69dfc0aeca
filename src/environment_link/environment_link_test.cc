// Both ends of a link: what the served environment says comes through, and a process that dies,
// stalls, answers twice or is of another version is an error.
#include <atomic>
#include <barrier>
#include <condition_variable>
#include <latch>
#include <mutex>
#include <optional>
#include <thread>

#include <gtest/gtest.h>
#include <poll.h>

#include "environment/toy_environment.h"
#include "environment_link/environment_server.h"
#include "environment_link/remote_environment.h"
#include "os/fd.h"

namespace kw::environment_link {
namespace {

using environment::Answer;
using environment::Episode;
using environment::Step;

constexpr RemoteEnvironment::Patience kLong{600};

// The episode's steps are a function of the test.
class ScriptedEnvironment : public environment::Environment {
 public:
  using OnStep = std::function<Result<Step>(const Answer&, const std::stop_token&)>;
  explicit ScriptedEnvironment(OnStep on_step) : on_step_(std::move(on_step)) {}
  std::vector<std::string> tasks() const override { return {"a"}; }
  Result<std::unique_ptr<Episode>> begin(const std::string&, const std::stop_token&) override {
    return std::make_unique<Scripted>(on_step_);
  }

 private:
  class Scripted : public Episode {
   public:
    explicit Scripted(const OnStep& on_step) : on_step_(on_step) {}
    const environment::Observation& observation() const override { return observation_; }
    Result<Step> step(const Answer& answer, const std::stop_token& stop) override {
      return on_step_(answer, stop);
    }

   private:
    const OnStep& on_step_;
    const environment::Observation observation_{{{"user", "?"}}, true};
  };
  const OnStep on_step_;
};

// Serves on a thread of its own.
class Served {
 public:
  explicit Served(std::unique_ptr<environment::Environment> environment, int threads = 4) {
    os::SocketPair pair = os::make_socket_pair().value();
    thread_ = std::jthread([socket = std::move(pair.first), environment = std::move(environment),
                            threads, this]() mutable {
      link::Channel channel(std::move(socket));
      status =
          serve_environment(channel,
                            [&](const Json& given, Trainer&) -> Result<ServedEnvironment> {
                              settings = given;
                              if (given.contains("wrong"))
                                return fail(ErrorCode::kNotFound, "no such problems");
                              return ServedEnvironment{std::move(environment), "a toy", threads};
                            },
                            {});
    });
    socket_ = std::move(pair.second);
  }
  Result<std::unique_ptr<RemoteEnvironment>> connect(Json given = {{"kind", "toy"}}) {
    return RemoteEnvironment::connect(std::move(socket_), std::move(given), kLong, {});
  }
  void join() { thread_.join(); }

  Json settings;
  Status status;

 private:
  os::UniqueFd socket_;
  std::jthread thread_;
};

TEST(EnvironmentLink, EpisodesComeThrough) {
  Served served(environment::ToyEnvironment::make({"ab", 2}).value());
  auto remote = served.connect().value();
  EXPECT_EQ(served.settings, (Json{{"kind", "toy"}}));
  EXPECT_EQ(remote->tasks(), (std::vector<std::string>{"a", "b"}));
  EXPECT_EQ(remote->about(), "a toy");
  auto episode = remote->begin("b", {}).value();
  EXPECT_EQ(episode->observation().messages.at(0).content, "The letter b:");
  const Step first = episode->step({"bb a", text::Finish::kStop}, {}).value();
  EXPECT_EQ(first.reward, 0.5);
  EXPECT_FALSE(first.done);
  EXPECT_EQ(first.facts["bytes"], 4);
  EXPECT_EQ(episode->observation(), first.next);
  EXPECT_TRUE(episode->step({"b", text::Finish::kStop}, {}).value().done);
  EXPECT_EQ(remote->begin("c", {}).error().code(), ErrorCode::kNotFound);
  EXPECT_TRUE(remote->alive().has_value());
  episode.reset();
  remote.reset();
  served.join();
  EXPECT_TRUE(served.status.has_value());
}

TEST(EnvironmentLink, AnswersAreJudgedSideBySide) {
  std::barrier both(2);  // passes only while two answers are judged at once
  Served served(std::make_unique<ScriptedEnvironment>(
      [&both](const Answer& answer, const std::stop_token&) -> Result<Step> {
        both.arrive_and_wait();
        Step out;
        out.reward = static_cast<double>(answer.text.size());
        out.done = true;
        return out;
      }));
  auto remote = served.connect().value();
  auto one = remote->begin("a", {}).value();
  auto two = remote->begin("a", {}).value();
  std::jthread other([&] { EXPECT_EQ(two->step({"bb"}, {}).value().reward, 2); });
  EXPECT_EQ(one->step({"b"}, {}).value().reward, 1);
}

TEST(EnvironmentLink, AFailureIsNoRewardAndTheAnswerMayBeGivenAgain) {
  std::atomic<int> calls{0};
  Served served(std::make_unique<ScriptedEnvironment>(
      [&calls](const Answer&, const std::stop_token&) -> Result<Step> {
        if (++calls == 1) return fail(ErrorCode::kUnavailable, "the checker went away");
        Step out;
        out.reward = 7;
        out.done = true;
        return out;
      }));
  auto remote = served.connect().value();
  auto episode = remote->begin("a", {}).value();
  const auto failed = episode->step({"x"}, {});
  ASSERT_FALSE(failed.has_value());
  EXPECT_EQ(failed.error().code(), ErrorCode::kUnavailable);
  EXPECT_EQ(failed.error().message(), "the checker went away");
  EXPECT_TRUE(remote->alive().has_value());
  EXPECT_EQ(episode->step({"x"}, {}).value().reward, 7);
  EXPECT_EQ(calls, 2);
}

TEST(EnvironmentLink, AStopReachesTheJudgement) {
  std::stop_source stop;
  Served served(std::make_unique<ScriptedEnvironment>(
      [&stop](const Answer&, const std::stop_token& token) -> Result<Step> {
        stop.request_stop();
        std::mutex mutex;
        std::condition_variable_any never;
        std::unique_lock lock(mutex);
        never.wait(lock, token, [] { return false; });  // returns after the other side's stop alone
        return fail(ErrorCode::kCancelled, "cancelled");
      }));
  auto remote = served.connect().value();
  auto episode = remote->begin("a", {}).value();
  EXPECT_EQ(episode->step({"x"}, stop.get_token()).error().code(), ErrorCode::kCancelled);
  EXPECT_TRUE(remote->alive().has_value());
}

TEST(EnvironmentLink, AnEnvironmentThatCannotBeMadeSaysWhy) {
  Served served(environment::ToyEnvironment::make({}).value());
  const auto remote = served.connect({{"wrong", true}});
  ASSERT_FALSE(remote.has_value());
  EXPECT_EQ(remote.error().code(), ErrorCode::kNotFound);
  EXPECT_EQ(remote.error().message(), "no such problems");
}

// ---- a process that misbehaves, message by message

class Peer {
 public:
  Peer() : Peer(os::make_socket_pair().value()) {}
  os::UniqueFd other_end() { return std::move(other_); }
  Json next() {
    while (messages_.empty()) {
      pollfd wait{channel_->fd(), POLLIN, 0};
      ::poll(&wait, 1, -1);
      if (!channel_->receive(messages_) && messages_.empty()) return {};
    }
    Json out = messages_.front();
    messages_.erase(messages_.begin());
    return out;
  }
  template <typename Message>
  void say(const Message& message) {
    ASSERT_TRUE(channel_->queue(to_json(message)).has_value());
    ASSERT_TRUE(channel_->flush().has_value());
  }
  void die() { channel_.reset(); }

 private:
  explicit Peer(os::SocketPair pair)
      : other_(std::move(pair.second)), channel_(std::in_place, std::move(pair.first)) {}
  os::UniqueFd other_;
  std::optional<link::Channel> channel_;
  std::vector<Json> messages_;
};

// The remote environment of a peer that says hello and begins one episode, then does `then`.
struct Misbehaving {
  explicit Misbehaving(const std::function<void(Peer&, RequestId)>& then) {
    thread = std::jthread([this, then] {
      peer.next();
      peer.say(EnvironmentMessage(Welcome{kEnvironmentProtocol, {"a"}, ""}));
      peer.say(EnvironmentMessage(Began{peer.next()["id"], {{{"user", "?"}}, true}}));
      then(peer, peer.next()["id"]);
    });
    remote = RemoteEnvironment::connect(peer.other_end(), {}, kLong, {}).value();
    episode = remote->begin("a", {}).value();
  }
  Peer peer;
  std::jthread thread;
  std::unique_ptr<RemoteEnvironment> remote;
  std::unique_ptr<Episode> episode;
};

Stepped paid(RequestId id) {
  Stepped out{id, {}};
  out.step.reward = 1;
  out.step.done = true;
  return out;
}

// An environment that times its answers: the trainer stands still meanwhile, and only then.
TEST(EnvironmentLink, TheTrainerStandsStillWhileSomethingIsTimed) {
  os::SocketPair pair = os::make_socket_pair().value();
  std::atomic<bool> timed{false};
  std::atomic<int> pieces{0};
  std::jthread serving([&, socket = std::move(pair.first)]() mutable {
    link::Channel channel(std::move(socket));
    EXPECT_TRUE(
        serve_environment(channel,
                          [&](const Json&, Trainer& trainer) -> Result<ServedEnvironment> {
                            trainer.pause();  // it waits for the welcome: nothing works
                            trainer.resume();
                            return ServedEnvironment{
                                std::make_unique<ScriptedEnvironment>(
                                    [&](const Answer&, const std::stop_token&) -> Result<Step> {
                                      Step out;
                                      trainer.pause();
                                      const int before = pieces;
                                      timed = true;
                                      std::this_thread::sleep_for(std::chrono::milliseconds(20));
                                      out.reward = pieces - before;
                                      timed = false;
                                      trainer.resume();
                                      out.done = true;
                                      return out;
                                    }),
                                "", 1};
                          },
                          {})
            .has_value());
  });
  os::Standstill standstill;
  auto remote =
      RemoteEnvironment::connect(std::move(pair.second), Json::object(), kLong, {}, &standstill)
          .value();
  std::atomic<bool> judged{false};
  std::jthread judge([&] {
    for (int i = 0; i < 5; ++i) {
      auto episode = remote->begin("a", {}).value();
      EXPECT_EQ(episode->step({"x"}, {}).value().reward, 0);
    }
    judged = true;
  });
  while (!judged) {
    const os::Standstill::Working working(standstill);
    for (int i = 0; i < 100; ++i) {
      EXPECT_FALSE(timed);
      ++pieces;
      standstill.rest();
    }
  }
  EXPECT_GT(standstill.stood().count(), 0);
  judge.join();
  remote.reset();
}

TEST(EnvironmentLink, AnEpisodeBeginsWhileAllJudgesJudge) {
  std::latch begun(1);
  Served served(std::make_unique<ScriptedEnvironment>(
                    [&begun](const Answer&, const std::stop_token&) -> Result<Step> {
                      begun.wait();
                      return Step{};
                    }),
                1);
  auto remote = served.connect().value();
  auto one = remote->begin("a", {}).value();
  std::jthread judge([&] { EXPECT_TRUE(one->step({"x"}, {}).has_value()); });
  EXPECT_TRUE(remote->begin("a", {}).has_value());
  begun.count_down();
  judge.join();
  one.reset();
}

TEST(EnvironmentLink, AProcessThatDiesWhileItTimesLetsTheTrainerGoOn) {
  Peer peer;
  os::Standstill standstill;
  std::jthread thread([&] {
    peer.next();
    peer.say(EnvironmentMessage(Welcome{kEnvironmentProtocol, {"a"}, ""}));
    peer.say(EnvironmentMessage(Pause{}));
    EXPECT_EQ(peer.next()["type"], "paused");
    peer.die();
  });
  auto remote = RemoteEnvironment::connect(peer.other_end(), {}, kLong, {}, &standstill).value();
  while (remote->alive()) std::this_thread::yield();
  const os::Standstill::Working working(standstill);  // waits for ever where it is not resumed
}

TEST(EnvironmentLink, ATrainerThatIsGoneHoldsUpNothing) {
  os::SocketPair pair = os::make_socket_pair().value();
  std::atomic<bool> asked{false};
  std::jthread serving([&, socket = std::move(pair.first)]() mutable {
    link::Channel channel(std::move(socket));
    EXPECT_TRUE(
        serve_environment(channel,
                          [&](const Json&, Trainer& trainer) -> Result<ServedEnvironment> {
                            return ServedEnvironment{
                                std::make_unique<ScriptedEnvironment>(
                                    [&](const Answer&, const std::stop_token&) -> Result<Step> {
                                      asked = true;
                                      trainer.pause();
                                      trainer.resume();
                                      return Step{};
                                    }),
                                "", 1};
                          },
                          {})
            .has_value());
  });
  os::Standstill standstill;
  std::optional<os::Standstill::Working> working(standstill);  // never stands still
  auto remote =
      RemoteEnvironment::connect(std::move(pair.second), Json::object(), kLong, {}, &standstill)
          .value();
  auto episode = remote->begin("a", {}).value();
  std::stop_source stop;
  std::jthread judge([&] { EXPECT_FALSE(episode->step({"x"}, stop.get_token()).has_value()); });
  while (!asked) std::this_thread::yield();
  stop.request_stop();
  judge.join();
  episode.reset();
  remote.reset();
  serving.join();
  working.reset();
}

TEST(EnvironmentLink, AProcessThatDiesIsLost) {
  Misbehaving world([](Peer& peer, RequestId) { peer.die(); });
  EXPECT_EQ(world.episode->step({"x"}, {}).error().message(),
            "the environment's process has ended");
  EXPECT_EQ(world.remote->alive().error().code(), ErrorCode::kUnavailable);
  EXPECT_FALSE(world.remote->begin("a", {}).has_value());
}

TEST(EnvironmentLink, ItsLastWordsAreTheReason) {
  Misbehaving world([](Peer& peer, RequestId) {
    peer.say(EnvironmentMessage(Failed{0, ErrorCode::kResourceExhausted, "the disk is full"}));
    peer.die();
  });
  EXPECT_EQ(world.episode->step({"x"}, {}).error().message(), "the disk is full");
  EXPECT_EQ(world.remote->alive().error().message(), "the disk is full");
}

TEST(EnvironmentLink, AProcessThatStallsIsLost) {
  Peer silent;
  const auto remote =
      RemoteEnvironment::connect(silent.other_end(), {}, RemoteEnvironment::Patience(0.1), {});
  ASSERT_FALSE(remote.has_value());
  EXPECT_EQ(remote.error().code(), ErrorCode::kUnavailable);
  EXPECT_EQ(remote.error().message(), "the environment has not answered for 0.1 s");
}

TEST(EnvironmentLink, AnAnswerThatComesTwiceIsNotPaidTwice) {
  std::barrier answered(2);
  Misbehaving world([&](Peer& peer, RequestId id) {
    peer.say(EnvironmentMessage(paid(id)));
    answered.arrive_and_wait();
    peer.say(EnvironmentMessage(paid(id)));
  });
  EXPECT_EQ(world.episode->step({"x"}, {}).value().reward, 1);
  answered.arrive_and_wait();
  world.thread.join();
  while (world.remote->alive()) std::this_thread::yield();
  EXPECT_EQ(world.remote->alive().error().code(), ErrorCode::kInternal);
}

TEST(EnvironmentLink, AnotherProtocolIsRefusedByBothSides) {
  Peer old;
  std::jthread thread([&old] {
    old.next();
    old.say(EnvironmentMessage(Welcome{kEnvironmentProtocol + 1, {"a"}, ""}));
  });
  const auto remote = RemoteEnvironment::connect(old.other_end(), {}, kLong, {});
  ASSERT_FALSE(remote.has_value());
  EXPECT_EQ(remote.error().code(), ErrorCode::kUnsupported);

  Peer newer;
  link::Channel channel(newer.other_end());
  newer.say(TrainerMessage(Hello{kEnvironmentProtocol + 1, {}}));
  const Status served =
      serve_environment(channel,
                        [](const Json&, Trainer&) -> Result<ServedEnvironment> {
                          return fail(ErrorCode::kInternal, "made for another protocol");
                        },
                        {});
  ASSERT_FALSE(served.has_value());
  EXPECT_EQ(served.error().code(), ErrorCode::kUnsupported);
  EXPECT_EQ(newer.next()["code"], "unsupported");
}

TEST(EnvironmentLink, ARequestOutOfOrderIsRefused) {
  Peer trainer;
  link::Channel channel(trainer.other_end());
  std::jthread serving([&] {
    EXPECT_TRUE(serve_environment(channel,
                                  [](const Json&, Trainer&) -> Result<ServedEnvironment> {
                                    return ServedEnvironment{
                                        environment::ToyEnvironment::make({"a", 2}).value(), "", 1};
                                  },
                                  {})
                    .has_value());
  });
  trainer.say(TrainerMessage(Hello{}));
  EXPECT_EQ(trainer.next()["type"], "welcome");
  trainer.say(TrainerMessage(Begin{1, "a"}));
  EXPECT_EQ(trainer.next()["type"], "began");
  const auto refused = [&](const StepRequest& step, const std::string& why) {
    trainer.say(TrainerMessage(step));
    const Json reply = trainer.next();
    EXPECT_EQ(reply["type"], "failed") << reply;
    EXPECT_NE(reply["message"].get<std::string>().find(why), std::string::npos) << reply;
  };
  refused({2, 9, 0, "a"}, "no such episode");
  refused({3, 1, 1, "a"}, "the episode is at 0");
  refused({3, 1, 0, "a"}, "used before");
  trainer.say(TrainerMessage(StepRequest{4, 1, 0, "a"}));
  EXPECT_EQ(trainer.next()["reward"], 1.0);
  refused({5, 1, 0, "a"}, "the episode is at 1");
  trainer.say(TrainerMessage(StepRequest{6, 1, 1, "a"}));
  EXPECT_EQ(trainer.next()["done"], true);
  refused({7, 1, 2, "a"}, "has ended");
  trainer.die();
}

}  // namespace
}  // namespace kw::environment_link
