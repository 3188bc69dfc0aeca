// The kernels' text, run on the processor, gives the host's bytes.
#include "gym/cuda/device_draws.h"

#include <algorithm>
#include <vector>

#include <gtest/gtest.h>

#include "gym/cuda/testing/emulated_kernels.h"
#include "gym/inputs/poison.h"

namespace kw::gym {
namespace {

using task::Distribution;
using tensor::DType;

// As memory of a GPU is: aligned for any element.
struct Buffer {
  explicit Buffer(std::size_t bytes) : words(bytes / 8 + 1) {}
  std::span<std::byte> bytes(std::size_t n) {
    return std::as_writable_bytes(std::span(words)).first(n);
  }
  std::uint64_t address() const { return reinterpret_cast<std::uint64_t>(words.data()); }
  std::vector<std::uint64_t> words;
};

struct Case {
  DType dtype;
  task::InputPolicy policy;
};

task::InputPolicy policy_of(Distribution distribution, std::optional<double> low = {},
                            std::optional<double> high = {}) {
  task::InputPolicy policy;
  policy.distribution = distribution;
  policy.low = low;
  policy.high = high;
  return policy;
}

std::vector<Case> cases() {
  std::vector<Case> out;
  for (DType dtype : {DType::kFloat32, DType::kFloat16, DType::kBFloat16}) {
    out.push_back({dtype, policy_of(Distribution::kDefault)});
    out.push_back({dtype, policy_of(Distribution::kNormal, 3, 0.5)});
    out.push_back({dtype, policy_of(Distribution::kNormal, 0, 4e4)});
    out.push_back({dtype, policy_of(Distribution::kSpikes)});
    out.push_back({dtype, policy_of(Distribution::kUniform, -2, 0.3)});
    out.push_back({dtype, policy_of(Distribution::kIntegers)});
  }
  for (DType dtype :
       {DType::kInt64, DType::kInt32, DType::kInt16, DType::kInt8, DType::kUInt8, DType::kBool})
    out.push_back({dtype, policy_of(Distribution::kDefault)});
  out.push_back({DType::kInt64, policy_of(Distribution::kUniform, -0x1p62, 0x1p61)});
  out.push_back({DType::kFloat64, policy_of(Distribution::kIntegers)});
  return out;
}

// "" or what differs.
std::string difference(const Case& one, std::size_t elements, std::uint64_t seed) {
  const std::vector<std::int64_t> shape = {static_cast<std::int64_t>(elements)};
  const std::size_t bytes = elements * tensor::size_of(one.dtype);
  Buffer ours(bytes), theirs(bytes);
  const auto recipe = recipe_of(one.dtype, one.policy);
  if (!recipe) return "no recipe";
  if (!fill_input(one.dtype, shape, one.policy, seed, theirs.bytes(bytes))) return "refused";
  if (!draw_on_device(testing::emulated_kernels(), ours.address(), {one.dtype, shape, one.policy},
                      *recipe, seed))
    return "the kernel failed";
  const auto a = ours.bytes(bytes), b = theirs.bytes(bytes);
  const auto differs = std::ranges::mismatch(a, b);
  if (differs.in1 == a.end()) return "";
  return fmt::format("{}, distribution {}, {} elements: byte {} differs",
                     tensor::to_string(one.dtype), static_cast<int>(one.policy.distribution),
                     elements, differs.in1 - a.begin());
}

TEST(DeviceDraws, GiveTheHostsBytes) {
  std::uint64_t seed = 7;
  for (const Case& one : cases())
    for (std::size_t elements : {1UL, 127UL, 1025UL, 4096UL * 3 + 5})
      EXPECT_EQ(difference(one, elements, ++seed), "");
}

TEST(DeviceDraws, GiveTheHostsBytesWhereAMixerDraws) {
  std::uint64_t seed = 70;
  for (const Case& one : cases()) {
    if (one.policy.distribution == Distribution::kIntegers || !tensor::is_floating(one.dtype))
      continue;
    EXPECT_EQ(difference(one, 65536 + 1030, ++seed), "");
  }
}

TEST(DeviceDraws, EachPieceHasASeedOfItsOwn) {
  const Case normal = {DType::kFloat32, {}};
  EXPECT_EQ(difference(normal, kFilledPiece + 3000, 1), "");
  EXPECT_EQ(difference(normal, kFilledPiece + 70000, 2), "");
  EXPECT_EQ(difference({DType::kBool, {}}, 2 * kFilledPiece + 5, 3), "");
}

TEST(DeviceDraws, RareDistributionsHaveNoRecipe) {
  for (Distribution rare : {Distribution::kOneHot, Distribution::kWideRange,
                            Distribution::kProbabilities, Distribution::kPermutation})
    EXPECT_FALSE(recipe_of(DType::kFloat32, policy_of(rare)));
  EXPECT_FALSE(recipe_of(DType::kFloat64, {}));
  EXPECT_FALSE(recipe_of(DType::kFloat8E5M2, {}));
}

TEST(DevicePoison, IsTheHosts) {
  std::uint64_t seed = 3;
  for (DType dtype : {DType::kFloat64, DType::kFloat32, DType::kFloat16, DType::kBFloat16,
                      DType::kFloat8E4M3Fn, DType::kFloat8E5M2, DType::kFloat4E2M1, DType::kInt64,
                      DType::kInt32, DType::kInt8, DType::kBool}) {
    for (std::size_t elements : {1UL, 9UL, 4100UL, 70001UL}) {
      const std::size_t bytes = elements * tensor::size_of(dtype);
      Buffer ours(bytes), theirs(bytes);
      poison(dtype, ++seed, theirs.bytes(bytes));
      ASSERT_TRUE(
          poison_on_device(testing::emulated_kernels(), ours.address(), bytes, dtype, seed));
      EXPECT_TRUE(std::ranges::equal(ours.bytes(bytes), theirs.bytes(bytes)))
          << tensor::to_string(dtype) << ", " << elements;
    }
  }
}

TEST(DevicePoison, EachPieceHasASeedOfItsOwn) {
  const std::size_t bytes = 2 * kPoisonedPiece + 4100UL * 4;
  Buffer ours(bytes), theirs(bytes);
  poison(DType::kFloat32, 9, theirs.bytes(bytes));
  ASSERT_TRUE(
      poison_on_device(testing::emulated_kernels(), ours.address(), bytes, DType::kFloat32, 9));
  EXPECT_TRUE(std::ranges::equal(ours.bytes(bytes), theirs.bytes(bytes)));
}

}  // namespace
}  // namespace kw::gym
