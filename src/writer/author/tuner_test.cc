// The order in which kernels are judged.
#include "writer/author/tuner.h"

#include <set>

#include <gtest/gtest.h>

#include "writer/loops/testing/graphs.h"

namespace kw::writer {
namespace {

// Each strategy's kernel of relu(x @ w) differs, and many tunings' of the first one.
Tuner product_tuner() {
  const TestGraph graph{
      .sizes = {{"M", 40}, {"K", 64}, {"N", 48}},
      .inputs = {{"x", R"(["M", "K"])"}, {"w", R"(["K", "N"])"}},
      .nodes = {{"mm.default", R"("self": {"input": "x"}, "mat2": {"input": "w"})",
                 R"(["M", "N"])"},
                {"relu.default", R"("self": {"node": 0})", R"(["M", "N"])"}},
      .outputs = R"({"node": 1})"};
  const auto argument = [](const char* name, task::Role role, std::vector<std::int64_t> shape) {
    return task::Argument{
        .name = name, .role = role, .dtype = tensor::DType::kFloat32, .shape = std::move(shape)};
  };
  task::Signature signature;
  signature.inputs = {argument("x", task::Role::kInput, {40, 64}),
                      argument("w", task::Role::kInput, {64, 48})};
  signature.outputs = {argument("out", task::Role::kOutput, {40, 48})};
  signature.output_axes.emplace_back();
  return {graph.graph(), std::move(signature), task::Language::kCpp};
}

std::string next_label(Tuner& tuner, const std::vector<Tried>& tried, int skipped = 0) {
  const auto out = tuner.next(tried, skipped);
  EXPECT_TRUE(out) << out.error().message();
  if (!out || !*out) return "none";
  return label_of((*out)->strategy, (*out)->tuning);
}

TEST(Tuner, TheStrategiesComeFirstWhereNothingIsKnown) {
  Tuner tuner = product_tuner();
  EXPECT_EQ(next_label(tuner, {}), "blocked");
  EXPECT_EQ(next_label(tuner, {}, 1), "fused");
  EXPECT_EQ(next_label(tuner, {{"blocked", {}, false, 0}}), "fused");
  std::set<std::string> labels;
  for (int i = 0; i < 100; ++i) labels.insert(next_label(tuner, {}, i));
  EXPECT_TRUE(labels.contains("blocked tile_vectors=1"));
  EXPECT_TRUE(labels.contains("none"));
  EXPECT_FALSE(labels.contains("blocked unroll_windows=0")) << "there is no window";
}

TEST(Tuner, ClimbsFromTheFastestInOneChoiceAfterTheOther) {
  Tuner tuner = product_tuner();
  std::vector<Tried> tried = {{"blocked", {}, true, 1.0}};
  EXPECT_EQ(next_label(tuner, tried), "blocked tile_vectors=1");
  EXPECT_EQ(next_label(tuner, tried, 1), "blocked tile_vectors=3") << "beside one that is judged";
  tried.push_back({"blocked", {{"tile_vectors", 1}}, true, 0.8});
  tried.push_back({"blocked", {{"tile_vectors", 3}}, true, 1.2});
  EXPECT_EQ(next_label(tuner, tried), "blocked tile_vectors=4");
  tried.push_back({"blocked", {{"tile_vectors", 4}}, false, 0});
  EXPECT_EQ(next_label(tuner, tried), "blocked tile_rows=4 tile_vectors=3");
}

TEST(Tuner, AValueThatWasWorseIsNotTriedAgain) {
  Tuner tuner = product_tuner();
  std::vector<Tried> tried = {{"blocked", {}, true, 1.0},
                              {"blocked", {{"depth_block", 256}}, true, 0.5},
                              {"blocked", {{"tile_vectors", 1}}, true, 1.5}};
  for (int i = 0; i < 100; ++i)
    EXPECT_EQ(next_label(tuner, tried, i).find("depth_block=256"), std::string::npos);
}

TEST(Tuner, EndsWhenNothingIsLeft) {
  Tuner tuner = product_tuner();
  std::vector<Tried> tried;
  std::set<std::string> labels;
  for (std::string label; (label = next_label(tuner, tried)) != "none";) {
    ASSERT_TRUE(labels.insert(label).second) << label << " twice";
    const auto known = parse_label(label);
    ASSERT_TRUE(known);
    tried.push_back({known->strategy, known->tuning, true, 1.0});
    ASSERT_LT(tried.size(), 200U);
  }
  EXPECT_TRUE(labels.contains("side_by_side"));
  EXPECT_FALSE(labels.contains("naive")) << "one that is right is known";
}

TEST(Tuning, LabelsAreReadBack) {
  const Tuning tuning = {{"lanes", 32}, {"tile_rows", 4}};
  EXPECT_EQ(label_of("blocked", tuning), "blocked lanes=32 tile_rows=4");
  const auto read = parse_label("blocked lanes=32 tile_rows=4");
  ASSERT_TRUE(read);
  EXPECT_EQ(read->strategy, "blocked");
  EXPECT_EQ(read->tuning, tuning);
  EXPECT_FALSE(parse_label(""));
  EXPECT_FALSE(parse_label("blocked lanes"));
  EXPECT_FALSE(parse_label("blocked lanes=4x"));
}

TEST(Tuning, UnknownChoicesAndValuesAreRefused) {
  const auto known = choices(task::Language::kCpp, "blocked");
  EXPECT_EQ(check({{"lane", 64}}, known).error().message(), "unknown choice lane");
  EXPECT_EQ(check({{"lanes", 65}}, known).error().message(), "lanes=65: there are 64, 128, 256");
  EXPECT_TRUE(check({{"lanes", 128}}, known));
  EXPECT_TRUE(choices(task::Language::kCpp, "nothing").empty());
  EXPECT_FALSE(choices(task::Language::kTriton, "tiled").empty());
}

}  // namespace
}  // namespace kw::writer
