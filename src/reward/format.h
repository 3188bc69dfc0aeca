// The three-level format reward of GRPO on KernelBook (insop/kernel-coder), with its rules for what
// counts as reasoning and as code.
#pragma once
#include <optional>
#include <string>
#include <string_view>

namespace kw::reward {

struct Format {
  double reward = 0;                // 0, 0.5 or 1
  std::optional<std::string> code;  // none: no closed section of reasoning, or no closed block
};

// Of a completion that goes on from an opened "<think>", so that the text scored is "<think>" +
// completion; one end_of_text at its end is dropped first. "<think>", a span without "<think>" or
// "</think>", "</think>", and the tail. Code is what stands between the first two triple backticks
// of the tail, stripped, a leading "python" taken off (that exact prefix, no other tag), stripped.
// 1: non-blank reasoning and non-empty code; 0.5: non-blank reasoning; 0: otherwise. Code is given
// whatever the reward. <answer> tags play no part.
Format format_reward(std::string_view completion, std::string_view end_of_text = {});

// format_reward + similarity_reward of its code to the oracle: in [0, 2].
double format_and_similarity_reward(std::string_view completion, std::string_view oracle,
                                    std::string_view end_of_text = {});

}  // namespace kw::reward
