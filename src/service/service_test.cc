// The whole way in one process: remote judge, HTTP, task service, worker, a fake gym.
#include <atomic>
#include <condition_variable>
#include <filesystem>
#include <mutex>
#include <thread>

#include <gtest/gtest.h>

#include "gym/messages/problem_check_json.h"
#include "gym/testing/fake_judge.h"
#include "gym/version.h"
#include "net/client.h"
#include "net/replies.h"
#include "net/server.h"
#include "os/file.h"
#include "service/ahead_worker.h"
#include "service/fetched_parts.h"
#include "service/intent_file.h"
#include "service/remote_judge.h"
#include "service/task_api.h"
#include "service/worker.h"
#include "task/candidate_source.h"
#include "task/kernelbench.h"
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

task::Problem relu_module() {
  const char* source =
      "import torch\n"
      "class Model(torch.nn.Module):\n"
      "    def forward(self, x):\n        return torch.relu(x)\n"
      "def get_inputs():\n    return [torch.randn(4)]\n"
      "def get_init_inputs():\n    return []\n";
  return task::module_problem("relu", task::make_module(source, "Model", {}).value(), "relu.py");
}

gym::TraceRequest trace_of(const std::string& workload, task::Problem problem) {
  gym::TraceRequest out;
  out.problem = std::move(problem);
  out.workload = workload;
  return out;
}

task::Verdict verdict_of(const gym::EvalRequest& request) {
  task::Verdict out;
  out.problem_hash = request.problem.hash;
  out.candidate_hash = request.candidate.hash;
  out.candidate_name = request.candidate.name;
  out.outcome = task::Outcome::kWrongValue;
  out.made_with.gym_version = gym::kGymVersion;
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
    const std::chrono::milliseconds soon(1);
    options.tasks.retries = {.first = soon, .longest = soon, .elsewhere = soon};
    service = TaskService::start(std::make_unique<MemoryStorage>(), options).value();
    server = net::Server::start({}, task_routes(*service, metrics)).value();
    client =
        ServiceClient::make({.url = server->origin(), .patience = std::chrono::seconds(0)}).value();
    judge = make_remote_judge({.url = server->origin()}).value();
  }

 public:
  ~ServiceTest() override { server->stop(std::chrono::seconds(1)); }

 protected:
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
        .value()["leases"][0];
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

