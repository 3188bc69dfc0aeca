// Tests of the Workload codec.
#include "task/workload_json.h"

#include <gtest/gtest.h>

#include "task/definition_json.h"
#include "task/testing/golden.h"

namespace kw::task {
namespace {

Definition definition() {
  return definition_from_json(json_of(golden("definition.json")), "").value();
}

TEST(Workload, GoldenFileRoundTrips) {
  std::string text = golden("workloads.jsonl");
  auto workloads = workloads_from_jsonl(text, definition(), "w.jsonl");
  ASSERT_TRUE(workloads) << message_of(workloads);
  ASSERT_EQ(workloads->size(), 2U);
  EXPECT_EQ((*workloads)[0].axes,
            (std::vector<std::pair<std::string, std::int64_t>>{{"rows", 256}, {"k", 4}}));
  const auto& stored = std::get<SafetensorsInput>((*workloads)[1].inputs[0].second);
  EXPECT_EQ(stored.tensor_key, "x");
  EXPECT_EQ(workloads_to_jsonl(*workloads, "softmax_topk"), text);
}

struct Defect {
  const char* pointer;
  const char* value;
  const char* message;
};

// On the first golden line.
constexpr Defect kDefects[] = {
    {"/definition", "\"other\"", "definition: \"other\", but the definition is \"softmax_topk\""},
    {"/definition", "null", "definition: missing"},
    {"/solution", "\"s\"", "solution: expected null in a list of workloads"},
    {"/evaluation", "{}", "evaluation: expected null in a list of workloads"},
    {"/workloda", "{}", "workloda: unknown key (did you mean \"workload\"?)"},
    {"/workload/uuid", "null", "workload.uuid: missing"},
    {"/workload/uuid", "\"a/b\"", "workload.uuid: \"a/b\" cannot be a name"},
    {"/workload/axes", "null", "workload.axes: missing"},
    {"/workload/axes/rows", "null",
     "workload.axes.rows: missing (a variable axis of the definition)"},
    {"/workload/axes/rows", "-2", "workload.axes.rows: expected at least 0, found -2"},
    {"/workload/axes/rows", "2.5", "workload.axes.rows: expected an integer, found 2.5"},
    {"/workload/axes/columns", "4",
     "workload.axes.columns: is not a variable axis of the definition"},
    {"/workload/axes/row", "4",
     "workload.axes.row: is not a variable axis of the definition (did you mean \"rows\"?)"},
    {"/workload/axes/rows", "1000000000000000000",
     "workload.axes: x: a float16 tensor with rows=1000000000000000000"},
    {"/workload/axes/rows", "7",
     "workload.axes: the definition's constraint \"rows % 2 == 0\" does not hold"},
    {"/workload/axes/k", "129",
     "workload.axes: the definition's constraint \"k <= columns\" does not hold"},
    {"/workload/inputs", "[]", "workload.inputs: expected an object"},
    {"/workload/inputs/x", "null", "workload.inputs.x: missing (an input of the definition)"},
    {"/workload/inputs/z", "{\"type\":\"random\"}",
     "workload.inputs.z: is not an input of the definition"},
    {"/workload/inputs/x/type", "\"randon\"",
     "workload.inputs.x.type: \"randon\" is not one of random, scalar, safetensors, custom (did "
     "you mean "
     "\"random\"?)"},
    {"/workload/inputs/x/type", "null", "workload.inputs.x.type: missing"},
    {"/workload/inputs/x/value", "1", "workload.inputs.x.value: unknown key"},
    {"/workload/inputs/x", "{\"type\":\"scalar\",\"value\":1}",
     "workload.inputs.x: a scalar for a tensor of rank 2"},
    {"/workload/inputs/scale", "{\"type\":\"random\"}",
     "workload.inputs.scale: the definition has a host scalar here"},
    {"/workload/inputs/scale/value", "true",
     "workload.inputs.scale.value: expected a number for float32, found true"},
    {"/workload/inputs/scale/value", "\"1\"",
     "workload.inputs.scale.value: expected a number or a boolean"},
    {"/workload/inputs/steps/value", "1.5",
     "workload.inputs.steps.value: expected an integer that fits int32, found 1.5"},
    {"/workload/inputs/steps/value", "2147483648",
     "workload.inputs.steps.value: expected an integer that fits int32"},
    {"/workload/inputs/steps/value", "null", "workload.inputs.steps.value: missing"},
    {"/workload/inputs/x", "{\"type\":\"safetensors\",\"path\":\"../x\",\"tensor_key\":\"x\"}",
     "workload.inputs.x.path: \"../x\" must be a relative path"},
    {"/workload/inputs/x", "{\"type\":\"safetensors\",\"path\":\"/x\",\"tensor_key\":\"x\"}",
     "workload.inputs.x.path: \"/x\" must be"},
    {"/workload/inputs/x", "{\"type\":\"safetensors\",\"path\":\"x\",\"tensor_key\":\"\"}",
     "workload.inputs.x.tensor_key: empty"},
    {"/workload/inputs/x", "{\"type\":\"safetensors\",\"path\":\"x\"}",
     "workload.inputs.x.tensor_key: missing"},
    {"/workload/extra", "1", "workload.extra: unknown key"},
};

TEST(Workload, EveryRuleIsChecked) {
  std::string text = golden("workloads.jsonl");
  Json good = json_of(text.substr(0, text.find('\n')));
  for (const Defect& defect : kDefects) {
    std::string line = with(good, defect.pointer, json_of(defect.value)).dump();
    auto bad = workloads_from_jsonl("\n" + line + "\n", definition(), "w.jsonl");
    EXPECT_THAT(message_of(bad), testing::StartsWith(std::string("w.jsonl:2: ") + defect.message))
        << defect.pointer << " = " << defect.value;
  }
}

TEST(Workload, FilesOfLines) {
  std::string text = golden("workloads.jsonl");
  std::string first = text.substr(0, text.find('\n'));
  Json bare = json_of(first)["workload"];
  EXPECT_EQ(workloads_from_jsonl(bare.dump(), definition(), "w").value()[0].uuid, "6f0d1a52-0001");
  EXPECT_EQ(message_of(workloads_from_jsonl(first + "\n" + first, definition(), "w")),
            "w:2: workload.uuid: \"6f0d1a52-0001\" is given twice");
  EXPECT_EQ(message_of(workloads_from_jsonl("\n \n", definition(), "w")), "w: no workloads");
  EXPECT_THAT(message_of(workloads_from_jsonl(first.substr(0, 80), definition(), "w")),
              testing::StartsWith("w:1: not valid JSON"));
  EXPECT_EQ(message_of(workloads_from_jsonl("[]", definition(), "w")),
            "w:1: document: expected an object, found []");
}

TEST(Workload, WithoutElementsIsLeftOut) {
  auto lines = workloads_from_jsonl(golden("workloads.jsonl"), definition(), "").value();
  std::vector<Workload> changed = lines;
  changed[0].axes[0].second = 0;
  testing::internal::CaptureStderr();
  auto read = workloads_from_jsonl(workloads_to_jsonl(changed, "softmax_topk"), definition(), "w");
  EXPECT_NE(testing::internal::GetCapturedStderr().find("its axis rows is 0"), std::string::npos);
  ASSERT_TRUE(read) << message_of(read);
  ASSERT_EQ(read->size(), 1U);
  EXPECT_EQ((*read)[0].uuid, lines[1].uuid);
  changed.resize(1);
  auto none = workloads_from_jsonl(workloads_to_jsonl(changed, "softmax_topk"), definition(), "w");
  EXPECT_EQ(message_of(none), "w: no workloads");
}

TEST(Workload, HasAsManyNamesAsADefinitionAtMost) {
  Json line = json_of(R"({"uuid": "u", "axes": {}, "inputs": {}})");
  for (int i = 0; i < 64; ++i) line["axes"]["n" + std::to_string(i)] = i;
  EXPECT_TRUE(workload_from_json(line, ""));
  line["axes"]["m"] = 1;
  EXPECT_EQ(message_of(workload_from_json(line, "")), "axes: 65 names, more than 64");
}

Definition sol_definition() {
  return definition_from_json(json_of(R"({"name": "sol", "axes": {
      "batch": {"type": "var"}, "length": {"type": "var"}, "width": {"type": "const", "value": 8},
      "tokens": {"type": "expr", "expression": "batch * length"},
      "all": {"type": "expr", "expression": "tokens * width // 2"}},
      "inputs": {"x": {"shape": ["tokens", "width"], "dtype": "float32"},
                 "scale": {"shape": null, "dtype": "float32"}},
      "outputs": {"y": {"shape": ["all"], "dtype": "float32"}},
      "custom_inputs_entrypoint": "make",
      "reference": "def make(a, d): pass\ndef run(x, scale): pass\n"})"),
                              "")
      .value();
}

