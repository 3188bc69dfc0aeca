// Tests of the Definition codec: the golden file, every rule, sizes.
#include "task/definition_json.h"

#include <gtest/gtest.h>

#include "task/testing/golden.h"

namespace kw::task {
namespace {

TEST(Definition, GoldenFileRoundTrips) {
  std::string text = golden("definition.json");
  auto definition = definition_from_json(json_of(text), "");
  ASSERT_TRUE(definition) << message_of(definition);
  EXPECT_EQ(definition->axes[1].value, 128);
  EXPECT_FALSE(definition->axes[0].value);
  EXPECT_EQ(definition->inputs[2].shape, std::vector<std::string>{});
  EXPECT_EQ(definition->inputs[3].shape, std::nullopt);
  EXPECT_EQ(definition->outputs[1].dtype, tensor::DType::kInt64);
  EXPECT_EQ(to_json(*definition).dump(2) + "\n", text);
}

struct Defect {
  const char* pointer;
  const char* value;  // null removes
  const char* message;
};

constexpr Defect kDefects[] = {
    {"/name", "null", "name: missing"},
    {"/name", "\"\"", "name: empty"},
    {"/name", "\"../x\"", "name: \"../x\" cannot be a name"},
    {"/name", "3", "name: expected a string, found 3"},
    {"/op_type", "\"a/b\"", "op_type: \"a/b\" cannot be a name"},
    {"/hf_id", "3", "hf_id: expected a string, found 3"},
    {"/custom_inputs_entrypoint", "\"make\"", "reference: has no top-level function \"make\""},
    {"/description", "[]", "description: expected a string"},
    {"/tags", "\"x\"", "tags: expected a list of strings"},
    {"/tags", "[\" \"]", "tags: a tag has"},
    {"/axes", "null", "axes: missing"},
    {"/axes", "[]", "axes: expected an object"},
    {"/axes/columns/value", "2.5", "axes.columns.value: expected an integer, found 2.5"},
    {"/axes/columns/value", "-1", "axes.columns.value: expected at least 0, found -1"},
    {"/axes/columns/value", "null", "axes.columns.value: missing"},
    {"/axes/columns/value", "18446744073709551615", "axes.columns.value: expected an integer"},
    {"/axes/columns/type", "\"static\"",
     "axes.columns.type: expected \"const\", \"var\" or \"expr\", found \"static\""},
    {"/axes/half", R"({"type": "expr"})", "axes.half.expression: missing"},
    {"/axes/half", R"({"type": "expr", "expression": "columns //"})",
     "axes.half.expression: column 10: expected a number, a name or \"(\""},
    {"/axes/half", R"({"type": "expr", "expression": "column // 2"})",
     "axes.half.expression: \"column\" is no axis before it (did you mean \"columns\"?)"},
    {"/axes/half", R"({"type": "expr", "expression": "half + 1"})",
     "axes.half.expression: \"half\" is no axis before it"},
    {"/axes/half", R"({"type": "expr", "expression": "columns ** 10"})",
     "axes.half.expression: \"columns ** 10\": 128 ** 10 does not fit 64 bits"},
    {"/axes/half", R"({"type": "expr", "expression": "columns ** -1"})",
     "axes.half.expression: \"columns ** -1\": the exponent is -1, less than 0"},
    {"/axes/half", R"({"type": "expr", "expression": "1 << columns"})",
     "axes.half.expression: the operator << is not read; there are + - * / // % **, comparisons"},
    {"/axes/half", R"({"type": "expr", "expression": "2 if columns > 2 else 1"})",
     "axes.half.expression: the operator if is not read"},
    {"/axes/half", R"j({"type": "expr", "expression": "math.ceil(columns / 3)"})j",
     "axes.half.expression: \"math.ceil\" is not read: there are"},
    {"/axes/half", R"({"type": "expr", "expression": "columns * .5"})",
     "axes.half.expression: \".5\" is not read"},
    {"/axes/half", R"({"type": "expr", "expression": "columns * 1.5"})",
     "axes.half.expression: \"1.5\" is not read: a size is a whole number"},
    {"/axes/half", R"({"type": "expr", "expression": "columns - 129"})",
     "axes.half.expression: columns - 129 is -1, less than 0"},
    {"/axes/rows/value", "4", "axes.rows.value: a variable axis has its value in each workload"},
    {"/axes/rows/tpye", "4", "axes.rows.tpye: unknown key (did you mean \"type\"?)"},
    {"/axes/1x", "{\"type\": \"var\"}", "axes.1x: \"1x\" is not a name"},
    {"/axes/x", "{\"type\": \"var\"}", "inputs.x: \"x\" is also the name of an axis"},
    {"/inputs", "null", "inputs: missing"},
    {"/inputs/x/shape", "[\"rows\", \"colums\"]",
     "inputs.x.shape: \"colums\" is not among the axes (did you mean \"columns\"?)"},
    {"/inputs/x/shape", "[1]", "inputs.x.shape: expected a list of strings, found 1"},
    {"/inputs/x/shape", "\"rows\"", "inputs.x.shape: expected a list of strings"},
    {"/inputs/x/shape", "[\"k\",\"k\",\"k\",\"k\",\"k\",\"k\",\"k\",\"k\",\"k\"]",
     "inputs.x.shape: more than 8 dimensions"},
    {"/inputs/x/dtype", "\"flaot16\"",
     "inputs.x.dtype: \"flaot16\" is not one of float64, float32"},
    {"/inputs/x/dtype", "null", "inputs.x.dtype: missing"},
    {"/inputs/x/dtype", "\"float4_e2m1fn_x2\"",
     "inputs.x.dtype: float4_e2m1fn_x2 has two elements a byte and is not read"},
    {"/inputs/x/dype", "\"x\"", "inputs.x.dype: unknown key (did you mean \"dtype\"?)"},
    {"/inputs/class", "{\"shape\": [], \"dtype\": \"bool\"}",
     "inputs.class: \"class\" is a keyword of Python"},
    {"/outputs", "{}", "outputs: at least one output is needed"},
    {"/outputs/x", "{\"shape\": [], \"dtype\": \"bool\"}",
     "outputs.x: \"x\" is an input too; the names must differ"},
    {"/outputs/y/shape", "\"null\"", "outputs.y.shape: expected a list"},
    {"/reference", "null", "reference: missing"},
    {"/reference", "\"def  main(): pass\"", "reference: has no top-level function \"run\""},
    {"/reference", "\"class A:\\n  def run(self): pass\"",
     "reference: has no top-level function \"run\""},
    {"/reference", "\"'''\\ndef run(): pass\\n'''\"",
     "reference: has no top-level function \"run\""},
    {"/constraints", "[\"(k\"]", "constraints: brackets do not match"},
    {"/constraints", "[\"\"]", "constraints: empty"},
    {"/refrence", "\"\"", "refrence: unknown key (did you mean \"reference\"?)"},
};

TEST(Definition, EveryRuleIsChecked) {
  Json good = json_of(golden("definition.json"));
  for (const Defect& defect : kDefects) {
    auto bad = definition_from_json(with(good, defect.pointer, json_of(defect.value)), "");
    EXPECT_THAT(message_of(bad), testing::StartsWith(defect.message))
        << defect.pointer << " = " << defect.value;
  }
  EXPECT_THAT(message_of(definition_from_json(with(good, "/inputs/x/dtype", "flaot16"), "")),
              testing::EndsWith("bool (did you mean \"float16\"?)"));
  Json no_shape = good;
  no_shape["inputs"]["x"].erase("shape");
  EXPECT_EQ(message_of(definition_from_json(no_shape, "")), "inputs.x.shape: missing");
  Json scalar_output = good;
  scalar_output["outputs"]["y"]["shape"] = nullptr;
  EXPECT_THAT(message_of(definition_from_json(scalar_output, "")),
              testing::StartsWith("outputs.y.shape: null"));
  EXPECT_EQ(message_of(definition_from_json(Json::array(), "")),
            "document: expected an object, found []");
}

TEST(Definition, SolExecBenchsKeys) {
  Json value = json_of(golden("definition.json"));
  value["op_type"] = nullptr;
  value["hf_id"] = "org/model";
  value["custom_inputs_entrypoint"] = "make";
  value["reference"] =
      value["reference"].get<std::string>() + "\ndef make(numbers, device): pass\n";
  value["axes"]["half"] = {{"type", "expr"}, {"expression", "columns // 2"}};
  value["axes"]["all"] = {{"type", "expr"}, {"expression", "rows * (half + 1) / 5 % 7"}};
  value["inputs"]["x"]["shape"] = {"all", "half", "16"};
  auto read = definition_from_json(value, "");
  ASSERT_TRUE(read) << message_of(read);
  EXPECT_EQ(read->op_type, "");
  EXPECT_EQ(read->tags.back(), "model:org/model");
  const auto axis = [&](std::string_view name) {
    return *std::ranges::find(read->axes, name, &Axis::name);
  };
  EXPECT_EQ(axis("half").value, 64);  // of constants alone
  EXPECT_EQ(axis("all").value, std::nullopt);
  EXPECT_EQ(axis("size_16").value, 16);
  EXPECT_EQ(read->inputs[0].shape, (std::vector<std::string>{"all", "half", "size_16"}));
  const Json written = to_json(*read);
  EXPECT_EQ(written["axes"]["half"], value["axes"]["half"]);
  EXPECT_FALSE(written.contains("op_type"));
  auto again = definition_from_json(written, "");
  ASSERT_TRUE(again) << message_of(again);
  EXPECT_EQ(to_json(*again), written);
}

TEST(Definition, InputsMayBeOptional) {
  Json value = json_of(golden("definition.json"));
  const std::string input = value["inputs"].begin().key();
  value["inputs"][input]["optional"] = true;
  auto read = definition_from_json(value, "");
  ASSERT_TRUE(read) << message_of(read);
  EXPECT_TRUE(read->inputs[0].optional);
  EXPECT_EQ(to_json(*read)["inputs"][input]["optional"], true);
  value["inputs"][input]["optional"] = false;
  EXPECT_FALSE(
      to_json(definition_from_json(value, "").value())["inputs"][input].contains("optional"))
      << "what a definition says without the key has the same hash";
  value["outputs"].begin().value()["optional"] = true;
  EXPECT_NE(message_of(definition_from_json(value, "")).find("optional: only inputs can be"),
            std::string::npos);
}

TEST(Definition, AbsurdSizesAreErrors) {
  Json good = json_of(golden("definition.json"));
  auto size = [&](std::int64_t columns) {
    return definition_from_json(with(good, "/axes/columns/value", columns), "");
  };
  EXPECT_THAT(message_of(size(INT64_MAX)), testing::HasSubstr("is larger than 1.0 TiB"));
  EXPECT_THAT(message_of(size(std::int64_t{1} << 40)),
              testing::StartsWith("inputs.x: a float16 tensor with rows=1, columns="));
  Definition definition = size(1 << 20).value();
  const TensorSpec& x = definition.inputs[0];
  EXPECT_EQ(tensor_bytes(x, definition, {{"rows", 3}, {"k", 1}}).value(), 3LL << 21);
  EXPECT_TRUE(tensor_bytes(x, definition, {{"rows", 1 << 19}, {"k", 1}}));
  EXPECT_FALSE(tensor_bytes(x, definition, {{"rows", (1 << 19) + 1}, {"k", 1}}));
  EXPECT_EQ(message_of(tensor_bytes(x, definition, {})), "axis \"rows\" has no value");
}

}  // namespace
}  // namespace kw::task
