// Hard inputs: ordinary values of a tensor turned into those on which wrong kernels show: spikes,
// large means, equal values, sorted rows.
#pragma once
#include <array>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "task/problem.h"
#include "tensor/dtype.h"

namespace kw::gym {

// A segment is a row of the last dimension, or a part of one: none is longer than 65,536. s: the
// root mean square of the tensor's ordinary values.
enum class HardKind {
  kSpikes,         // one element in 1024 of a segment, at least one, times 1000
  kOneHot,         // zeros and one element of s
  kLargeMean,      // plus 100 s
  kScaledUp,       // times 100
  kScaledDown,     // divided by 100
  kNegative,       // -|x|
  kConstantRows,   // all elements of a segment are equal
  kSorted,         // ascending or descending; neighbouring segments may share their values
  kTies,           // four values of the segment again and again
  kSmallIntegers,  // rounded to multiples of a power of two near s / 2: sums are exact
  kIndices,        // whole numbers: a third sorted, then the ends in turn, then a few alone
};
inline constexpr std::array kAllHardKinds = {
    HardKind::kSpikes,     HardKind::kOneHot,        HardKind::kLargeMean,    HardKind::kScaledUp,
    HardKind::kScaledDown, HardKind::kNegative,      HardKind::kConstantRows, HardKind::kSorted,
    HardKind::kTies,       HardKind::kSmallIntegers, HardKind::kIndices};
std::string_view to_string(HardKind kind);  // "spikes", "one-hot", "large mean", ...

// Whether an input of this dtype and domain may have values of this kind.
bool is_possible(HardKind kind, tensor::DType dtype, task::InputDomain domain);
// Whether a few elements dominate a sum.
bool is_uneven(HardKind kind);
// Whether elements that differed become equal.
bool makes_ties(HardKind kind);

// One way to make inputs hard.
struct HardMix {
  // One kind: the whole tensor has it. Several: blocks along `axis`, each of one kind.
  std::vector<HardKind> kinds;
  std::size_t axis = 0;  // tensors of lower rank: their last
  bool operator==(const HardMix&) const = default;
};

// HardWindow: of a tensor of many elements only these are made hard, as more would take the host
// too long: [first, first + the product of shape). It has the tensor's rank.
struct HardWindow {
  std::size_t first = 0, elements = 0;
  std::vector<std::int64_t> shape;
};
inline constexpr std::size_t kMaxHardElements = std::size_t{1} << 24U;
// Takes all of a tensor, or consecutive coordinates of one axis, at one of each axis before, with
// at most that many elements. Tensors of equal shapes have equal places by the same seed.
HardWindow hard_window(std::span<const std::int64_t> shape, std::uint64_t seed);

struct HardSeeds {
  std::uint64_t blocks = 0;  // inputs of a call share it: blocks of equal shapes have equal kinds
  std::uint64_t values = 0;
};

// Turns ordinary values into hard ones. Kinds that are not possible here are left out; without any
// the values stay. The same arguments give the same bytes. out: row-major, as fill_input() made it.
void make_hard(tensor::DType dtype, std::span<const std::int64_t> shape, task::InputDomain domain,
               const HardMix& mix, HardSeeds seeds, std::span<std::byte> out);

}  // namespace kw::gym
