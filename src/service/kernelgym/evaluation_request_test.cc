#include "service/kernelgym/evaluation_request.h"

#include <gtest/gtest.h>

#include "service/kernelgym/testing/requests.h"

namespace kw::service::kernelgym {
namespace {

Result<EvaluationRequest> read(const Json& changes) {
  return evaluation_request_from_json(testing::request_body("t", changes), "");
}

std::string mistake(const Json& changes) {
  const auto out = read(changes);
  return out ? "" : out.error().message();
}

TEST(EvaluationRequest, HasKernelGymsDefaults) {
  const EvaluationRequest request =
      evaluation_request_from_json(testing::request_body("t", {}), "").value();
  EXPECT_EQ(request.entry_point, "Model");
  EXPECT_EQ(request.workflow, "kernelbench");
  EXPECT_EQ(request.backend, Backend::kTriton);
  EXPECT_EQ(request.num_perf_trials, 100);
  EXPECT_EQ(request.timeout, 300);
  EXPECT_TRUE(request.measures);
  EXPECT_FALSE(request.force_refresh);
  EXPECT_TRUE(read({{"detect_decoy_kernel", true}, {"backend", nullptr}}))
      << "keys that it does not know, and null";
}

TEST(EvaluationRequest, RefusesWhatIsOutOfItsBounds) {
  EXPECT_EQ(mistake({{"task_id", nullptr}}), "task_id: missing");
  EXPECT_EQ(mistake({{"task_id", std::string(101, 'x')}}), "task_id: 101 characters, not 1 to 100");
  std::string umlauts;
  for (int i = 0; i < 100; ++i) umlauts += "\xC3\xA4";
  EXPECT_EQ(mistake({{"task_id", umlauts}}), "") << "characters, not bytes";
  EXPECT_EQ(mistake({{"kernel_code", "short"}}), "kernel_code: 5 characters, not 10 to 100000");
  EXPECT_EQ(mistake({{"reference_code", nullptr}}), "reference_code: missing");
  EXPECT_EQ(mistake({{"workflow", "kernel_simple"}, {"reference_code", nullptr}}), "");
  EXPECT_EQ(mistake({{"num_correct_trials", 21}}), "num_correct_trials: 21 is not within 1 to 20");
  EXPECT_EQ(mistake({{"timeout", 9}}), "timeout: 9 is not within 10 to 3600");
  EXPECT_EQ(mistake({{"backend", "hip"}}), "backend: \"hip\" is not one of triton, cuda");
  EXPECT_EQ(mistake({{"priority", "urgent"}}),
            "priority: \"urgent\" is not one of low, normal, high");
  EXPECT_EQ(mistake({{"resources", {{"gpus", 0}}}}), "resources.gpus: 0 is less than 1");
  EXPECT_NE(mistake({{"run_correctness", "yes"}}), "");
}

TEST(EvaluationRequest, BecomesARequestOfOurs) {
  const gym::EvalRequest request = to_eval_request(read({{"priority", "high"},
                                                         {"reference_backend", "torch-compile"},
                                                         {"measure_performance", false},
                                                         {"timeout", 10}})
                                                       .value())
                                       .value();
  EXPECT_TRUE(request.problem.is_module());
  EXPECT_EQ(request.candidate.language, task::Language::kTriton);
  EXPECT_EQ(request.candidate.entry_function, "ModelNew");
  EXPECT_EQ(request.options.target, task::Target::kCuda);
  EXPECT_EQ(gym::compilation_of(request.options.baseline), gym::Compilation::kDefault);
  EXPECT_FALSE(request.options.timing);
  EXPECT_EQ(request.options.max_seconds, 10);
  EXPECT_EQ(request.priority, 1);
  EXPECT_EQ(request.trajectory, "t");
  const auto both = read({{"measure_performance", false}, {"run_performance", true}});
  EXPECT_TRUE(both->measures) << "run_performance counts more";
}

TEST(EvaluationRequest, TheIdIsNoPartOfTheContent) {
  const auto hash = [](const char* id, const Json& changes) {
    return to_eval_request(
               evaluation_request_from_json(testing::request_body(id, changes), "").value())
        ->hash();
  };
  EXPECT_EQ(hash("a", {}), hash("b", {}));
  EXPECT_NE(hash("a", {}), hash("a", {{"device_preference", "cpu"}}));
}

TEST(EvaluationRequest, SaysWhatNoWorkerCanDo) {
  const auto why = [](const Json& changes) {
    const auto out = to_eval_request(read(changes).value());
    return out ? "" : std::string(out.error().message().substr(0, 24));
  };
  EXPECT_EQ(why({{"backend", "cuda"}}), "backend cuda: no worker ");
  EXPECT_EQ(why({{"backend", "cuda"}, {"device_preference", "cpu"}}), "");
  EXPECT_EQ(why({{"device_preference", "npu:0"}}), "device_preference: \"npu:");
  EXPECT_EQ(why({{"reference_backend", "xla"}}), "reference_backend: \"xla\"");
  EXPECT_EQ(why({{"workflow", "kernel_simple"}}), "workflow kernel_simple: ");
}

TEST(EvaluationRequest, WorkflowsWantTheirClasses) {
  const auto errors = [](const Json& changes) { return workflow_errors(read(changes).value()); };
  EXPECT_TRUE(errors({}).empty());
  EXPECT_EQ(errors({{"entry_point", "Gate"}}),
            (std::vector<std::string>{
                "Reference code validation failed: Code must contain a 'Gate' class",
                "Kernel code validation failed: Code must contain a 'GateNew' class"}));
  EXPECT_TRUE(errors({{"workflow", "kernel_simple"}}).empty());
}

}  // namespace
}  // namespace kw::service::kernelgym
