// Every message is read as it was written, and nothing else is read.
#include "gym/messages/checker_messages.h"

#include <gtest/gtest.h>

namespace kw::gym {
namespace {

ExecutorSpec full_spec() {
  ExecutorSpec spec;
  ExecutorSetup& setup = spec.setup;
  setup.language = ExecutorLanguage::kPython;
  setup.kind = ProblemKind::kModule;
  setup.entry = "ModelNew";
  setup.init_args = "[128]";
  setup.threads = 2;
  setup.entry_file = "main.py";
  setup.destination_passing = false;
  setup.files = {{"main.py", 512}};
  setup.triton = TritonSetup{90, {"3f"}, UINT64_MAX, true, false};
  setup.param_seed = 7;
  setup.hand_over_state = false;
  spec.monitor = {{"freeze", "cgroup v2"}};
  return spec;
}

task::Signature small_signature() {
  task::Signature signature;
  task::Argument x{.name = "x", .shape = {4}}, y = x;
  y.name = "y";
  y.role = task::Role::kOutput;
  signature.inputs = {x};
  signature.outputs = {y};
  signature.input_axes = signature.output_axes = {{"N"}};
  signature.axes = {{"N", 4}};
  return signature;
}

OpenRequest full_open() {
  OpenRequest open;
  open.admit = true;
  open.signature = small_signature();
  InputPlan plan;
  plan.name = "x";
  plan.policy = {task::Distribution::kSpikes, 1.5, std::nullopt, task::InputDomain::kOwn};
  plan.fixed = "fixed.x";
  open.inputs = {plan};
  open.outputs["y"] = {.check = task::CheckKind::kArgmaxOf, .of = "x", .axis = 0};
  open.options.disabled = {"freeze"};
  open.oracle_setup.entry = "run";
  open.oracle_monitor = Json::object();
  return open;
}

WorkloadReport full_report() {
  WorkloadReport report;
  report.uuid = "u";
  report.outcome = task::Outcome::kViolation;
  report.violation = "out_of_bounds";
  report.errors = {{"y", 0.5, INFINITY, 2, 3}};
  report.candidate_ns = {10.5};
  report.reference_ns = {21};
  report.pair_samples = {1};
  report.oracle = OracleKind::kSecondImplementation;
  report.launches = LaunchReport{2, UINT64_MAX, 7, true, {{"3f", 1, 4}}};
  report.kernels = {{RanKernel{"k", 1, 4, 8, 3, 1024}, RanKernel{"", 1, 4, {}, {}, {}}}};
  report.kernelbench = {.compiled = true, .correctness = true};
  report.diagnostics = {{"mismatch", "m"}};
  report.hard_inputs = {{"spikes", 2, ""}, {"one-hot", 0, "the reference gives NaN"}};
  report.log = "text";
  return report;
}

// A message of each kind.
std::vector<CheckerRequest> requests() {
  BaselineRequest baseline{.exchanged = false, .baseline = full_spec()};
  return {full_open(), baseline, JudgeRequest{{true, true, full_spec()}, {0.02, 12.5, 8}},
          KernelBenchRequest{full_spec()}, TrialRequest{{false, true, full_spec()}}};
}
std::vector<CheckerAnswer> answers() {
  Opened opened{{"", false, true, {"zeros"}, {"x"}, 1.5}, small_signature(), "[128]"};
  return {opened,
          Opened{},
          BaselineStarted{"it failed", 3},
          full_report(),
          KernelBenchTried{true},
          Tried{task::Outcome::kWrongValue, 1500},
          CheckerFailed{ErrorCode::kUnavailable, "the baseline failed"}};
}

template <typename Message, typename Read>
void expect_round_trip(const Message& message, Read read) {
  const Json written = to_json(message);
  auto stored = parse_json(written.dump());
  ASSERT_TRUE(stored);
  auto again = read(*stored);
  ASSERT_TRUE(again) << again.error().message() << written.dump();
  EXPECT_EQ(again->index(), message.index());
  EXPECT_EQ(to_json(*again).dump(), written.dump());
}

// Each place in the document at which there is an object's member.
std::vector<Json::json_pointer> members_of(const Json& document) {
  std::vector<Json::json_pointer> out;
  const Json flat = document.flatten();
  for (const auto& [path, value] : flat.items()) {
    Json::json_pointer at(path);
    if (!document.at(at.parent_pointer()).is_array()) out.push_back(at);
  }
  return out;
}

template <typename Message, typename Read>
void expect_strict(const Message& message, Read read) {
  const Json written = to_json(message);
  for (const Json::json_pointer& at : members_of(written)) {
    Json misspelt = written;
    Json& object = misspelt.at(at.parent_pointer());
    object["misspelt"] = object.at(at.back());
    object.erase(at.back());
    EXPECT_FALSE(read(misspelt)) << at.to_string();
    Json other_kind = written;
    other_kind[at] = written.at(at).is_array() ? Json(true) : Json::array({Json::array()});
    EXPECT_FALSE(read(other_kind)) << at.to_string();
  }
}

// Members of opaque parts are read by the sandbox and by the signature's own reader.
bool is_opaque(const Json::json_pointer& at) {
  const std::string path = at.to_string();
  return path.find("monitor") != std::string::npos || path.find("signature") != std::string::npos;
}

TEST(CheckerMessages, AreReadAsTheyWereWritten) {
  for (const CheckerRequest& request : requests())
    expect_round_trip(request, checker_request_from_json);
  for (const CheckerAnswer& answer : answers()) expect_round_trip(answer, checker_answer_from_json);
  for (Signal signal : {Signal::kLease, Signal::kGranted, Signal::kRelease, Signal::kAnswer})
    EXPECT_EQ(signal_from_json(to_json(signal)).value(), signal);
}

TEST(CheckerMessages, WhatTheWritersDoNotWriteIsRefused) {
  for (const CheckerAnswer& answer : answers()) {
    if (std::holds_alternative<Opened>(answer)) continue;  // has a signature
    expect_strict(answer, checker_answer_from_json);
  }
  for (const CheckerRequest& request : requests()) {
    Json with_more = to_json(request);
    with_more["more"] = 1;
    EXPECT_FALSE(checker_request_from_json(with_more));
    for (const auto& at : members_of(to_json(request))) {
      if (is_opaque(at)) continue;
      Json without = to_json(request);
      without.at(at.parent_pointer()).erase(at.back());
      auto read = checker_request_from_json(without);
      // An absent optional member is another message.
      EXPECT_TRUE(!read || to_json(*read) != to_json(request)) << at.to_string();
    }
  }
}

TEST(CheckerMessages, EnumsHaveNames) {
  const Json open = to_json(CheckerRequest(full_open()));
  EXPECT_EQ(open["inputs"][0]["policy"]["distribution"], "spikes");
  EXPECT_EQ(open["outputs"]["y"]["check"], "argmax_of");
  EXPECT_EQ(to_json(answers().back())["code"], "unavailable");
  Json wrong = open;
  wrong["outputs"]["y"]["check"] = 2;
  EXPECT_FALSE(checker_request_from_json(wrong));
  wrong["outputs"]["y"]["check"] = "argmin_of";
  auto read = checker_request_from_json(wrong);
  ASSERT_FALSE(read);
  EXPECT_EQ(read.error().message(), "open.outputs.y.check: unknown name argmin_of");
}

TEST(CheckerMessages, AnotherProtocolIsRefused) {
  OpenRequest open = full_open();
  open.protocol = kCheckerProtocol + 1;
  auto read = checker_request_from_json(to_json(CheckerRequest(open)));
  ASSERT_FALSE(read);
  EXPECT_NE(read.error().message().find("protocol"), std::string::npos);
}

TEST(CheckerMessages, NumbersKeepTheirRange) {
  const Json judge = to_json(CheckerRequest(JudgeRequest{{false, false, full_spec()}, {}}));
  for (const Json& value : {Json(INT64_MAX), Json(1.0), Json("1"), Json(nullptr)}) {
    for (const char* number : {"process_pairs", "pair"}) {
      Json wrong = judge;
      wrong["goal"][number] = value;
      EXPECT_FALSE(checker_request_from_json(wrong)) << number << " " << value.dump();
    }
  }
}

// The executors' setup is also a part of the key of Triton's builds: its text may not change.
TEST(CheckerMessages, TheExecutorsSetupAsTheProtocolHasIt) {
  ExecutorSetup setup;
  setup.entry = "run";
  setup.init_args = "[]";
  EXPECT_EQ(to_json(setup).dump(),
            R"({"language":"cpp","kind":"definition","entry":"run","has_prepare":false,)"
            R"("init_args":"[]","threads":1,"entry_file":"","compilation":"eager",)"
            R"("destination_passing":null,"files":[],"copied_inputs":[]})");
}

}  // namespace
}  // namespace kw::gym
