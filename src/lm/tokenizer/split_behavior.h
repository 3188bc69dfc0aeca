// What becomes of the matches of a pre-tokenizer's pattern, as HF `tokenizers` has it.
#pragma once
#include <cstddef>
#include <optional>
#include <string_view>
#include <vector>

namespace kw::lm {

enum class SplitBehavior { kIsolated, kRemoved, kMergedWithPrevious, kMergedWithNext, kContiguous };
std::optional<SplitBehavior> split_behavior_of(std::string_view name);  // "MergedWithNext"

// A part of a text, which is a match of the pattern or what lies between two.
struct TextSpan {
  std::size_t begin = 0, end = 0;
  bool match = false;
  bool operator==(const TextSpan&) const = default;
};

// spans cover a text in order. The pieces that the behaviour makes of them, in order.
std::vector<TextSpan> split_spans(SplitBehavior behavior, const std::vector<TextSpan>& spans);

// Spans of single digits, and of what lies between them. UTF-8.
std::vector<TextSpan> digit_spans(std::string_view text);
// Spans of each occurrence of a string, which is not empty.
std::vector<TextSpan> literal_spans(std::string_view text, std::string_view literal);

}  // namespace kw::lm
