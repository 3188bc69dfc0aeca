// The budget's calibration: over all families, honest kernels never fail and dishonest ones are
// found.
#include <cmath>
#include <cstdlib>
#include <memory>

#include <fmt/format.h>
#include <gtest/gtest.h>

#include "base/random.h"
#include "gym/correctness/baseline.h"
#include "gym/correctness/budget.h"
#include "gym/correctness/compare.h"
#include "gym/correctness/testing/families.h"
#include "gym/inputs/fill.h"
#include "tensor/half.h"

namespace kw::gym {
namespace {

using tensor::DType;
using testing::Doubles;
using testing::Family;
using testing::Floats;
using testing::Variant;

// Gives what the oracle would give for one seed, with its memory.
class Oracle {
 public:
  Oracle(const Family& family, const testing::Inputs& inputs, DType dtype, std::uint64_t seed)
      : family_(family), dtype_(dtype) {
    for (std::size_t i = 0; i < family.shapes.size(); ++i) {
      std::vector<std::byte> bytes(static_cast<std::size_t>(elements_of(family.shapes[i])) *
                                   tensor::size_of(dtype));
      EXPECT_TRUE(fill_input(dtype, family.shapes[i], inputs.policies[i], seed * 16 + i, bytes));
      floats_.emplace_back(bytes.size() / tensor::size_of(dtype));
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
        for (double& v : x) v *= 1 + (rng.below(2) == 0 ? 1 : -1) * tensor::epsilon_of(dtype);
      }
      perturbed_.push_back(family.exact(moved));
    }
  }

  OracleRun run() const {
    OracleRun run{exact_, {dtype_, family_.output, trusted_}, {}};
    for (const Doubles& p : perturbed_) run.perturbed.emplace_back(p);
    return run;
  }
  std::vector<std::byte> output(const Variant& variant) const {
    return stored(variant.run(floats_));
  }
  InstanceBudget budget() const {
    auto made = InstanceBudget::make({dtype_, family_.output, family_.reduction_length}, run());
    EXPECT_TRUE(made) << (made ? "" : made.error().message());
    return std::move(made).value();
  }

 private:
  std::vector<std::byte> stored(const Floats& values) const {
    std::vector<std::byte> bytes(values.size() * tensor::size_of(dtype_));
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

// KW_CALIBRATION=1 prints the table; KW_CALIBRATION_SEEDS the number of seeds.
bool verbose() {
  return std::getenv("KW_CALIBRATION") != nullptr;
}
std::uint64_t seeds() {
  const char* text = std::getenv("KW_CALIBRATION_SEEDS");
  return text == nullptr ? 3 : std::strtoull(text, nullptr, 10);
}

// Calibrates one family on one set of input distributions.
class Calibration {
 public:
  Calibration(const Family& family, const testing::Inputs& inputs, DType dtype)
      : family_(family), inputs_(inputs), dtype_(dtype) {
    for (std::uint64_t seed = 1; seed <= seeds(); ++seed) {
      oracles_.push_back(std::make_unique<Oracle>(family, inputs, dtype, seed));
      budgets_.push_back(oracles_.back()->budget());
    }
    fresh_ = std::make_unique<Oracle>(family, inputs, dtype, 1000);
    learned_ = learn_baseline(budgets_).value();
  }

  void expect_honest(const Variant& variant) const {
    double worst = 0, bias = 0, tile = 0;
    for (std::size_t s = 0; s < oracles_.size(); ++s) {
      CheckReport report = against_oracle(variant, s);
      worst = std::max(worst, report.max_of_budget);
      bias = std::max(bias, std::abs(report.bias));
      tile = std::max(tile, report.worst_tile);
      EXPECT_TRUE(report.passed) << name(variant) << " fails with seed " << s + 1;
    }
    CheckReport timed = against_baseline(variant);
    EXPECT_TRUE(timed.passed) << name(variant)
                              << " fails against the baseline: " << timed.max_of_budget << ", "
                              << timed.wrong << " of " << timed.elements;
    if (verbose()) {
      fmt::print(
          "{:6.3f} of budget, bias {:.3f}, tile {:.3f}, against baseline {:.3f} | {}, {} terms\n",
          worst, bias, tile, timed.max_of_budget, name(variant), budgets_[0].terms());
    }
  }

  // In how many of the seeds the oracle's check finds it; timed: whether the baseline's does.
  std::uint64_t found(const Variant& variant, bool& timed) const {
    std::uint64_t count = 0;
    for (std::size_t s = 0; s < oracles_.size(); ++s)
      count += against_oracle(variant, s).passed ? 0 : 1;
    timed = !against_baseline(variant).passed;
    return count;
  }

 private:
  std::string name(const Variant& variant) const {
    return fmt::format("{} {}, {}, {}", tensor::to_string(dtype_), family_.name, inputs_.name,
                       variant.name);
  }
  CheckReport against_oracle(const Variant& variant, std::size_t s) const {
    std::vector<std::byte> bytes = oracles_[s]->output(variant);
    return check_against_oracle({dtype_, family_.output, bytes}, budgets_[s]);
  }
  CheckReport against_baseline(const Variant& variant) const {
    std::vector<std::byte> ours = fresh_->output(variant);
    return check_against_baseline({dtype_, family_.output, ours}, fresh_->run().trusted, learned_);
  }

  const Family& family_;
  const testing::Inputs& inputs_;
  DType dtype_;
  std::vector<std::unique_ptr<Oracle>> oracles_;
  std::vector<InstanceBudget> budgets_;
  std::unique_ptr<Oracle> fresh_;
  BaselineCoefficients learned_;
};

void calibrate(DType dtype, const std::vector<Family>& families) {
  for (const Family& family : families) {
    std::vector<std::string> rows(family.dishonest.size());
    std::vector<bool> always(family.dishonest.size(), false);
    for (const testing::Inputs& inputs : family.inputs) {
      Calibration calibration(family, inputs, dtype);
      calibration.expect_honest({"trusted", family.trusted});
      for (const Variant& variant : family.honest) calibration.expect_honest(variant);
      for (std::size_t v = 0; v < family.dishonest.size(); ++v) {
        bool timed = false;
        std::uint64_t found = calibration.found(family.dishonest[v], timed);
        // A scalar gives one chance a call; calls are many.
        if (found == seeds() || (family.output.empty() && found > 0)) always[v] = true;
        rows[v] += fmt::format(" {} {}/{}{}", inputs.name, found, seeds(), timed ? "+" : "-");
      }
    }
    for (std::size_t v = 0; v < rows.size(); ++v) {
      EXPECT_TRUE(always[v]) << tensor::to_string(dtype) << " " << family.name << ": "
                             << family.dishonest[v].name << " found only:" << rows[v];
      if (verbose())
        fmt::print("found{} | {} {}, {}\n", rows[v], tensor::to_string(dtype), family.name,
                   family.dishonest[v].name);
    }
  }
}

TEST(Calibration, Float32) {
  calibrate(DType::kFloat32, testing::families({10, 7}, false));
}
TEST(Calibration, Float16) {
  calibrate(DType::kFloat16, testing::families({7, 3}, true));
}
TEST(Calibration, BFloat16) {
  calibrate(DType::kBFloat16, testing::families({3}, true));
}

}  // namespace
}  // namespace kw::gym
