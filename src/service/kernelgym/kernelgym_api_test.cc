// KernelGYM's routes over real HTTP, with a worker of ours and a fake gym behind it.
#include "service/kernelgym/kernelgym_api.h"

#include <future>
#include <thread>

#include <gtest/gtest.h>

#include "gym/testing/fake_judge.h"
#include "gym/version.h"
#include "net/client.h"
#include "net/server.h"
#include "service/kernelgym/testing/requests.h"
#include "service/task_storage.h"
#include "service/worker.h"

namespace kw::service::kernelgym {
namespace {

using testing::request_body;

class KernelGymApiTest : public ::testing::Test {
 protected:
  explicit KernelGymApiTest(std::chrono::milliseconds kept_for = std::chrono::milliseconds(1)) {
    gym.on_judge = [](const gym::EvalRequest& request, const std::stop_token&) {
      task::Verdict out;
      out.problem_hash = request.problem.hash;
      out.candidate_hash = request.candidate.hash;
      out.kernelbench.compiled = true;
      out.made_with.gym_version = gym::kGymVersion;
      return out;
    };
    service = service::TaskService::start(std::make_unique<service::MemoryStorage>(), {}).value();
    const Options options{
        .timestamp = [] { return "now"; }, .kept_for = kept_for, .ending = ending.get_token()};
    net::Router router =
        service::task_routes(*service, metrics, {}, metrics_handler(*service, options));
    add_routes(router, *service, {}, options);
    server = net::Server::start({}, std::move(router)).value();
    client = net::Client::make({}).value();
  }

 public:
  ~KernelGymApiTest() override { server->stop(std::chrono::seconds(1)); }

 protected:
  std::jthread start_worker() {
    return std::jthread([this](const std::stop_token& stop) {
      auto lease = service::ServiceClient::make({.url = server->origin()}).value();
      const Status status = service::run_worker({.name = "w"}, *lease, gym, stop);
      EXPECT_TRUE(status.has_value()) << status.error().message();
    });
  }
  net::ClientResponse call(const char* method, const std::string& path, const Json& body = nullptr,
                           std::stop_token stop = {}) {
    net::ClientRequest request;
    request.method = method;
    request.url = server->origin() + path;
    request.headers.add("Accept", "application/json");
    if (!body.is_null()) request.body = body.dump();
    request.stop = std::move(stop);
    auto out = client->send(request);
    return out ? std::move(*out) : net::ClientResponse{};
  }
  Json json(const char* method, const std::string& path, const Json& body = nullptr) {
    const net::ClientResponse response = call(method, path, body);
    EXPECT_EQ(response.status, 200) << response.body;
    return Json::parse(response.body);
  }
  Json evaluate(const std::string& id, const Json& changes = {}) {
    return json("POST", "/evaluate", request_body(id, changes));
  }
  // Waits until the service has that many tasks, by a call that costs nothing.
  void wait_for(const char* key, std::size_t count) {
    while (Json::parse(call("GET", "/healthz").body)[key] != count) std::this_thread::yield();
  }

  std::uint64_t submitted() {
    std::promise<std::uint64_t> out;
    service->counts([&](auto counts) { out.set_value(counts->submitted); });
    return out.get_future().get();
  }

