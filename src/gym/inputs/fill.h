// Input tensors from a policy's distribution and a secret seed.
#pragma once
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>

#include "base/result.h"
#include "task/problem.h"
#include "tensor/dtype.h"

namespace kw::gym {

// Whether fill_input can make this distribution for a tensor of this dtype and shape;
// kInvalidArgument says why not. Defaults of low and high where the policy leaves them open: normal
// 0, 1; uniform 0, 1 (integers: none); integers -4, 4 as far as the dtype goes; spikes high 1e4;
// one_hot high 1; wide_range -10, 10; constant low 0.
Status check_distribution(tensor::DType dtype, std::span<const std::int64_t> shape,
                          const task::InputPolicy& policy);

// Fills out (size: elements x size_of(dtype)). The same arguments give the same bytes. Values:
// - default: floats normal (8-bit and narrower clamped to +-2), integers uniform in [-1024, 1024)
// as far as the dtype goes, booleans
//   fair: FlashInfer-Bench's generator. normal: integers are rounded.
// - uniform: never below low and never high itself, whatever the dtype's rounding.
// - integers, permutation: refused where the dtype cannot represent them all.
// - spikes: one element of each 1024 in a row-major walk, at a secret place. Rows are runs of the
// last dimension. Floating values are clamped to the dtype's finite range. float64 values use all
// 53 bits, so that a float32 copy differs.
Status fill_input(tensor::DType dtype, std::span<const std::int64_t> shape,
                  const task::InputPolicy& policy, std::uint64_t seed, std::span<std::byte> out);

// Elements of a tensor that are drawn from a seed of their own, piece after piece; whole rows where
// the distribution knows rows.
inline constexpr std::size_t kFilledPiece = std::size_t{1} << 19U;
constexpr std::uint64_t seed_of_piece(std::uint64_t seed, std::size_t piece) {
  return seed + piece * 0x9e3779b97f4a7c15ULL;
}

// The work of fill_input(), in numbers: for implementations elsewhere that give the same bytes.
struct DrawRecipe {
  enum class Kind { kNormal, kUniform, kWhole };
  Kind kind = Kind::kNormal;
  float mean = 0, deviation = 1;  // kNormal
  float spike = 0;                // kNormal: what one number of each 1024 is multiplied by; 0: none
  float low = 0, width = 1;       // kUniform: low + width x for x in [0, 1),
  float least = 0, most = 1;      // clamped to these
  std::int64_t least_whole = 0;   // kWhole
  std::uint64_t whole_count = 0;  // how many numbers there are from there on; 0: 2^64
};
// nullopt: no recipe; only fill_input() draws it. The distribution has passed check_distribution().
std::optional<DrawRecipe> recipe_of(tensor::DType dtype, const task::InputPolicy& policy);

}  // namespace kw::gym
