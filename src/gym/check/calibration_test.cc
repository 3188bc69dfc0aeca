// The budget's calibration: over all families, honest kernels never fail and dishonest ones are found.
#include <gtest/gtest.h>

#include <cmath>
#include <cstdlib>
#include <cstring>

#include <fmt/format.h>

#include "base/random.h"
#include "gym/check/budget.h"
#include "gym/check/compare.h"
#include "gym/check/testing/families.h"
#include "gym/inputs/fill.h"
#include "gym/inputs/half.h"

namespace kw::gym {
namespace {

using task::DType;
using testing::Doubles;
using testing::Family;
using testing::Floats;
using testing::Variant;

// What the oracle would give for one seed, with its memory.
class Oracle {
 public:
  Oracle(const Family& family, const testing::Inputs& inputs, DType dtype, std::uint64_t seed) : family_(family), dtype_(dtype) {
    for (std::size_t i = 0; i < family.shapes.size(); ++i) {
      std::vector<std::byte> bytes(static_cast<std::size_t>(elements_of(family.shapes[i])) * task::size_of(dtype));
      EXPECT_TRUE(fill_input(dtype, family.shapes[i], inputs.policies[i], seed * 16 + i, bytes));
      floats_.emplace_back(bytes.size() / task::size_of(dtype));
      doubles_.emplace_back(floats_.back().size());
      load(dtype, bytes, 0, floats_.back());
      load(dtype, bytes, 0, doubles_.back());
    }
    exact_ = family.exact(doubles_);
    trusted_ = stored(family.trusted(floats_));
    Rng rng(seed + 99);
    for (int run = 0; run < 2; ++run) {
      std::vector<Doubles> moved = doubles_;
      for (Doubles& x : moved) {
        for (double& v : x) v *= 1 + (rng.below(2) == 0 ? 1 : -1) * task::epsilon_of(dtype);
      }
      perturbed_.push_back(family.exact(moved));
    }
  }

  OracleRun run() const {
    OracleRun run{exact_, {dtype_, family_.output, trusted_}, {}};
    for (const Doubles& p : perturbed_) run.perturbed.emplace_back(p);
    return run;
  }
  std::vector<std::byte> output(const Variant& variant) const { return stored(variant.run(floats_)); }
  InstanceBudget budget() const {
    auto made = InstanceBudget::make({dtype_, family_.output, family_.reduction_length}, run());
    EXPECT_TRUE(made) << (made ? "" : made.error().message());
    return std::move(made).value();
  }

 private:
  std::vector<std::byte> stored(const Floats& values) const {
    std::vector<std::byte> bytes(values.size() * task::size_of(dtype_));
    store(dtype_, values, 0, bytes);
    return bytes;
  }
  const Family& family_;
  DType dtype_;
  std::vector<Floats> floats_;
  std::vector<Doubles> doubles_, perturbed_;
  Doubles exact_;
  std::vector<std::byte> trusted_;
};

struct Worst {
  double of_budget = 0, bias = 0, tile = 0;
};

// KW_CALIBRATION=1 prints the table; KW_CALIBRATION_SEEDS the number of seeds.
bool verbose() { return std::getenv("KW_CALIBRATION") != nullptr; }
std::uint64_t seeds() {
  const char* text = std::getenv("KW_CALIBRATION_SEEDS");
  return text == nullptr ? 3 : std::strtoull(text, nullptr, 10);
}

void calibrate(DType dtype, const std::vector<Family>& families) {
  for (const Family& family : families) {
    std::vector<std::vector<int>> found(family.dishonest.size(), std::vector<int>(family.inputs.size(), 0));
    for (std::size_t d = 0; d < family.inputs.size(); ++d) {
      std::vector<Worst> worst(family.honest.size());
      double terms = 0;
      for (std::uint64_t seed = 1; seed <= seeds(); ++seed) {
        Oracle oracle(family, family.inputs[d], dtype, seed);
        InstanceBudget budget = oracle.budget();
        terms = budget.terms();
        auto check = [&](const Variant& variant) {
          std::vector<std::byte> bytes = oracle.output(variant);
          return check_against_oracle({dtype, family.output, bytes}, budget);
        };
        for (std::size_t v = 0; v < family.honest.size(); ++v) {
          CheckReport report = check(family.honest[v]);
          EXPECT_TRUE(report.passed) << task::to_string(dtype) << " " << family.name << ", " << family.inputs[d].name << ", " << family.honest[v].name
                                     << ": " << report.max_of_budget << " of budget, bias " << report.bias << ", tile " << report.worst_tile;
          worst[v].of_budget = std::max(worst[v].of_budget, report.max_of_budget);
          worst[v].bias = std::max(worst[v].bias, std::abs(report.bias));
          worst[v].tile = std::max(worst[v].tile, report.worst_tile);
        }
        EXPECT_TRUE(check({"trusted", family.trusted}).passed) << family.name << ", " << family.inputs[d].name;
        for (std::size_t v = 0; v < family.dishonest.size(); ++v) found[v][d] += check(family.dishonest[v]).passed ? 0 : 1;
      }
      if (!verbose()) continue;
      fmt::print("{} {}, {} ({} terms)\n", task::to_string(dtype), family.name, family.inputs[d].name, terms);
      for (std::size_t v = 0; v < worst.size(); ++v) {
        fmt::print("    {:.3f} of budget, bias {:.3f}, tile {:.3f}  {}\n", worst[v].of_budget, worst[v].bias, worst[v].tile, family.honest[v].name);
      }
    }
    for (std::size_t v = 0; v < found.size(); ++v) {
      bool always = false;
      std::string row;
      for (std::size_t d = 0; d < found[v].size(); ++d) {
        always = always || found[v][d] == static_cast<int>(seeds());
        row += fmt::format(" {} {}/{}", family.inputs[d].name, found[v][d], seeds());
      }
      EXPECT_TRUE(always) << task::to_string(dtype) << " " << family.name << ": " << family.dishonest[v].name << " found only:" << row;
      if (verbose()) fmt::print("    found{}  {}\n", row, family.dishonest[v].name);
    }
  }
}

TEST(Calibration, Float32) { calibrate(DType::kFloat32, testing::families({10, 7}, false)); }
TEST(Calibration, Float16) { calibrate(DType::kFloat16, testing::families({7, 3}, true)); }
TEST(Calibration, BFloat16) { calibrate(DType::kBFloat16, testing::families({3}, true)); }

}  // namespace
}  // namespace kw::gym
