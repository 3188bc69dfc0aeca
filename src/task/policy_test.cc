// Tests of policies: TOML, every rule, names against the definition, and the place of the policy in
// the problem's hash.
#include <gtest/gtest.h>

#include "task/definition_json.h"
#include "task/policy_json.h"
#include "task/policy_toml.h"
#include "task/testing/golden.h"
#include "task/workload_json.h"

namespace kw::task {
namespace {

TEST(Policy, GoldenFileRoundTrips) {
  std::string text = golden("policy.toml");
  auto policy = policy_from_toml(text, "policy.toml");
  ASSERT_TRUE(policy) << message_of(policy);
  EXPECT_EQ(policy->library, Library::kKernelOnly);
  EXPECT_EQ(policy->outputs["indices"].check, CheckKind::kTopkOf);
  EXPECT_FALSE(policy->outputs["indices"].largest);
  EXPECT_EQ(policy->inputs["x"].low, 0.5);
  EXPECT_FALSE(policy->workloads["6f0d1a52-0002"].timed);
  EXPECT_EQ(policy->workloads["6f0d1a52-0002"].inputs["x"].distribution, Distribution::kSpikes);
  EXPECT_EQ(policy_to_toml(*policy), text);
}

TEST(Policy, DefaultsAreLeftOut) {
  Policy policy = policy_from_toml("schema = 1", "p").value();
  EXPECT_EQ(to_json(policy).dump(), R"({"schema":1})");
  EXPECT_EQ(policy.library, Library::kLibrariesAllowed);
}

TEST(Policy, EveryRuleIsChecked) {
  auto problem = [](const std::string& text) {
    return message_of(policy_from_toml(text, "p.toml"));
  };
  EXPECT_EQ(problem("family = 'x'"), "p.toml: schema: missing");
  EXPECT_EQ(problem("schema = 2"), "p.toml: schema: expected 1, found 2");
  EXPECT_THAT(problem("schema = 1\nx = "), testing::StartsWith("p.toml:2: "));
  EXPECT_THAT(problem("schema = 1\nschema = 1"), testing::StartsWith("p.toml:2: "));
  EXPECT_THAT(problem("schema = 1\n[("), testing::StartsWith("p.toml:2: "));
  const std::vector<std::pair<std::string, std::string>> kCases = {
      {"famly = 'x'", "famly: unknown key (did you mean \"family\"?)"},
      {"family = 3", "family: expected a string, found 3"},
      {"family = 2020-01-01T00:00:00Z", "line 2: no key takes a date or time"},
      {"library = 'kernels_only'",
       "library: \"kernels_only\" is not one of kernel_only, libraries_allowed, anything (did you "
       "mean \"kernel_only\"?)"},
      {"any_shape = 1", "any_shape: expected true or false, found 1"},
      {"deterministic = 'yes'", "deterministic: expected true or false"},
      {"static = 'w'", "static: expected a list of strings"},
      {"state = 'unchecked'", "state: expected \"checked\" or no such key, found \"unchecked\""},
      {"[outputs.y]\ncheck = 'value'", "outputs.y.check: \"value\" is not one of values, exact"},
      {"[outputs.y]\ncheck = 'argmax_of'", "outputs.y.of: missing"},
      {"[outputs.y]\ncheck = 'sampling'", "outputs.y.of: missing"},
      {"[outputs.y]\nof = 'x'", "outputs.y.of: only for argmax_of, topk_of and sampling"},
      {"[outputs.y]\nreduction_length = -1", "outputs.y.reduction_length: expected at least 0"},
      {"[outputs.y]\naxis = 1.5", "outputs.y.axis: expected an integer, found 1.5"},
      {"[outputs.y]\nlargets = true", "outputs.y.largets: unknown key (did you mean \"largest\"?)"},
      {"outputs = 1", "outputs: expected an object, found 1"},
      {"[inputs.x]\ndistribution = 'gauss'",
       "inputs.x.distribution: \"gauss\" is not one of default, normal"},
      {"[inputs.x]\ndomain = 'positiv'",
       "inputs.x.domain: \"positiv\" is not one of any, positive, own, fixed (did you mean "
       "\"positive\"?)"},
      {"[inputs.x]\nlow = inf", "inputs.x.low: must be finite"},
      {"[inputs.x]\nlow = nan", "inputs.x.low: must be finite"},
      {"[inputs.x]\ndistribution = 'uniform'\nlow = 2.0\nhigh = 1.0",
       "inputs.x: low is above high"},
      {"[workloads.u]\ntargets = []", "workloads.u.targets: empty"},
      {"[workloads.u]\ntargets = ['gpu']",
       "workloads.u.targets: \"gpu\" is not one of cpu, interpret, cuda (did you mean \"cpu\"?)"},
      {"[workloads.u]\ntimed = 0", "workloads.u.timed: expected true or false"},
      {"[workloads.u.inputs.x]\ndist = 1", "workloads.u.inputs.x.dist: unknown key"},
  };
  for (const auto& [text, message] : kCases) {
    std::string found = problem("schema = 1\n" + text);
    EXPECT_THAT(found, testing::StartsWith("p.toml: " + message)) << text;
  }
}

TEST(Policy, TheDomainOfHardInputsFollowsTheDistribution) {
  auto domain = [](const std::string& keys) {
    const Policy policy = policy_from_toml("schema = 1\n[inputs.x]\n" + keys, "p").value();
    return to_string(domain_of(policy.inputs.at("x")));
  };
  EXPECT_EQ(domain(""), "any");
  EXPECT_EQ(domain("distribution = 'normal'"), "any");
  EXPECT_EQ(domain("distribution = 'uniform'"), "own");
  EXPECT_EQ(domain("distribution = 'integers'"), "own");
  EXPECT_EQ(domain("distribution = 'probabilities'"), "fixed");
  EXPECT_EQ(domain("distribution = 'permutation'"), "fixed");
  EXPECT_EQ(domain("distribution = 'uniform'\ndomain = 'any'"), "any");
  const std::string text =
      "schema = 1\n\n[inputs.x]\ndistribution = \"default\"\ndomain = \"positive\"\n";
  EXPECT_EQ(to_json(policy_from_toml(text, "p").value())["inputs"]["x"]["domain"], "positive");
}

TEST(Policy, NamesMustExistInTheDefinition) {
  Definition definition = definition_from_json(json_of(golden("definition.json")), "").value();
  auto workloads = workloads_from_jsonl(golden("workloads.jsonl"), definition, "w").value();
  auto problem = [&](const std::string& text) {
    return message_of(
        check_policy(policy_from_toml("schema = 1\n" + text, "p").value(), definition, workloads));
  };
  EXPECT_TRUE(
      check_policy(policy_from_toml(golden("policy.toml"), "p").value(), definition, workloads));
  EXPECT_EQ(problem("static = ['bais']"),
            "static: \"bais\" is not an input of the definition (did you mean \"bias\"?)");
  EXPECT_EQ(problem("[inputs.y]"),
            "inputs: \"y\" is not an input of the definition (did you mean \"x\"?)");
  EXPECT_THAT(problem("[outputs.x]"),
              testing::StartsWith("outputs: \"x\" is not an output of the definition"));
  EXPECT_THAT(
      problem("[outputs.indices]\ncheck = 'topk_of'\nof = 'zzzzzz'"),
      testing::StartsWith("outputs.indices.of: \"zzzzzz\" is not a tensor of the definition"));
  EXPECT_EQ(problem("[outputs.indices]\ncheck = 'topk_of'\nof = 'x'\naxis = 2"),
            "outputs.indices.axis: 2 is outside \"x\", which has 2 axes");
  EXPECT_THAT(problem("[workloads.'6f0d1a52-0003']"),
              testing::HasSubstr("is not a uuid in workloads.jsonl"));
  EXPECT_THAT(problem("[workloads.'6f0d1a52-0001'.inputs.w]"),
              testing::HasSubstr("\"w\" is not an input"));
  EXPECT_EQ(problem("state = 'checked'"), "state: only modules have buffers to check");
}

TEST(ProblemHash, CoversEverythingThatIsJudged) {
  Problem problem;
  problem.body = definition_from_json(json_of(golden("definition.json")), "").value();
  problem.workloads =
      workloads_from_jsonl(golden("workloads.jsonl"), problem.definition(), "w").value();
  const std::string base = problem_hash(problem);
  auto changed = [&](auto change) {
    Problem copy = problem;
    change(copy);
    return problem_hash(copy) != base;
  };
  auto body = [](Problem& p) -> Definition& { return std::get<Definition>(p.body); };
  EXPECT_FALSE(changed([](Problem& p) { p.origin = "elsewhere"; }));
  EXPECT_TRUE(changed([&](Problem& p) { body(p).reference += " "; }));
  EXPECT_TRUE(changed([&](Problem& p) { std::swap(body(p).inputs[0], body(p).inputs[1]); }));
  EXPECT_TRUE(changed([&](Problem& p) { std::swap(body(p).axes[0], body(p).axes[2]); }));
  EXPECT_TRUE(changed([&](Problem& p) { body(p).axes[1].value = 64; }));
  EXPECT_TRUE(changed([](Problem& p) { p.workloads.pop_back(); }));
  EXPECT_TRUE(changed([](Problem& p) { p.workloads[0].axes[0].second = 2; }));
  EXPECT_TRUE(changed([](Problem& p) { p.policy.deterministic = true; }));
  EXPECT_TRUE(changed([](Problem& p) { p.policy.inputs["x"].high = 2; }));
  EXPECT_EQ(&problem.workload_policy("none"), &problem.workload_policy("other"));
}

TEST(Policy, LettersBehindAsciiAreErrorsOutsideStrings) {
  EXPECT_FALSE(policy_from_toml("schema = 1\n\xD0\xB8 = 2\n", "p"));
  EXPECT_FALSE(policy_from_toml("schema = \xC3\xA9\n", "p"));
  EXPECT_TRUE(policy_from_toml("schema = 1 # \xD0\xB8\nfamily = \"\xC3\xA9\"\n", "p"));
}

TEST(Policy, AnyTextRoundTrips) {
  Policy policy;
  policy.family = "\n'''a\\\"\x01\x7F\n";
  policy.statics = {"x\ny", "\n"};
  policy.workloads["u\n"].label = "l\n";
  policy.workloads["it's"].timed = false;
  policy.workloads[""].inputs["\xC3\xA9.x"].low = 1e22;
  auto again = policy_from_toml(policy_to_toml(policy), "p");
  ASSERT_TRUE(again) << message_of(again);
  EXPECT_EQ(to_json(*again).dump(), to_json(policy).dump());
}

}  // namespace
}  // namespace kw::task
