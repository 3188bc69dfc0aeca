// What problems are made of: families, depths, branches.
#include "writer/generate/sample_plan.h"

#include <algorithm>
#include <map>
#include <optional>
#include <set>
#include <string>

#include <gtest/gtest.h>

namespace kw::writer::generate {
namespace {

constexpr std::uint64_t kPlanSeed = 17;

// Values that a value is computed from, itself among them.
std::set<int> ancestors(const Plan& plan, int value) {
  std::set<int> out = {value};
  for (std::size_t i = plan.steps.size(); i-- > 0;) {
    const Step& step = plan.steps[i];
    for (const int result : step.results) {
      if (out.contains(result)) out.insert(step.operands.begin(), step.operands.end());
    }
  }
  return out;
}

bool is_made(const Plan& plan, int value) {
  for (const Step& step : plan.steps) {
    for (const int result : step.results)
      if (result == value) return true;
  }
  return false;
}

// Whether the first step of `mine` that the other branch has not takes what both have. One from an
// input of its own may still use an earlier tensor later on.
bool begins_at(const Plan& plan, const std::set<int>& mine, const std::set<int>& other) {
  for (const Step& step : plan.steps) {
    const auto is_mine = [&](int value) { return mine.contains(value) && !other.contains(value); };
    if (std::none_of(step.results.begin(), step.results.end(), is_mine)) continue;
    return !step.operands.empty() && other.contains(step.operands[0]);
  }
  return false;
}

struct Branches {
  std::string join;
  int longer = 0, shorter = 0;  // operators of each that the other one has not
  bool one_source = false;
};

// The first step that joins what was computed apart.
std::optional<Branches> branches_of(const Plan& plan) {
  for (const Step& step : plan.steps) {
    if (step.operands.size() < 2) continue;
    const int x = step.operands[0], y = step.operands[1];
    if (!is_made(plan, x) || !is_made(plan, y)) continue;
    const std::set<int> of_x = ancestors(plan, x), of_y = ancestors(plan, y);
    if (of_x.contains(y) || of_y.contains(x)) continue;
    Branches out{std::string(step.spec->name)};
    const auto alone = [&](const std::set<int>& mine, const std::set<int>& other) {
      int count = 0;
      for (const int value : mine) count += is_made(plan, value) && !other.contains(value) ? 1 : 0;
      return count;
    };
    out.longer = alone(of_x, of_y);
    out.shorter = alone(of_y, of_x);
    if (out.longer < out.shorter) std::swap(out.longer, out.shorter);
    out.one_source = begins_at(plan, of_x, of_y) && begins_at(plan, of_y, of_x);
    return out;
  }
  return std::nullopt;
}

TEST(SamplePlan, SomePlansPartInTwoBranches) {
  GeneratorOptions options;
  options.min_depth = 3;
  constexpr int kPlans = 3000;
  std::map<std::string, int> joins;
  std::map<int, int> longer, shorter;
  int found = 0, one_source = 0;
  for (std::uint64_t index = 0; index < kPlans; ++index) {
    Rng rng = Rng::at(kPlanSeed, index);
    const auto plan = sample_plan(rng, options);
    ASSERT_TRUE(plan) << plan.error().message();
    const auto branches = branches_of(*plan);
    if (!branches) continue;
    ++found;
    ++joins[branches->join];
    if (!branches->one_source) continue;  // what came before belongs to one of them
    ++one_source;
    ++longer[branches->longer];
    ++shorter[branches->shorter];
  }
  EXPECT_GT(found, kPlans * 7 / 100);
  EXPECT_LT(found, kPlans * 15 / 100);
  for (const char* join : {"residual", "multiply", "subtract", "concatenate", "stack", "gate",
                           "choose", "extreme_of_two"})
    EXPECT_GE(joins[join], 5) << join;
  EXPECT_LE(longer.rbegin()->first, 3);
  EXPECT_GE(longer[3], 20);
  EXPECT_GE(shorter[1], 20);
  EXPECT_GE(shorter[2], 20);
  EXPECT_GE(shorter[3], 3);
  EXPECT_GT(one_source, found / 2);
  EXPECT_LT(one_source, found * 9 / 10);
}

TEST(SamplePlan, FamiliesBeginProblemsAsOftenAsPeoplesDo) {
  std::map<std::string, double> share;
  constexpr int kPlans = 3000;
  for (std::uint64_t index = 0; index < kPlans; ++index) {
    Rng rng = Rng::at(kPlanSeed + 1, index);
    const auto plan = sample_plan(rng, {});
    ASSERT_TRUE(plan) << plan.error().message();
    share[std::string(plan->steps[0].spec->family)] += 1.0 / kPlans;
  }
  EXPECT_NEAR(share["convolution"], 1.0 / 3, 0.04);
  EXPECT_NEAR(share["matmul"], 1.0 / 6, 0.03);
  for (const char* family :
       {"norm", "reduction", "activation", "pooling", "scan", "loss", "attention", "elementwise",
        "layout", "gather", "sort", "recurrent", "quantization", "bits", "sampling"}) {
    EXPECT_GT(share[family], 0.003) << family;
    EXPECT_LT(share[family], 0.16) << family;
  }
}

// Whether some number of a parameter is more than `least`.
bool exceeds(const Step& step, std::string_view name, std::int64_t least) {
  const Param* param = step.param(name);
  if (param == nullptr) return false;
  if (const auto* list = std::get_if<std::vector<std::int64_t>>(&param->value))
    return std::any_of(list->begin(), list->end(), [&](std::int64_t n) { return n > least; });
  const auto* one = std::get_if<std::int64_t>(&param->value);
  return one != nullptr && *one > least;
}

TEST(SamplePlan, ConvolutionsOfEveryKindOccur) {
  std::map<std::string, double> share;  // of the problems that begin with a convolution
  constexpr int kPlans = 4000;
  int convolutions = 0;
  for (std::uint64_t index = 0; index < kPlans; ++index) {
    Rng rng = Rng::at(kPlanSeed + 2, index);
    const auto plan = sample_plan(rng, {});
    ASSERT_TRUE(plan) << plan.error().message();
    const Step& step = plan->steps[0];
    if (step.spec->family != "convolution") continue;
    ++convolutions;
    ++share[std::get<std::string>(step.param("r")->value) + "d"];
    ++share[std::string(step.spec->name)];
    const bool strided = exceeds(step, "stride", 1), dilated = exceeds(step, "dilation", 1);
    share["strided"] += strided ? 1 : 0;
    share["dilated"] += dilated ? 1 : 0;
    share["padded"] += exceeds(step, "padding", 0) ? 1 : 0;
  }
  for (auto& [name, count] : share) count /= convolutions;
  EXPECT_NEAR(share["2d"], 0.57, 0.06);
  EXPECT_NEAR(share["1d"], 0.21, 0.05);
  EXPECT_NEAR(share["3d"], 0.22, 0.05);
  EXPECT_GT(share["conv"], 0.4);
  for (const char* kind : {"grouped_conv", "depthwise_conv", "conv_transpose", "dilated"})
    EXPECT_GT(share[kind], 0.06) << kind;
  EXPECT_NEAR(share["strided"], 0.37, 0.1);
  EXPECT_NEAR(share["padded"], 0.55, 0.15);
}

// What a norm forgets, and extremes of what is mostly one number, say nothing of a kernel: the gym
// refuses such problems.
TEST(SamplePlan, NoOperatorHidesWhatTheOneBeforeItDid) {
  GeneratorOptions options;
  options.max_elements = 8192;
  options.max_work = 1 << 20;
  options.min_depth = 2;
  constexpr std::uint64_t kPlans = 4000;
  int norms = 0, extremes = 0, behind_equal = 0;
  for (std::uint64_t index = 0; index < kPlans; ++index) {
    Rng rng = Rng::at(kPlanSeed + 3, index);
    const auto plan = sample_plan(rng, options);
    ASSERT_TRUE(plan) << plan.error().message();
    for (const Step& step : plan->steps) {
      if (step.operands.empty()) continue;
      const Value& x = plan->values[static_cast<std::size_t>(step.operands[0])];
      const auto maker =
          std::find_if(plan->steps.begin(), plan->steps.end(), [&](const Step& other) {
            return !other.results.empty() && other.results[0] == step.operands[0];
          });
      if (maker == plan->steps.end()) continue;
      behind_equal += x.equal;
      if (step.spec->forgets_shifts) {
        ++norms;
        const bool shifted =
            maker->spec->shifts_channels && (maker->param("bias") == nullptr || maker->is("bias"));
        EXPECT_FALSE(shifted) << maker->spec->name << " > " << step.spec->name;
      }
      if (step.spec->picks_extreme) {
        ++extremes;
        EXPECT_FALSE(x.equal) << maker->spec->name << " > " << step.spec->name;
      }
    }
  }
  EXPECT_GT(norms, 100);
  EXPECT_GT(extremes, 100);
  EXPECT_GT(behind_equal, 500);
}

}  // namespace
}  // namespace kw::writer::generate