constexpr const char* kSolWorkload =
    R"({"uuid": "w", "axes": {"batch": 2, "length": 3}, "tolerance": {"max_atol": 1},)"
    R"( "inputs": {"x": {"type": "custom"}, "scale": {"type": "scalar", "value": 2}}})";

TEST(Workload, AxesAreComputedAndInputsMayBeCustom) {
  const Definition of = sol_definition();
  auto workloads = workloads_from_jsonl(kSolWorkload, of, "w.jsonl");
  ASSERT_TRUE(workloads) << message_of(workloads);
  const Workload& workload = (*workloads)[0];
  EXPECT_EQ(workload.axes, (std::vector<std::pair<std::string, std::int64_t>>{
                               {"batch", 2}, {"length", 3}, {"tokens", 6}, {"all", 24}}));
  EXPECT_TRUE(workload.has_custom_inputs());
  // Written with the computed values and read again.
  auto again = workloads_from_jsonl(workloads_to_jsonl(*workloads, of.name), of, "w.jsonl");
  ASSERT_TRUE(again) << message_of(again);
  EXPECT_EQ(to_json((*again)[0]), to_json(workload));
}

TEST(Workload, CustomHostScalarsAreReadFromTheReference) {
  Definition of = sol_definition();
  const Json line = with(json_of(kSolWorkload), "/inputs/scale", json_of(R"({"type": "custom"})"));
  const auto scale = [&](const std::string& reference) -> Json {
    of.reference = reference;
    const auto workloads = workloads_from_jsonl(line.dump(), of, "w");
    return workloads ? to_json((*workloads)[0])["inputs"]["scale"] : Json(message_of(workloads));
  };
  const auto number = [](const char* text) {
    return Json{{"type", "scalar"}, {"value", json_of(text)}};
  };
  EXPECT_EQ(scale("  return {\"x\": x, \"scale\": 1e-6}"), number("1e-6"));
  EXPECT_EQ(scale("  return {'scale' : -3, 'x': x}"), number("-3"));
  EXPECT_EQ(scale("  return {\"scale\": 0.5,  # half\n \"x\": x}"), number("0.5"));
  EXPECT_EQ(scale("s = a[\"scale\"]\n{\"scale\":\n  2.0\n}\n{'scale': 2.0}"), number("2.0"));
  for (const char* other :
       {"{\"scale\": 1 / 8}", "{\"scale\": s}", "{\"scale\": 1}\n{\"scale\": 2}",
        "{\"scale\": \"1\"}", "dict(scale=1)", "{\"scale\":"})
    EXPECT_TRUE(scale(other).is_string()) << other;
}

