// Python's difflib.SequenceMatcher(None, a, b, autojunk=False).ratio(), to the bit.
#pragma once
#include <cstdint>
#include <span>
#include <string_view>

namespace kw::reward {

// M: symbols in matching blocks. The longest common substring (ties: earliest in a, then earliest
// in b), and the same again to its left and to its right. Not symmetric. Time O((|a| + |b|)
// sqrt(min(|a|, |b|)) log) in the worst case, memory O(|a| + |b|); |a| + |b| under 2^31.
std::uint64_t matching_symbols(std::span<const std::uint32_t> a, std::span<const std::uint32_t> b);

// 2 M / (|a| + |b|) over code points (code_points.h says what invalid UTF-8 becomes); 1 for two
// empty texts.
double similarity_ratio(std::string_view a, std::string_view b);

// The similarity reward of GRPO on KernelBook (insop/kernel-coder): the ratio with the prediction
// first, 0 when either side is empty.
double similarity_reward(std::string_view prediction, std::string_view oracle);

}  // namespace kw::reward
