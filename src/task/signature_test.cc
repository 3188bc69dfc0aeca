// Tests of signatures from definitions, and of their JSON.
#include "task/signature.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace kw::task {
namespace {

using testing::HasSubstr;

Definition layer_norm() {
  Definition d;
  d.name = "layer_norm";
  d.axes = {{"batch", std::nullopt, ""}, {"hidden", 64, ""}, {"seq", std::nullopt, ""}};
  d.inputs = {
      {"x", std::vector<std::string>{"batch", "seq", "hidden"}, tensor::DType::kFloat32, ""},
      {"eps", std::nullopt, tensor::DType::kFloat32, ""},
      {"weight", std::vector<std::string>{"hidden"}, tensor::DType::kBFloat16, ""}};
  d.outputs = {
      {"y", std::vector<std::string>{"batch", "seq", "hidden"}, tensor::DType::kFloat32, ""},
      {"norm", std::vector<std::string>{}, tensor::DType::kFloat64, ""}};
  return d;
}

Workload workload() {
  return {.uuid = "w1",
          .axes = {{"batch", 3}, {"seq", 5}},
          .inputs = {{"x", RandomInput{}}, {"eps", ScalarInput{1e-5}}, {"weight", RandomInput{}}}};
}

std::string error_of(const Definition& d, const Workload& w,
                     const std::vector<std::string>& statics = {}) {
  auto signature = signature_of(d, w, statics);
  return signature ? "" : signature.error().message();
}

TEST(Signature, TakesShapesOffTheWorkload) {
  Signature s = signature_of(layer_norm(), workload(), {"weight"}).value();
  ASSERT_EQ(s.inputs.size(), 2U);
  EXPECT_THAT(s.inputs[0].shape, testing::ElementsAre(3, 5, 64));
  EXPECT_EQ(s.inputs[0].bytes(), 3U * 5 * 64 * 4);
  EXPECT_EQ(s.inputs[1].role, Role::kScalar);
  EXPECT_EQ(s.inputs[1].value, 1e-5);
  ASSERT_EQ(s.statics.size(), 1U);
  EXPECT_EQ(s.statics[0].role, Role::kStatic);
  EXPECT_EQ(s.statics[0].bytes(), 128U);
  ASSERT_EQ(s.outputs.size(), 2U);
  EXPECT_EQ(s.outputs[1].elements(), 1);
  EXPECT_THAT(s.axes, testing::ElementsAre(testing::Pair("batch", 3), testing::Pair("seq", 5)));
  ASSERT_EQ(s.constants.size(), 1U);
  EXPECT_EQ(s.constants[0].second, 64);
  EXPECT_FALSE(s.of_module());
}

TEST(Signature, NamesWhatIsWrongWithAWorkload) {
  Workload missing = workload();
  missing.axes.pop_back();
  EXPECT_THAT(error_of(layer_norm(), missing), HasSubstr("axes.seq: missing"));
  Workload unknown = workload();
  unknown.axes.emplace_back("heads", 2);
  EXPECT_THAT(error_of(layer_norm(), unknown), HasSubstr("axes.heads"));
  Workload negative = workload();
  negative.axes[0].second = -1;
  EXPECT_THAT(error_of(layer_norm(), negative), HasSubstr("axes.batch is -1"));
  Workload other = workload();
  other.axes.emplace_back("hidden", 65);
  EXPECT_THAT(error_of(layer_norm(), other), HasSubstr("fixes it at 64"));
  Workload same = workload();
  same.axes.emplace_back("hidden", 64);
  EXPECT_EQ(error_of(layer_norm(), same), "");
  Workload no_value = workload();
  no_value.inputs[1].second = RandomInput{};
  EXPECT_THAT(error_of(layer_norm(), no_value), HasSubstr("inputs.eps: a scalar input needs"));
  Workload text = workload();
  text.inputs[1].second = ScalarInput{"big"};
  EXPECT_THAT(error_of(layer_norm(), text), HasSubstr("expected a value of type float32"));
}

TEST(Signature, RefusesSizesThatOverflow) {
  Workload huge = workload();
  huge.axes[0].second = std::int64_t{1} << 40;
  huge.axes[1].second = std::int64_t{1} << 40;
  EXPECT_THAT(error_of(layer_norm(), huge), HasSubstr("needs more than"));
  // A dimension of zero does not hide it.
  Definition d = layer_norm();
  d.axes[1].value = 0;
  d.inputs[0].shape = std::vector<std::string>{"hidden", "batch", "seq"};
  d.outputs[0].shape = d.inputs[0].shape;
  EXPECT_THAT(error_of(d, huge), HasSubstr("needs more than"));
  huge.axes[0].second = 0;
  huge.axes[1].second = 7;
  EXPECT_EQ(signature_of(layer_norm(), huge).value().inputs[0].bytes(), 0U);
}

TEST(Signature, NamesWhatIsWrongWithADefinitionOrPolicy) {
  Definition d = layer_norm();
  d.outputs[0].shape = std::vector<std::string>{"batch", "width"};
  EXPECT_THAT(error_of(d, workload()), HasSubstr("unknown axis \"width\""));
  EXPECT_THAT(error_of(layer_norm(), workload(), {"bias"}),
              HasSubstr("no input is called \"bias\""));
  EXPECT_THAT(error_of(layer_norm(), workload(), {"eps"}), HasSubstr("is a scalar"));
}

TEST(Signature, IntegerAndBooleanScalars) {
  Definition d = layer_norm();
  d.inputs[1].dtype = tensor::DType::kInt32;
  EXPECT_THAT(error_of(d, workload()), HasSubstr("expected a value of type int32"));
  Workload w = workload();
  w.inputs[1].second = ScalarInput{7};
  EXPECT_EQ(error_of(d, w), "");
  d.inputs[1].dtype = tensor::DType::kBool;
  EXPECT_THAT(error_of(d, w), HasSubstr("expected a value of type bool"));
  w.inputs[1].second = ScalarInput{true};
  EXPECT_EQ(error_of(d, w), "");
}

TEST(Signature, JsonRoundTrip) {
  Signature s = signature_of(layer_norm(), workload(), {"weight"}).value();
  s.statics[0].state_key = "norm.weight";
  s.statics[0].is_buffer = true;
  Json json = to_json(s);
  EXPECT_EQ(json["inputs"][1].dump(),
            R"({"name":"eps","role":"scalar","dtype":"float32","shape":[],"value":1e-05})");
  EXPECT_EQ(json["axes"].dump(), R"([["batch",3],["seq",5]])");
  EXPECT_EQ(json["static_axes"].dump(), R"([["hidden"]])");
  Signature back = signature_from_json(parse_json(json.dump()).value(), "s").value();
  EXPECT_EQ(to_json(back).dump(), json.dump());
  EXPECT_EQ(back.statics[0].state_key, "norm.weight");
  EXPECT_TRUE(back.statics[0].is_buffer);
}

TEST(Signature, JsonErrorsNameTheField) {
  Json good = to_json(signature_of(layer_norm(), workload(), {"weight"}).value());
  auto message = [](const Json& json) {
    auto read = signature_from_json(json, "setup.signature");
    return read ? std::string() : read.error().message();
  };
  Json j = good;
  j["inputs"][0]["dtype"] = "float31";
  EXPECT_THAT(message(j), HasSubstr("setup.signature.inputs[0].dtype"));
  j = good;
  j["inputs"][0]["role"] = "output";
  EXPECT_THAT(message(j), HasSubstr("inputs[0].role"));
  j = good;
  j["outputs"][0]["shape"] = {1, -2};
  EXPECT_THAT(message(j), HasSubstr("outputs[0]: a dimension is -2"));
  j = good;
  j["outputs"][0]["shape"] = Json::array({1 << 30, 1 << 30});
  EXPECT_THAT(message(j), HasSubstr("needs more than"));
  j = good;
  j["inputs"][1]["value"] = "x";
  EXPECT_THAT(message(j), HasSubstr("inputs[1].value"));
  j = good;
  j["axes"] = Json::array({Json::array({"batch", "many"})});
  EXPECT_THAT(message(j), HasSubstr("axes"));
  j = good;
  j["input_axes"] = Json::array({Json::array({"batch"})});
  EXPECT_THAT(message(j), HasSubstr("input_axes"));
  j = good;
  j["surprise"] = 1;
  EXPECT_THAT(message(j), HasSubstr("surprise"));
  j = good;
  j.erase("outputs");
  EXPECT_THAT(message(j), HasSubstr("outputs: missing"));
}

}  // namespace
}  // namespace kw::task
