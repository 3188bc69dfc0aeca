// The client over a real socket, whose other end the test plays by hand.
#include "link/model_client.h"

#include <condition_variable>

#include <gtest/gtest.h>
#include <poll.h>

#include "base/check.h"
#include "os/fd.h"

namespace kw::link {
namespace {

constexpr int kMaxWaitMs = 20'000;

// Keeps in words what a listener heard; the test's thread waits for it.
class Heard {
 public:
  void say(std::string word) {
    std::lock_guard lock(mutex_);
    words_.push_back(std::move(word));
    change_.notify_all();
  }
  std::vector<std::string> take(std::size_t count) {
    std::unique_lock lock(mutex_);
    KW_CHECK(change_.wait_for(lock, std::chrono::milliseconds(kMaxWaitMs),
                              [&] { return words_.size() >= count; }));
    return std::exchange(words_, {});
  }

 private:
  std::mutex mutex_;
  std::condition_variable change_;
  std::vector<std::string> words_;
};

class Listener : public GenerationListener {
 public:
  explicit Listener(Heard& heard) : heard_(heard) {}
  ~Listener() override { heard_.say("destroyed"); }
  void accepted(const Accepted& accepted) override {
    heard_.say(fmt::format("accepted {}", accepted.prompt_tokens));
  }
  void part(Part part) override { heard_.say("part " + part.text); }
  void done(const Done& done) override { heard_.say(fmt::format("done {}", done.sampled_tokens)); }
  void failed(const Failed& failure) override {
    heard_.say(fmt::format("failed {} {}", to_string(failure.code), failure.message));
  }

 private:
  Heard& heard_;
};

// The engine's end.
class Engine {
 public:
  explicit Engine(os::UniqueFd socket) : channel_(std::move(socket)) {}
  void send(const EngineMessage& message) {
    ASSERT_TRUE(channel_.queue(to_json(message)));
    ASSERT_TRUE(channel_.flush());
  }
  FrontMessage next() {
    while (messages_.empty()) {
      pollfd wait{channel_.fd(), POLLIN, 0};
      KW_CHECK(::poll(&wait, 1, kMaxWaitMs) == 1);
      std::vector<Json> got;
      auto received = channel_.receive(got);
      for (const Json& one : got) messages_.push_back(front_message_from_json(one).value());
      KW_CHECK(received || !got.empty());
    }
    FrontMessage first = std::move(messages_.front());
    messages_.erase(messages_.begin());
    return first;
  }
  template <typename T>
  T next_of() {
    return std::get<T>(next());
  }

 private:
  Channel channel_;
  std::vector<FrontMessage> messages_;
};

class ModelClientTest : public testing::Test {
 protected:
  ModelClientTest() : pair(std::move(*os::make_socket_pair())) {
    engine = std::make_unique<Engine>(std::move(pair.second));
  }
  void connect() {
    engine->send(Welcome{kModelProtocol, {"qwen2", "float32", "cpu", 1, 2, 300, 4}});
    auto made = ModelClient::connect(std::move(pair.first),
                                     [this](const Error&) { heard.say("lost"); }, {});
    ASSERT_TRUE(made) << made.error().message();
    client = std::move(*made);
    EXPECT_EQ(engine->next_of<Hello>().protocol, kModelProtocol);
  }
  RequestId ask(const std::string& prompt, std::stop_token stop = {}) {
    GenerateRequest request;
    request.prompt = prompt;
    client->generate(request, std::make_unique<Listener>(heard), std::move(stop));
    auto got = engine->next_of<Generate>();
    EXPECT_EQ(std::get<std::string>(got.request.prompt), prompt);
    return got.id;
  }

