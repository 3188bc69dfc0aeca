// Tests of the mismatch classes: each defect gets its name and no other.
#include "gym/correctness/mismatch.h"

#include <algorithm>
#include <limits>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "gym/inputs/stream.h"

namespace kw::gym {
namespace {

using ::testing::Contains;
using ::testing::ElementsAre;
using Shape = std::vector<std::int64_t>;

struct Case {
  Shape shape = {64, 96};
  std::vector<float> expected = std::vector<float>(std::size_t{64} * 96);
  std::vector<float> candidate;
  Case() {
    Stream(3).normal(expected);
    candidate = expected;
  }
  TensorView view(const std::vector<float>& x) const {
    return {tensor::DType::kFloat32, shape, std::as_bytes(std::span(x))};
  }
  Mismatch describe(std::size_t unwritten = 0) const {
    CheckReport report;
    report.elements = expected.size();
    report.passed = false;
    for (std::size_t i = 0; i < expected.size(); ++i) {
      if (candidate[i] != candidate[i]) report.nan += 1;
      if (!(std::abs(candidate[i] - expected[i]) <= 1e-5F)) report.wrong += 1;
    }
    return describe_mismatch(view(candidate), view(expected), report, unwritten);
  }
};

TEST(Mismatch, Zeros) {
  Case c;
  std::ranges::fill(c.candidate, 0.0F);
  EXPECT_THAT(c.describe().kinds, ElementsAre(MismatchKind::kConstant, MismatchKind::kZeros));
  EXPECT_EQ(c.describe().share, "all");
  c = Case();
  for (std::size_t i = 0; i < c.candidate.size(); i += 7) c.candidate[i] = 0;
  EXPECT_THAT(c.describe().kinds, ElementsAre(MismatchKind::kZeros));
  EXPECT_EQ(c.describe().share, "many");
}

TEST(Mismatch, ConstantAndScaled) {
  Case c;
  std::ranges::fill(c.candidate, 0.25F);
  EXPECT_THAT(c.describe().kinds, ElementsAre(MismatchKind::kConstant));
  c = Case();
  for (float& v : c.candidate) v *= 1.5F;
  EXPECT_THAT(c.describe().kinds, ElementsAre(MismatchKind::kScaled));
}

TEST(Mismatch, Transposed) {
  Case c;
  for (std::size_t i = 0; i < 64; ++i) {
    for (std::size_t j = 0; j < 96; ++j) c.candidate[j * 64 + i] = c.expected[i * 96 + j];
  }
  EXPECT_THAT(c.describe().kinds, ElementsAre(MismatchKind::kTransposed));
}

TEST(Mismatch, Shifted) {
  for (std::ptrdiff_t by : {1, 96, 64 * 96 - 1}) {
    Case c;
    std::rotate(c.candidate.begin(), c.candidate.begin() + by, c.candidate.end());
    EXPECT_THAT(c.describe().kinds, ElementsAre(MismatchKind::kShifted)) << by;
  }
}

TEST(Mismatch, TailNanUnwrittenAndRounding) {
  Case c;
  for (std::size_t i = 64 * 96 - 300; i < c.candidate.size(); ++i) c.candidate[i] += 5;
  EXPECT_THAT(c.describe().kinds, ElementsAre(MismatchKind::kTail));
  c.candidate.back() = std::numeric_limits<float>::quiet_NaN();
  EXPECT_THAT(c.describe(300).kinds,
              ElementsAre(MismatchKind::kUnwritten, MismatchKind::kNan, MismatchKind::kTail));
  c = Case();
  for (float& v : c.candidate) v *= 1.001F;
  EXPECT_THAT(c.describe().kinds, ElementsAre(MismatchKind::kRounding));
}

TEST(Mismatch, NothingIsSaidOfWhatHasNoPattern) {
  Case c;
  Stream(4).normal(c.candidate);
  EXPECT_TRUE(c.describe().kinds.empty());
  EXPECT_EQ(c.describe().text, "all elements are wrong");
}

TEST(Mismatch, TextHoldsNoNumbers) {
  Case c;
  std::ranges::fill(c.candidate, 0.25F);
  for (char digit = '0'; digit <= '9'; ++digit)
    EXPECT_EQ(c.describe(5).text.find(digit), std::string::npos);
}

}  // namespace
}  // namespace kw::gym
