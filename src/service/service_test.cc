// The whole way in one process: remote judge, HTTP, task service, worker, a fake gym.
#include <condition_variable>
#include <filesystem>
#include <mutex>
#include <thread>

#include <gtest/gtest.h>

#include "gym/testing/fake_judge.h"
#include "gym/version.h"
#include "net/server.h"
#include "service/remote_judge.h"
#include "service/task_api.h"
#include "service/worker.h"
#include "task/candidate_source.h"
#include "task/problem_source.h"

namespace kw::service {
namespace {

gym::EvalRequest relu_request() {
  const std::string root = KW_SOURCE_DIR;
  gym::EvalRequest out;
  out.problem = task::load_problem(root + "/problems/relu", {}).value();
  out.candidate = task::load_candidate(root + "/examples/relu/good.cpp").value();
  return out;
}

task::Verdict verdict_of(const gym::EvalRequest& request) {
  task::Verdict out;
  out.problem_hash = request.problem.hash;
  out.candidate_hash = request.candidate.hash;
  out.outcome = task::Outcome::kWrongValue;
  return out;
}

class Event {
 public:
  void set() {
    std::lock_guard lock(mutex_);
    is_set_ = true;
    change_.notify_all();
  }
  void wait() {
    std::unique_lock lock(mutex_);
    ASSERT_TRUE(change_.wait_for(lock, std::chrono::seconds(60), [&] { return is_set_; }));
  }

 private:
  std::mutex mutex_;
  std::condition_variable change_;
  bool is_set_ = false;
};

class ServiceTest : public testing::Test {
 protected:
  ServiceTest() {
    gym.on_judge = [](const gym::EvalRequest& request, const std::stop_token&) {
      return verdict_of(request);
    };
    TaskServiceOptions options;
    options.tasks.most_waiting = 3;
    service = TaskService::start(std::make_unique<MemoryStorage>(), options).value();
    server = net::Server::start({}, task_routes(*service, metrics)).value();
    client =
        ServiceClient::make({.url = server->origin(), .patience = std::chrono::seconds(0)}).value();
    judge = make_remote_judge({.url = server->origin()}).value();
  }
  ~ServiceTest() override { server->stop(std::chrono::seconds(1)); }

  std::jthread start_worker() {
    return std::jthread([this](const std::stop_token& stop) {
      const Status status = run_worker({.name = "w"}, *client, gym, stop);
      EXPECT_TRUE(status.has_value()) << status.error().message();
    });
  }
  Result<Json> call(const char* method, const std::string& path, const Json& body = nullptr) {
    return client->call(method, path, body, {});
  }
  Json task_body() { return {{"request", gym::to_json(relu_request()).value()}}; }
  Json tasks(Json task) { return {{"tasks", Json::array({std::move(task)})}}; }
  Json lease() {
    return call("POST", "/v1/leases",
                {{"worker", "w"}, {"gym_version", gym::kGymVersion}, {"wait_seconds", 20}})
        .value()["lease"];
  }