  os::SocketPair pair;
  std::unique_ptr<Engine> engine;
  Heard heard;
  std::unique_ptr<ModelClient> client;
};

using Words = std::vector<std::string>;

TEST_F(ModelClientTest, AnswersByTheirIds) {
  connect();
  EXPECT_EQ(client->model().context, 300);
  const RequestId one = ask("one"), two = ask("two");
  EXPECT_NE(one, two);
  engine->send(Accepted{two, 2});
  engine->send(Part{two, 0, "b", {1}, {}, text::Finish::kStop});
  engine->send(Done{two, 2, 1});
  EXPECT_EQ(heard.take(4), (Words{"accepted 2", "part b", "done 1", "destroyed"}));
  engine->send(Failed{one, ErrorCode::kInvalidArgument, "no", FailureReason::kOther});
  EXPECT_EQ(heard.take(2), (Words{"failed invalid_argument no", "destroyed"}));
  engine->send(Part{one, 0, "late", {}, {}, {}});  // of one that has ended: nobody's
  engine->send(Accepted{ask("three"), 3});
  EXPECT_EQ(heard.take(1), Words{"accepted 3"});
}

TEST_F(ModelClientTest, AStopCancels) {
  connect();
  std::stop_source stop, before;
  before.request_stop();
  const RequestId id = ask("a", stop.get_token());
  stop.request_stop();
  EXPECT_EQ(engine->next_of<Cancel>().id, id);
  engine->send(Done{id, 1, 0});
  EXPECT_EQ(heard.take(2), (Words{"done 0", "destroyed"}));
  const RequestId other = ask("b", before.get_token());
  EXPECT_EQ(engine->next_of<Cancel>().id, other);
}

TEST_F(ModelClientTest, EveryoneHearsThatTheEngineIsGone) {
  connect();
  ask("a");
  ask("b");
  client->statistics([&](const Result<Statistics>& statistics) {
    heard.say(statistics ? "statistics" : "no statistics");
  });
  engine->next_of<StatisticsRequest>();
  engine.reset();
  const std::string failed = "failed unavailable the engine's program has ended";
  EXPECT_EQ(heard.take(6),
            (Words{failed, "destroyed", failed, "destroyed", "no statistics", "lost"}));
  EXPECT_FALSE(client->alive());
  client->generate({}, std::make_unique<Listener>(heard), {});
  EXPECT_EQ(heard.take(2), (Words{failed, "destroyed"}));
}

TEST_F(ModelClientTest, TellsWhyTheEngineEnds) {
  connect();
  ask("a");
  engine->send(Failed{0, ErrorCode::kResourceExhausted, "out of memory", FailureReason::kOther});
  EXPECT_EQ(heard.take(3), (Words{"failed unavailable out of memory", "destroyed", "lost"}));
}

TEST_F(ModelClientTest, AnOddMessageEndsTheLink) {
  connect();
  ask("a");
  engine->send(Part{1, 0, "", {}, {{{0, 0, ""}, {}}}, {}});
  engine->send(Statistics{});  // id 0
  EXPECT_EQ(heard.take(4).back(), "lost");
}

TEST_F(ModelClientTest, ItsEndFailsWhatWaits) {
  connect();
  ask("a");
  client.reset();
  EXPECT_EQ(heard.take(2), (Words{"failed cancelled the server stops", "destroyed"}));
}

TEST_F(ModelClientTest, Statistics) {
  connect();
  client->statistics([&](const Result<link::Statistics>& statistics) {
    heard.say(fmt::format("running {}", statistics->running));
  });
  const RequestId id = engine->next_of<StatisticsRequest>().id;
  engine->send(link::Statistics{id, 4, 3, 2, 1, 0, 0, 0});
  EXPECT_EQ(heard.take(1), Words{"running 3"});
}

TEST_F(ModelClientTest, HandsOnWhyThereIsNoModel) {
  engine->send(Failed{0, ErrorCode::kNotFound, "m: no such folder", FailureReason::kOther});
  auto made = ModelClient::connect(std::move(pair.first), {}, {});
  ASSERT_FALSE(made);
  EXPECT_EQ(made.error().code(), ErrorCode::kNotFound);
  EXPECT_EQ(made.error().message(), "m: no such folder");
}

TEST_F(ModelClientTest, RefusesAnotherVersion) {
  engine->send(Welcome{kModelProtocol + 1, {}});
  auto made = ModelClient::connect(std::move(pair.first), {}, {});
  ASSERT_FALSE(made);
  EXPECT_EQ(made.error().code(), ErrorCode::kUnsupported);
}

TEST_F(ModelClientTest, StopsWhileTheModelLoads) {
  std::stop_source stop;
  std::jthread stopper([&] {
    engine->next_of<Hello>();
    stop.request_stop();
  });
  auto made = ModelClient::connect(std::move(pair.first), {}, stop.get_token());
  ASSERT_FALSE(made);
  EXPECT_EQ(made.error().code(), ErrorCode::kCancelled);
}

TEST_F(ModelClientTest, SaysThatTheEngineEndedWithoutAWord) {
  engine.reset();
  auto made = ModelClient::connect(std::move(pair.first), {}, {});
  ASSERT_FALSE(made);
  EXPECT_EQ(made.error().code(), ErrorCode::kUnavailable);
}

}  // namespace
}  // namespace kw::link