TEST(Workload, ComputedAxesAndCustomInputsAreChecked) {
  Definition of = sol_definition();
  const auto message = [&](std::string_view pointer, const char* value) {
    const Json bad = with(json_of(kSolWorkload), std::string(pointer).c_str(), json_of(value));
    return message_of(workloads_from_jsonl(bad.dump(), of, "w"));
  };
  EXPECT_THAT(message("/axes/tokens", "7"),
              testing::HasSubstr("axes.tokens: 7, but batch * length is 6"));
  EXPECT_THAT(message("/inputs/scale", R"({"type": "custom"})"),
              testing::HasSubstr("inputs.scale: a host scalar, which make() does not give as a "
                                 "number that stands in its text"));
  EXPECT_THAT(message("/inputs/scale", R"({"type": "random"})"),
              testing::HasSubstr("inputs.scale: the definition has a host scalar here"));
  EXPECT_THAT(message("/inputs/x", R"({"type": "costum"})"),
              testing::HasSubstr("not one of random, scalar, safetensors, custom (did you mean"));
  of.custom_inputs_entrypoint.clear();
  EXPECT_THAT(message("/uuid", "\"v\""),
              testing::HasSubstr("the definition has no custom_inputs_entrypoint"));
  of = sol_definition();
  TensorSpec& z = of.inputs.emplace_back();
  z.name = "z";
  z.shape = {"width"};
  EXPECT_THAT(message("/inputs/z", R"({"type": "random"})"),
              testing::HasSubstr("inputs.z: with custom inputs every tensor is custom"));
}

}  // namespace
}  // namespace kw::task