  gym::FakeJudge gym;
  net::MetricRegistry metrics;
  std::unique_ptr<TaskService> service;
  std::unique_ptr<net::Server> server;
  std::unique_ptr<ServiceClient> client;
  std::unique_ptr<gym::Judge> judge;
};

TEST_F(ServiceTest, AWorkersVerdictComesBackWhole) {
  const auto worker = start_worker();
  const auto verdict = judge->judge(relu_request(), {});
  ASSERT_TRUE(verdict.has_value()) << verdict.error().message();
  EXPECT_EQ(to_json(*verdict), to_json(verdict_of(relu_request())));
  EXPECT_EQ(gym.judged, 1);
}

TEST_F(ServiceTest, AFailureOfOursIsTriedThreeTimesAndNoVerdict) {
  gym.on_judge = [](const gym::EvalRequest&, const std::stop_token&) -> Result<task::Verdict> {
    return fail(ErrorCode::kUnavailable, "the compiler went away");
  };
  const auto worker = start_worker();
  const auto verdict = judge->judge(relu_request(), {});
  ASSERT_FALSE(verdict.has_value());
  EXPECT_EQ(verdict.error().code(), ErrorCode::kUnavailable);
  EXPECT_EQ(verdict.error().message(), server->origin() + ": no verdict: the compiler went away");
  EXPECT_EQ(gym.judged, 3);
}

TEST_F(ServiceTest, AVerdictOfAnotherCandidateIsRefused) {
  gym.on_judge = [](const gym::EvalRequest& request, const std::stop_token&) {
    task::Verdict out = verdict_of(request);
    out.candidate_hash = out.problem_hash;
    return out;
  };
  const auto worker = start_worker();
  const auto verdict = judge->judge(relu_request(), {});
  ASSERT_FALSE(verdict.has_value());
  EXPECT_EQ(verdict.error().code(), ErrorCode::kDataLoss);
}

TEST_F(ServiceTest, AStopOfTheClientCancelsTheTask) {
  std::stop_source stop;
  Result<task::Verdict> verdict = fail(ErrorCode::kInternal, "");
  std::jthread asking([&] { verdict = judge->judge(relu_request(), stop.get_token()); });
  const Json leased = lease();
  stop.request_stop();
  asking.join();
  EXPECT_EQ(verdict.error().code(), ErrorCode::kCancelled);
  const auto renewed = call("POST", "/v1/leases/" + leased["task"].get<std::string>() + "/renew",
                            {{"epoch", leased["epoch"]}});
  ASSERT_TRUE(renewed.has_value());
  EXPECT_EQ((*renewed)["go_on"], false);
}

TEST_F(ServiceTest, AStoppedWorkerGivesBack) {
  Event begun;
  gym.on_judge = [&](const gym::EvalRequest&,
                     const std::stop_token& stop) -> Result<task::Verdict> {
    std::mutex mutex;
    std::condition_variable_any never;
    std::unique_lock lock(mutex);
    begun.set();
    never.wait(lock, stop, [] { return false; });
    return fail(ErrorCode::kCancelled, "stopped");
  };
  const Json accepted = call("POST", "/v1/tasks", tasks(task_body())).value();
  auto worker = start_worker();
  begun.wait();
  worker.request_stop();
  worker.join();
  const std::string id = accepted["tasks"][0]["id"];
  EXPECT_EQ(call("GET", "/v1/tasks/" + id).value()["state"], "waiting");
}

TEST_F(ServiceTest, WaitsShowTheirPlaceAndMayBeCancelled) {
  const std::string id = call("POST", "/v1/tasks", tasks(task_body())).value()["tasks"][0]["id"];
  const Json waiting = call("GET", "/v1/tasks/" + id + "?wait=0.01").value();
  EXPECT_EQ(waiting, (Json{{"id", id},
                           {"state", "waiting"},
                           {"is_final", false},
                           {"attempts", 0},
                           {"position", 0}}));
  EXPECT_EQ(call("DELETE", "/v1/tasks/" + id).value()["state"], "cancelled");
  EXPECT_EQ(call("GET", "/v1/tasks/" + id + "?wait=20").value()["is_final"], true);
  EXPECT_EQ(call("GET", "/healthz").value()["waiting"], 0);
}

TEST_F(ServiceTest, ErrorsNameWhatIsWrong) {
  auto says = [&](const char* method, const std::string& path, const Json& body) {
    const auto out = call(method, path, body);
    return out ? "fine: " + out->dump() : out.error().message();
  };
  Json task = task_body();
  task["request"]["candidate"]["hash"] = "0";
  EXPECT_NE(says("POST", "/v1/tasks", tasks(task)).find("tasks[0].request.candidate"),
            std::string::npos);
  task = task_body();
  task["timeout_seconds"] = -1;
  EXPECT_EQ(says("POST", "/v1/tasks", tasks(task)),
            "tasks[0].timeout_seconds: -1 is not within 0 to 2592000");
  EXPECT_EQ(says("POST", "/v1/tasks", {{"tasks", Json::array()}}),
            "tasks: expected a list of 1 to 1000 tasks");
  EXPECT_EQ(says("GET", "/v1/tasks/x", nullptr), "no task \"x\": ids are whole numbers");
  EXPECT_EQ(says("GET", "/v1/tasks/7", nullptr),
            "no task 7: it never was, or its answer is forgotten");
  EXPECT_EQ(says("GET", "/v1/tasks/7?wait=31", nullptr), "wait: 31 is not within 0 to 30");
  EXPECT_NE(says("POST", "/v1/leases", {{"gym_version", gym::kGymVersion + 1}}).find("never mixed"),
            std::string::npos);
  EXPECT_EQ(
      says("POST", "/v1/leases/7/fail", {{"epoch", 1}, {"code", "bad_luck"}, {"message", ""}}),
      "code: unknown error \"bad_luck\"");
  ASSERT_TRUE(call("POST", "/v1/tasks", tasks(task_body())).has_value());
  const Json leased = lease();
  const std::string path = "/v1/leases/" + leased["task"].get<std::string>();
  EXPECT_NE(says("POST", path + "/renew", {{"epoch", 2}}).find("the lease with epoch 2 is over"),
            std::string::npos);
  EXPECT_EQ(says("POST", path + "/complete", {{"epoch", 1}}), "verdict: missing");
}

TEST_F(ServiceTest, RefusesAllOfASubmissionThatIsTooMuch) {
  Json body = {{"tasks", Json::array()}};
  for (int i = 0; i < 4; ++i) body["tasks"].push_back(task_body());
  const auto refused = call("POST", "/v1/tasks", body);
  ASSERT_FALSE(refused.has_value());
  EXPECT_EQ(refused.error().code(), ErrorCode::kResourceExhausted);
  EXPECT_EQ(call("GET", "/healthz").value()["waiting"], 0);
}

// The disk is full from the second transaction on.
class FullStorage : public MemoryStorage {
 public:
  Status commit(const Changes& changes) override {
    if (commits_++ > 0) return fail(ErrorCode::kResourceExhausted, "the disk is full");
    return MemoryStorage::commit(changes);
  }

 private:
  int commits_ = 0;
};

TEST(TaskService, NobodyHearsOfWhatCouldNotBeStored) {
  Event broken;
  TaskServiceOptions options;
  options.on_broken = [&](const Error&) { broken.set(); };
  auto service = TaskService::start(std::make_unique<FullStorage>(), options).value();
  std::vector<std::string> said;
  Event last;
  for (int i = 0; i < 2; ++i) {
    Event answered;
    service->submit({{.key = fmt::format("k{}", i), .request = "{}"}}, [&](auto tickets) {
      said.push_back(tickets ? "accepted" : tickets.error().message());
      answered.set();
    });
    answered.wait();
  }
  broken.wait();
  service->counts([&](auto counts) {
    said.push_back(counts ? "counted" : counts.error().message());
    last.set();
  });
  last.wait();
  EXPECT_EQ(said, (std::vector<std::string>{"accepted", "the disk is full", "the disk is full"}));
}

}  // namespace
}  // namespace kw::service