  std::stop_source ending;
  gym::FakeJudge gym;
  net::MetricRegistry metrics;
  std::unique_ptr<service::TaskService> service;
  std::unique_ptr<net::Server> server;
  std::unique_ptr<net::Client> client;
};

TEST_F(KernelGymApiTest, AnEvaluationIsAnsweredWhenItHasEnded) {
  const auto worker = start_worker();
  const Json out = evaluate("t1");
  EXPECT_EQ(out["task_id"], "t1");
  EXPECT_EQ(out["status"], "completed");
  EXPECT_EQ(out["compiled"], true);
  EXPECT_EQ(out["correctness"], true);
  EXPECT_EQ(out["submitted_at"], "now");
  EXPECT_TRUE(out["processing_time"].is_number());
  const Json kept = json("GET", "/results/t1");
  EXPECT_EQ(kept["metadata"], out["metadata"]);
  EXPECT_EQ(json("GET", "/workflow/results/t1")["result"]["correctness"], true);
  EXPECT_EQ(json("GET", "/status/t1")["status"], "completed");
  EXPECT_EQ(call("GET", "/results/t2").status, 404);
  EXPECT_EQ(Json::parse(call("GET", "/status/t2").body)["detail"], "Task t2 not found");
}

TEST_F(KernelGymApiTest, AnIdIsAnsweredByItsContent) {
  const auto worker = start_worker();
  evaluate("t");
  evaluate("t");
  EXPECT_EQ(gym.judged, 1) << "the same again";
  evaluate("t", {{"entry_point", "Model"}, {"run_performance", false}});
  EXPECT_EQ(gym.judged, 2) << "another content of the same id";
  evaluate("t", {{"run_performance", false}, {"force_refresh", true}});
  EXPECT_EQ(gym.judged, 3);
}

TEST_F(KernelGymApiTest, ABatchIsJudgedTogether) {
  const auto worker = start_worker();
  const Json out = json("POST", "/evaluate/batch",
                        {{"batch_id", "b"},
                         {"tasks",
                          {request_body("x", {}), request_body("y", {{"backend", "cuda"}}),
                           request_body("z", {{"kernel_code", "class Other: pass"}})}}});
  EXPECT_EQ(out["total_tasks"], 3);
  EXPECT_EQ(out["completed_tasks"], 1);
  EXPECT_EQ(out["failed_tasks"], 2);
  EXPECT_EQ(out["batch_status"], "completed");
  EXPECT_EQ(out["results"][0]["task_id"], "x");
  EXPECT_EQ(out["results"][1]["error_code"], "RESOURCE_ERROR");
  EXPECT_EQ(out["results"][1]["correctness"], nullptr);
  EXPECT_EQ(out["results"][2]["error_message"],
            "Kernel code validation failed: Code must contain a 'ModelNew' class");
  EXPECT_EQ(out["results"][2]["compiled"], false);
}

TEST_F(KernelGymApiTest, AWorkflowWrapsTheSame) {
  const auto worker = start_worker();
  Json payload = request_body("inner", {});
  const Json out = json("POST", "/workflow/submit",
                        {{"workflow", "kernelbench"}, {"task_id", "outer"}, {"payload", payload}});
  EXPECT_EQ(out["task_id"], "outer");
  EXPECT_EQ(out["status"], "completed");
  EXPECT_EQ(out["result"]["correctness"], true);
  EXPECT_FALSE(out["result"].contains("status"));
  const Json simple =
      json("POST", "/workflow/submit", {{"workflow", "kernel_simple"}, {"payload", payload}});
  EXPECT_EQ(simple["status"], "failed");
  EXPECT_EQ(simple["error_code"], "RESOURCE_ERROR");
  const auto unknown = call("POST", "/workflow/submit", {{"workflow", "w"}, {"payload", payload}});
  EXPECT_EQ(unknown.status, 400);
}

TEST_F(KernelGymApiTest, ATaskUnderWayIsSeenAndCancelledByItsOwnId) {
  auto asked = std::async(std::launch::async, [&] { return evaluate("t"); });
  wait_for("waiting", 1);
  const Json status = json("GET", "/status/t");
  EXPECT_EQ(status["status"], "pending");
  EXPECT_EQ(status["queue_position"], 0);
  EXPECT_EQ(call("GET", "/results/t").status, 404);
  EXPECT_EQ(json("GET", "/queue/status")["pending"], 1);
  EXPECT_EQ(json("DELETE", "/tasks/t")["message"], "Task t cancelled successfully");
  const Json out = asked.get();
  EXPECT_EQ(out["status"], "failed");
  EXPECT_EQ(out["error_message"], "Task cancelled");
  EXPECT_EQ(json("GET", "/status/t")["error_message"], "Task cancelled");
  EXPECT_EQ(call("DELETE", "/tasks/t").status, 404);
  const auto worker = start_worker();
  EXPECT_EQ(evaluate("t")["status"], "completed") << "a cancelled one is no answer";
}

TEST_F(KernelGymApiTest, WhoGoesAwayWithdrawsTheTask) {
  std::stop_source stop;
  auto asked = std::async(std::launch::async, [&] {
    return call("POST", "/evaluate", request_body("t", {}), stop.get_token()).status;
  });
  wait_for("waiting", 1);
  stop.request_stop();
  EXPECT_EQ(asked.get(), 0);
  wait_for("waiting", 0);
  EXPECT_EQ(json("GET", "/results/t")["error_message"], "no verdict: the task is expired");
}

class PatientKernelGymApiTest : public KernelGymApiTest {
 protected:
  PatientKernelGymApiTest() : KernelGymApiTest(std::chrono::hours(1)) {}
};

// KernelGYM's client reads for so long as a task may take, and then asks again.
TEST_F(PatientKernelGymApiTest, WhoComesBackGetsTheSameJudgement) {
  std::stop_source stop;
  auto asked = std::async(std::launch::async, [&] {
    return call("POST", "/evaluate", request_body("t", {}), stop.get_token()).status;
  });
  wait_for("waiting", 1);
  stop.request_stop();
  EXPECT_EQ(asked.get(), 0);
  auto again = std::async(std::launch::async, [&] { return evaluate("t"); });
  while (submitted() < 2) std::this_thread::yield();
  const auto worker = start_worker();
  EXPECT_EQ(again.get()["status"], "completed");
  EXPECT_EQ(gym.judged, 1);
}

TEST_F(KernelGymApiTest, TheEndOfTheServerWithdrawsNothing) {
  auto asked = std::async(std::launch::async,
                          [&] { return call("POST", "/evaluate", request_body("t", {})).status; });
  wait_for("waiting", 1);
  ending.request_stop();
  server->stop(std::chrono::milliseconds(0));
  EXPECT_EQ(asked.get(), 0);
  std::promise<std::size_t> waiting;
  service->counts([&](auto counts) { waiting.set_value(counts->waiting); });
  EXPECT_EQ(waiting.get_future().get(), 1U);
}

TEST_F(KernelGymApiTest, MistakesHaveKernelGymsForm) {
  const auto response = call("POST", "/evaluate", request_body("t", {{"timeout", 1}}));
  EXPECT_EQ(response.status, 400);
  EXPECT_EQ(*response.headers.find("X-Error-Code"), "VALIDATION_ERROR");
  const Json body = Json::parse(response.body);
  EXPECT_EQ(body["error"], "RequestValidationError");
  EXPECT_EQ(body["message"], "Request validation failed: timeout: 1 is not within 10 to 3600");
  EXPECT_EQ(call("POST", "/evaluate/batch", {{"batch_id", "b"}, {"tasks", Json::array()}}).status,
            400);
  EXPECT_EQ(call("POST", "/worker/heartbeat?worker_id=w").status, 409);
}

TEST_F(KernelGymApiTest, ValidationSaysWhatWouldBeRefused) {
  const Json good = json("POST", "/debug/validate", request_body("t", {}));
  EXPECT_EQ(good["valid"], true);
  EXPECT_EQ(good["kernel"]["entry_point"], "ModelNew");
  EXPECT_EQ(good["request_info"]["timeout"], 300);
  const Json bad = json("POST", "/debug/validate", request_body("t", {{"backend", "cuda"}}));
  EXPECT_EQ(bad["valid"], false);
  EXPECT_EQ(bad["errors"].size(), 1U);
}

TEST_F(KernelGymApiTest, TheViewsAreTrue) {
  const auto worker = start_worker();
  evaluate("t");
  EXPECT_EQ(json("GET", "/health")["total_processed"], 1);
  EXPECT_EQ(json("GET", "/workers/status")["w"]["status"], "online");
  EXPECT_EQ(json("GET", "/metrics")["performance_metrics"]["completed"], 1);
  EXPECT_EQ(json("GET", "/monitoring/retry-queue")["total"], 0);
}

}  // namespace
}  // namespace kw::service::kernelgym