// The same text may have been judged for somebody who calls it something else.
TEST_F(ServiceTest, AVerdictHasTheNameThatWasAskedWith) {
  gym.on_judge = [](const gym::EvalRequest& request, const std::stop_token&) {
    task::Verdict out = verdict_of(request);
    out.candidate_name = "another";
    return Result<task::Verdict>(out);
  };
  const auto worker = start_worker();
  EXPECT_EQ(judge->judge(relu_request(), {})->candidate_name, relu_request().candidate.name);
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

TEST_F(ServiceTest, AWorkerTakesOnlyWhatItsMachineCanJudge) {
  const std::jthread worker([this](const std::stop_token& stop) {
    EXPECT_TRUE(
        run_worker({.name = "c", .can = Abilities({{"cpu", {"cpp"}}}, sandbox::Level::kBasic)},
                   *client, gym, stop));
  });
  Json safe = task_body(), cuda = task_body();
  safe["isolation"] = "full";
  cuda["request"]["options"]["target"] = "cuda";
  const auto id_of = [](const Json& answer, int i) {
    return answer["tasks"][static_cast<std::size_t>(i)]["id"].get<std::string>();
  };
  const Json accepted = call("POST", "/v1/tasks", {{"tasks", Json::array({safe, cuda})}}).value();
  ASSERT_TRUE(judge->judge(relu_request(), {}).has_value());
  EXPECT_EQ(gym.judged, 1);
  const Json of_safe = call("GET", "/v1/tasks/" + id_of(accepted, 0)).value();
  EXPECT_EQ(of_safe["state"], "waiting");
  EXPECT_EQ(of_safe["waits_for"], "a worker that judges cpp on cpu, with the isolation full");
  EXPECT_EQ(call("GET", "/v1/tasks/" + id_of(accepted, 1)).value()["waits_for"],
            "a worker on cuda");
  const Json leased = lease();  // of one that says nothing of its abilities
  EXPECT_EQ(leased["request"]["options"]["target"], "cpu");
  Json wrong = task_body();
  wrong["isolation"] = "strong";
  const auto refused = call("POST", "/v1/tasks", tasks(wrong));
  ASSERT_FALSE(refused.has_value());
  EXPECT_EQ(refused.error().message(), "tasks[0].isolation: unknown \"strong\"");
}

TEST_F(ServiceTest, WhoComesAfterADeadWorkerTellsOfItsTasks) {
  const auto folder = os::TempDir::make("kw-service-").value();
  const auto file = folder.path() / "w.json";
  const std::string id = call("POST", "/v1/tasks", tasks(task_body())).value()["tasks"][0]["id"];
  const auto die = [&] {  // with the task
    const Json leased = lease();
    ASSERT_TRUE(IntentFile::open(file).value()->put(
        {leased["task"].get<std::string>(), leased["epoch"].get<std::int64_t>()}));
  };
  die();
  {
    const std::jthread worker([&](const std::stop_token& stop) {
      EXPECT_TRUE(run_worker({.name = "w", .intents = file}, *client, gym, stop));
    });
    EXPECT_EQ(call("GET", "/v1/tasks/" + id + "?wait=20").value()["state"], "done");
  }
  EXPECT_TRUE(IntentFile::open(file).value()->left().empty());
  // The second loss of another task is its end.
  gym::EvalRequest other = relu_request();
  other.options.max_seconds = 7;
  const std::string poison =
      call("POST", "/v1/tasks", tasks({{"request", gym::to_json(other).value()}}))
          .value()["tasks"][0]["id"];
  for (int i = 0; i < 2; ++i) {
    die();
    std::stop_source stop;
    const WorkerOptions options{
        .name = "w", .intents = file, .on_event = [&](std::string_view) { stop.request_stop(); }};
    EXPECT_TRUE(run_worker(options, *client, gym, stop.get_token()));
  }
  EXPECT_EQ(call("GET", "/v1/tasks/" + poison).value()["state"], "dead");
}

TEST_F(ServiceTest, AWorkerInQuarantineTakesNothingAndSaysWhy) {
  std::atomic<bool> is_fit = false;
  Event unfit;
  WorkerOptions options{.name = "w"};
  options.fitness.probe = [&](const std::stop_token&) -> Status {
    if (is_fit) return {};
    return fail(ErrorCode::kInternal, "the probe's verdict is wrong");
  };
  options.fitness.first_pause = std::chrono::milliseconds(20);
  std::atomic<int> tells = 0;
  options.on_event = [&](std::string_view) {
    if (++tells == 3) unfit.set();
  };
  const std::string id = call("POST", "/v1/tasks", tasks(task_body())).value()["tasks"][0]["id"];
  const std::jthread worker(
      [&](const std::stop_token& stop) { EXPECT_TRUE(run_worker(options, *client, gym, stop)); });
  unfit.wait();
  EXPECT_EQ(gym.judged, 0);
  EXPECT_EQ(call("GET", "/v1/overview").value()["workers"][0]["unfit"],
            "the probe's verdict is wrong");
  is_fit = true;
  EXPECT_EQ(call("GET", "/v1/tasks/" + id + "?wait=20").value()["state"], "done");
  EXPECT_FALSE(call("GET", "/v1/overview").value()["workers"][0].contains("unfit"));
}

TEST_F(ServiceTest, AWorkerThatCompilesAheadSeesWhatWaitsAndLeavesItThere) {
  const std::string id = call("POST", "/v1/tasks", tasks(task_body())).value()["tasks"][0]["id"];
  Event compiled;
  AheadWorkerOptions options{.name = "compiler"};
  options.can = Abilities({{"cpu", {"cpp"}}}, sandbox::Level::kFull);
  options.compile = [&](const gym::EvalRequest& request) -> Result<std::string> {
    EXPECT_EQ(request.hash(), relu_request().hash());
    return "built";
  };
  options.on_event = [&](std::string_view line) {
    EXPECT_TRUE(line.ends_with("for relu: built")) << line;
    compiled.set();
  };
  const std::jthread worker(
      [&](const std::stop_token& stop) { EXPECT_TRUE(run_ahead_worker(options, *client, stop)); });
  compiled.wait();
  EXPECT_EQ(call("GET", "/v1/tasks/" + id).value()["state"], "waiting");
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

TEST_F(ServiceTest, EveryCallOfAJudgeGoesTheSameWay) {
  const task::Problem module = relu_module();
  gym::ProblemCheck check;
  gym::AdmissionFindings findings;
  findings.passing = {"zeros"};
  findings.reference_ms = 0.5;
  check.workloads = {{"w1", findings}};
  check.targets = {{task::Target::kCpu,
                    gym::Quarantine{gym::QuarantineCause::kTrivialCandidate, {"zeros"}, "why"}},
                   {task::Target::kInterpret, std::nullopt}};
  check.not_checked = {"w2"};
  gym.on_check = [&](const gym::CheckRequest& request, const std::stop_token&) {
    EXPECT_EQ(request.problem.hash, module.hash);
    EXPECT_EQ(request.timeout_seconds, 7);
    EXPECT_EQ(request.memory_bytes, std::uint64_t{1} << 33U);
    return check;
  };
  gym.on_trace = [&](const gym::TraceRequest& request,
                     const std::stop_token&) -> Result<std::string> {
    EXPECT_EQ(request.timeout_seconds, 120);
    if (request.workload == "w9") return fail(ErrorCode::kInvalidArgument, "no workload w9");
    return "a graph of " + request.problem.name;
  };
  task::Signature signature;
  signature.inputs = {{.name = "x", .shape = {4}}};
  signature.outputs = {{.name = "out", .role = task::Role::kOutput, .shape = {4}}};
  gym.on_describe = [&](const task::Problem& problem) {
    EXPECT_TRUE(problem.is_module());
    return signature;
  };
  gym.on_capabilities = [](task::Target target) -> Result<gym::Capabilities> {
    if (target != task::Target::kCpu)
      return fail(ErrorCode::kUnsupported, "no target {}", to_string(target));
    gym::Capabilities out;
    out.available = out.clock = true;
    out.languages = {"cpp", "python"};
    return out;
  };
  const auto worker = start_worker();
  const auto checked =
      judge->check({.problem = module, .timeout_seconds = 7, .memory_bytes = 1ULL << 33U}, {});
  ASSERT_TRUE(checked.has_value()) << checked.error().message();
  EXPECT_EQ(to_json(*checked), to_json(check));
  EXPECT_EQ(judge->trace(trace_of("", module), {}).value(), "a graph of relu");
  const auto refused = judge->trace(trace_of("w9", module), {});
  ASSERT_FALSE(refused.has_value());
  EXPECT_EQ(refused.error().code(), ErrorCode::kInvalidArgument);
  EXPECT_EQ(refused.error().message(), server->origin() + ": no workload w9");
  const auto described = judge->describe(module, task::Target::kCpu);
  ASSERT_TRUE(described.has_value()) << described.error().message();
  EXPECT_EQ(to_json(*described), to_json(signature));
  EXPECT_EQ(to_json(judge->capabilities(task::Target::kCpu).value())["languages"].size(), 2U);
  EXPECT_EQ(judge->capabilities(task::Target::kCuda).error().code(), ErrorCode::kUnsupported);
}

TEST_F(ServiceTest, AnAnswerOfAnotherKindIsRefused) {
  Result<std::string> graph = fail(ErrorCode::kInternal, "");
  std::jthread asking([&] { graph = judge->trace(trace_of("", relu_module()), {}); });
  const Json leased = lease();
  const std::string path = "/v1/leases/" + leased["task"].get<std::string>() + "/complete";
  Json answer = {{"epoch", 1}, {"verdict", to_json(verdict_of(relu_request()))}, {"graph", ""}};
  EXPECT_EQ(call("POST", path, answer).error().message(),
            "graph: an answer has either this or verdict");
  answer.erase("graph");
  ASSERT_TRUE(call("POST", path, answer).has_value());
  asking.join();
  ASSERT_FALSE(graph.has_value());
  EXPECT_EQ(graph.error().code(), ErrorCode::kDataLoss);
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
  EXPECT_EQ(call("POST", "/v1/tasks", tasks(task)).error().code(), ErrorCode::kInvalidArgument);
  Json problem = task_body()["request"]["problem"];
  problem["hash"] = "0";
  const auto other = call("POST", "/v1/problems", {{"problem", problem}});
  ASSERT_FALSE(other.has_value());
  EXPECT_EQ(other.error().code(), ErrorCode::kInvalidArgument);
  EXPECT_NE(other.error().message().find("problem.hash: 0 is not"), std::string::npos);
  for (const char* hash : {"", "0123"}) {
    task = task_body();
    task["request"]["problem"] = {{"hash", hash}};
    EXPECT_EQ(says("POST", "/v1/tasks", tasks(task)),
              "tasks[0].request.problem.hash: expected 64 hexadecimal digits");
  }
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

TEST_F(ServiceTest, AProblemIsStoredOnceAndNamedByItsHash) {
  const Json whole = task_body()["request"]["problem"];
  const std::string hash = relu_request().problem.hash;
  Json task = task_body();
  task["request"]["problem"] = {{"hash", hash}};
  const auto unknown = call("POST", "/v1/tasks", tasks(task));
  ASSERT_FALSE(unknown.has_value());
  EXPECT_EQ(unknown.error().code(), ErrorCode::kNotFound);
  EXPECT_NE(unknown.error().message().find("tasks[0].request.problem: no problem " + hash),
            std::string::npos);
  EXPECT_EQ(call("GET", "/v1/problems/" + hash).error().code(), ErrorCode::kNotFound);
  EXPECT_EQ(call("POST", "/v1/problems", {{"problem", whole}}).value()["hash"], hash);
  ASSERT_TRUE(call("POST", "/v1/tasks", tasks(task)).has_value());
  EXPECT_EQ(lease()["request"]["problem"], Json({{"hash", hash}}));
  EXPECT_EQ(call("GET", "/v1/problems/" + hash).value()["problem"], whole);
}

TEST_F(ServiceTest, ABaselineIsStoredOnceAndNamedByItsHash) {
  gym::EvalRequest request = relu_request();
  request.options.baseline = request.candidate;
  const std::string hash = request.candidate.hash;
  const Json whole = gym::to_json(request).value();
  const Json baseline = whole["options"]["baseline"];
  Json task = task_body();
  task["request"] = whole;
  task["request"]["options"]["baseline"] = {{"hash", hash}};
  const auto unknown = call("POST", "/v1/tasks", tasks(task));
  ASSERT_FALSE(unknown.has_value());
  EXPECT_EQ(unknown.error().code(), ErrorCode::kNotFound);
  EXPECT_EQ(unknown.error().message(), "tasks[0].request.options.baseline: no baseline " + hash +
                                           " here: send it whole, or first to POST /v1/baselines");
  EXPECT_EQ(call("GET", "/v1/baselines/" + hash).error().code(), ErrorCode::kNotFound);
  EXPECT_EQ(call("POST", "/v1/baselines", {{"baseline", baseline}}).value()["hash"], hash);
  EXPECT_EQ(call("GET", "/v1/baselines/" + hash).value()["baseline"], baseline);
  EXPECT_EQ(call("GET", "/v1/problems/" + hash).error().code(), ErrorCode::kNotFound);
  ASSERT_TRUE(call("POST", "/v1/tasks", tasks(task)).has_value());
  // The same judgement with the whole baseline joins it.
  task["request"] = whole;
  ASSERT_TRUE(call("POST", "/v1/tasks", tasks(task)).has_value());
  EXPECT_EQ(call("GET", "/healthz").value()["waiting"], 1);
  const Json leased = lease();
  EXPECT_EQ(leased["request"]["options"]["baseline"], Json({{"hash", hash}}));
  FetchedParts parts(*client);
  const std::stop_token never;
  const auto read = work_from_json(leased["request"], "request", parts.readers(never));
  ASSERT_TRUE(read.has_value()) << read.error().message();
  const auto& options = std::get<gym::EvalRequest>(*read).options;
  EXPECT_EQ(task::candidate_hash(std::get<task::Candidate>(options.baseline)), hash);
  EXPECT_EQ(std::get<gym::EvalRequest>(*read).hash(), request.hash());
}

// A worker of another version may have had its lease since before the server's upgrade.
TEST_F(ServiceTest, AVerdictOfAnotherVersionOfTheGymIsRefused) {
  ASSERT_TRUE(call("POST", "/v1/tasks", tasks(task_body())).has_value());
  const std::string path = "/v1/leases/" + lease()["task"].get<std::string>() + "/complete";
  task::Verdict verdict = verdict_of(relu_request());
  for (const int version : {0, gym::kGymVersion - 1}) {
    verdict.made_with.gym_version = version;
    const auto told = call("POST", path, {{"epoch", 1}, {"verdict", to_json(verdict)}});
    ASSERT_FALSE(told.has_value());
    EXPECT_EQ(told.error().code(), ErrorCode::kUnsupported);
    EXPECT_NE(told.error().message().find("never mixed"), std::string::npos);
  }
  verdict.made_with.gym_version = gym::kGymVersion;
  EXPECT_TRUE(call("POST", path, {{"epoch", 1}, {"verdict", to_json(verdict)}}).has_value());
}

TEST_F(ServiceTest, AProblemThatCameWholeIsKnownFromThenOn) {
  ASSERT_TRUE(call("POST", "/v1/tasks", tasks(task_body())).has_value());
  const std::string hash = relu_request().problem.hash;
  EXPECT_EQ(lease()["request"]["problem"], Json({{"hash", hash}}));
  Json task = task_body();
  task["request"]["problem"] = {{"hash", hash}};
  task["request"]["options"]["timeout_seconds"] = 7;
  EXPECT_TRUE(call("POST", "/v1/tasks", tasks(task)).has_value());
}

TEST_F(ServiceTest, AWorkerRefusesAnotherProblemThanTheOneItAskedFor) {
  net::Router routes;
  const Json other = gym::to_json(relu_request()).value()["problem"];
  routes.add("GET", "/v1/problems/{hash}", [&](const net::Request&, net::Responder to) {
    to.send(net::json_response({{"problem", other}}));
  });
  const auto liar = net::Server::start({}, std::move(routes)).value();
  const auto of_liar =
      ServiceClient::make({.url = liar->origin(), .patience = std::chrono::seconds(0)}).value();
  FetchedParts parts(*of_liar);
  const std::stop_token never;
  const auto readers = parts.readers(never);
  const auto read = readers.problem({{"hash", "0123"}}, "problem");
  ASSERT_FALSE(read.has_value());
  EXPECT_EQ(read.error().code(), ErrorCode::kDataLoss);
  EXPECT_TRUE(readers.problem({{"hash", relu_request().problem.hash}}, "problem").has_value());
  liar->stop(std::chrono::seconds(1));
  EXPECT_TRUE(readers.problem({{"hash", relu_request().problem.hash}}, "problem").has_value())
      << "it is kept";
}

TEST_F(ServiceTest, AGroupIsLeasedReportedAndAnsweredTogether) {
  Json body = {{"tasks", Json::array()}, {"group", "g 1"}};
  for (int i = 1; i <= 3; ++i) {
    Json task = task_body();
    task["request"]["options"]["timeout_seconds"] = i;
    body["tasks"].push_back(std::move(task));
  }
  ASSERT_TRUE(call("POST", "/v1/tasks", body).has_value());
  const Json ask = {{"worker", "w"}, {"name", "n"}, {"gym_version", gym::kGymVersion}, {"most", 2}};
  const Json leases = call("POST", "/v1/leases", ask).value()["leases"];
  ASSERT_EQ(leases.size(), 2U);
  EXPECT_EQ(call("POST", "/v1/leases", ask).value()["leases"], leases) << "the same name again";
  const std::string group = "/v1/groups/g%201";
  EXPECT_EQ(call("GET", group + "?wait=0.01").value()["ended"], Json::array());

  Json complete = {{"task", leases[0]["task"]}, {"report", "complete"}, {"epoch", 1}};
  complete["verdict"] = to_json(verdict_of(relu_request()));
  const Json late = {{"task", leases[1]["task"]}, {"report", "renew"}, {"epoch", 2}};
  const Json unfit = {{"task", leases[1]["task"]},
                      {"report", "fail"},
                      {"epoch", 1},
                      {"code", "unsupported"},
                      {"message", "no such target"}};
  const Json told =
      call("POST", "/v1/reports", {{"reports", {complete, late, unfit}}}).value()["reports"];
  EXPECT_EQ(told[0]["go_on"], true);
  EXPECT_EQ(told[1]["error"]["code"], "already_exists");
  EXPECT_EQ(told[2]["go_on"], true);

  const Json first = call("GET", group + "?wait=20").value();
  EXPECT_EQ(first["open"], 1);
  ASSERT_EQ(first["ended"].size(), 2U);
  EXPECT_EQ(first["ended"][0]["verdict"], complete["verdict"]);
  EXPECT_EQ(first["ended"][1]["error"]["message"], "no such target");
  std::jthread rest([&] {
    const Json last = lease();
    ASSERT_TRUE(call("POST", "/v1/leases/" + last["task"].get<std::string>() + "/complete",
                     {{"epoch", 1}, {"verdict", complete["verdict"]}}));
  });
  const std::string after = first["next"];
  const Json second = call("GET", group + "?wait=20&after=" + after).value();
  EXPECT_EQ(second["open"], 0);
  EXPECT_EQ(second["ended"].size(), 1U);
  EXPECT_EQ(call("GET", group + "?after=0-2").value()["ended"].size(), 3U) << "of another start";
  EXPECT_EQ(call("GET", group + "?after=2").error().message(),
            "\"2\" is no place that this server has given");
  EXPECT_EQ(call("GET", "/v1/groups/h").error().code(), ErrorCode::kNotFound);
}

TEST_F(ServiceTest, AGroupsEndsComeAsEvents) {
  Json body = {{"tasks", {task_body(), task_body()}}, {"group", "g"}};
  body["tasks"][1]["request"]["options"]["timeout_seconds"] = 9;
  ASSERT_TRUE(call("POST", "/v1/tasks", body).has_value());
  const auto worker = start_worker();
  auto http = net::Client::make({}).value();
  const auto events = [&](const std::string& last) {
    std::vector<net::SseEvent> out;
    net::ClientRequest request;
    request.url = server->origin() + "/v1/groups/g/events";
    if (!last.empty()) request.headers.add("Last-Event-ID", last);
    const auto response = http->events(request, [&](const net::SseEvent& event) {
      out.push_back(event);
      return true;
    });
    EXPECT_TRUE(response.has_value() && response->complete);
    return out;
  };
  const auto all = events("");
  ASSERT_EQ(all.size(), 3U);
  EXPECT_EQ(all[0].type, "task");
  EXPECT_EQ(parse_json(all[1].data).value()["verdict"], to_json(verdict_of(relu_request())));
  EXPECT_EQ(all[2].type, "end");
  const auto rest = events(all[0].id);
  ASSERT_EQ(rest.size(), 2U);
  EXPECT_EQ(rest[0].data, all[1].data);
}

TEST_F(ServiceTest, AnOverviewTellsWhatHasEndedSinceTheLast) {
  const Json empty = call("GET", "/v1/overview").value();
  EXPECT_EQ(empty["ended"], Json::array());
  Json body = tasks(task_body());
  body["group"] = "g";
  const std::string id = call("POST", "/v1/tasks", body).value()["tasks"][0]["id"];
  Json now = call("GET", "/v1/overview").value();
  EXPECT_EQ(now["waiting"], 1);
  EXPECT_EQ(
      now["tenants"],
      (Json::array({{{"name", ""}, {"waiting", 1}, {"leased", 0}, {"judged_seconds", 0.0}}})));
  const Json lease = this->lease();
  now = call("GET", "/v1/overview").value();
  EXPECT_EQ(now["workers"][0]["name"], "w");
  EXPECT_EQ(now["workers"][0]["leased"], 1);
  const Json asked = call("GET", "/v1/tasks/" + id + "/request").value();
  EXPECT_EQ(asked["request"], lease["request"]);
  ASSERT_TRUE(call("POST", "/v1/leases/" + lease["task"].get<std::string>() + "/complete",
                   {{"epoch", lease["epoch"]}, {"verdict", to_json(verdict_of(relu_request()))}}));
  now = call("GET", "/v1/overview?after=" + empty["next"].get<std::string>()).value();
  ASSERT_EQ(now["ended"].size(), 1U);
  const Json& ended = now["ended"][0];
  EXPECT_EQ(ended["id"], id);
  EXPECT_EQ(ended["outcome"], "wrong_value");
  EXPECT_EQ(ended["group"], "g");
  EXPECT_EQ(ended["worker"], "w");
  EXPECT_EQ(ended["speedup"], nullptr);
  EXPECT_EQ(now["outcomes"], (Json{{"wrong_value", 1}}));
  EXPECT_EQ(now["workers"][0]["answers"], 1);
  EXPECT_EQ(now["tenants"], Json::array());
  EXPECT_EQ(call("GET", "/v1/tasks/" + id + "/request").value(), asked) << "it is kept";
  now = call("GET", "/v1/overview?after=" + now["next"].get<std::string>()).value();
  EXPECT_EQ(now["ended"], Json::array());
  EXPECT_EQ(call("GET", "/v1/overview?after=x").error().code(), ErrorCode::kInvalidArgument);
  EXPECT_EQ(call("GET", "/v1/tasks/999/request").error().code(), ErrorCode::kNotFound);
}

TEST_F(ServiceTest, RefusesAllOfASubmissionThatIsTooMuch) {
  Json body = {{"tasks", Json::array()}};
  for (int i = 0; i < 4; ++i) body["tasks"].push_back(task_body());
  const auto refused = call("POST", "/v1/tasks", body);
  ASSERT_FALSE(refused.has_value());
  EXPECT_EQ(refused.error().code(), ErrorCode::kResourceExhausted);
  EXPECT_EQ(call("GET", "/healthz").value()["waiting"], 0);
}

TEST(Callers, ATenantSeesAndNamesItsOwn) {
  const auto tokens = std::make_shared<const Tokens>(
      Tokens::parse("token-of-tenant-a tenant=a scopes=submit,read most_open=1\n"
                    "token-of-tenant-b tenant=b scopes=submit,read\n"
                    "token-of-a-worker scopes=work\n")
          .value());
  std::mutex mutex;
  std::vector<std::string> audit;
  Callers callers;
  callers.identify = [&](const net::Request& request) { return tokens->identity(request, {}); };
  callers.audit = [&](const Identity& who, std::string_view action, const Json&) {
    std::lock_guard lock(mutex);
    audit.push_back(fmt::format("{} {}", who.tenant, action));
  };
  auto service = TaskService::start(std::make_unique<MemoryStorage>(), {}).value();
  net::MetricRegistry metrics;
  net::ServerOptions options;
  options.gate = [&](const net::Request& request) { return refuse_caller(callers, request); };
  auto server = net::Server::start(options, task_routes(*service, metrics, callers)).value();
  const auto client = [&](const std::string& token) {
    return ServiceClient::make({.url = server->origin(), .token = token}).value();
  };
  const auto a = client("token-of-tenant-a"), b = client("token-of-tenant-b"),
             worker = client("token-of-a-worker"), nobody = client("");
  const auto call = [](auto& who, const char* method, const std::string& path,
                       const Json& body = nullptr) { return who->call(method, path, body, {}); };
  Json tasks = {{"group", "g"}, {"tasks", Json::array()}};
  tasks["tasks"].push_back(
      {{"request", gym::to_json(relu_request()).value()}, {"submission", "s"}});
  tasks["tasks"][0]["request"]["trajectory"] = "secret";
  const std::string of_a = call(a, "POST", "/v1/tasks", tasks).value()["tasks"][0]["id"];
  const std::string of_b = call(b, "POST", "/v1/tasks", tasks).value()["tasks"][0]["id"];
  EXPECT_NE(of_a, of_b) << "names are a tenant's own";
  EXPECT_EQ(call(a, "GET", "/v1/tasks/" + of_a).value()["state"], "waiting");
  EXPECT_EQ(call(a, "GET", "/v1/tasks/" + of_b).error().code(), ErrorCode::kNotFound);
  EXPECT_EQ(call(b, "DELETE", "/v1/tasks/" + of_a).error().code(), ErrorCode::kNotFound);
  EXPECT_EQ(call(b, "GET", "/v1/groups/g").value()["open"], 1);
  tasks["tasks"][0]["submission"] = "t";
  EXPECT_EQ(call(a, "POST", "/v1/tasks", tasks).error().code(), ErrorCode::kResourceExhausted);
  tasks["tasks"].push_back(tasks["tasks"][0]);
  EXPECT_EQ(call(a, "POST", "/v1/tasks", tasks).error().message(),
            "tasks: 2 at once, and a may have 1 under way");
  EXPECT_EQ(call(worker, "GET", "/v1/tasks/" + of_a).error().code(), ErrorCode::kPermissionDenied);
  EXPECT_EQ(call(a, "GET", "/v1/queue").error().code(), ErrorCode::kPermissionDenied);
  EXPECT_EQ(call(a, "POST", "/v1/leases", Json::object()).error().code(),
            ErrorCode::kPermissionDenied);
  EXPECT_EQ(call(nobody, "GET", "/v1/groups/g").error().code(), ErrorCode::kPermissionDenied);
  EXPECT_TRUE(call(nobody, "GET", "/healthz").has_value());
  EXPECT_EQ(call(worker, "POST", "/v1/leases", {{"gym_version", gym::kGymVersion}})
                .value()["leases"]
                .size(),
            1U)
      << "equal requests of two tenants share one judgement";
  const Json seen = call(b, "GET", "/v1/overview").value();
  EXPECT_EQ(seen["ended"], Json::array());
  EXPECT_FALSE(seen.contains("workers"));
  EXPECT_EQ(seen["tenants"], Json::array()) << "the judgement is a's";
  EXPECT_EQ(call(a, "GET", "/v1/overview").value()["leased"], 1);
  EXPECT_EQ(call(a, "GET", "/v1/tasks/" + of_b + "/request").error().code(), ErrorCode::kNotFound);
  const Json asked = call(b, "GET", "/v1/tasks/" + of_b + "/request").value()["request"];
  EXPECT_FALSE(asked.contains("trajectory")) << "of the one who asked first";
  EXPECT_TRUE(asked.contains("candidate"));
  server->stop(std::chrono::seconds(1));
  std::lock_guard lock(mutex);
  EXPECT_EQ(audit,
            (std::vector<std::string>{"a submitted", "b submitted", "b cancelled", "a refused",
                                      " refused", "a refused", "a refused", " refused"}));
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
