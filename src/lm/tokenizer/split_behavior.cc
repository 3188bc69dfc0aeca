// The folds of HF's NormalizedString::split.
#include "lm/tokenizer/split_behavior.h"

#include <algorithm>

#include "lm/tokenizer/unicode.h"

namespace kw::lm {
namespace {

// A span joins the one before it where `joins(is it a match, was the one before)` holds.
template <typename Iterator, typename Joins>
std::vector<TextSpan> fold(Iterator begin, const Iterator& end, Joins joins) {
  std::vector<TextSpan> out;
  bool before = false;
  for (; begin != end; ++begin) {
    if (!out.empty() && joins(begin->match, before)) {
      out.back().begin = std::min(out.back().begin, begin->begin);
      out.back().end = std::max(out.back().end, begin->end);
    } else {
      out.push_back(*begin);
    }
    before = begin->match;
  }
  return out;
}

}  // namespace

std::optional<SplitBehavior> split_behavior_of(std::string_view name) {
  if (name == "Isolated") return SplitBehavior::kIsolated;
  if (name == "Removed") return SplitBehavior::kRemoved;
  if (name == "MergedWithPrevious") return SplitBehavior::kMergedWithPrevious;
  if (name == "MergedWithNext") return SplitBehavior::kMergedWithNext;
  if (name == "Contiguous") return SplitBehavior::kContiguous;
  return std::nullopt;
}

std::vector<TextSpan> split_spans(SplitBehavior behavior, const std::vector<TextSpan>& spans) {
  auto behind_other = [](bool match, bool before) { return match && !before; };
  std::vector<TextSpan> out;
  switch (behavior) {
    case SplitBehavior::kIsolated:
      return spans;
    case SplitBehavior::kRemoved:
      std::copy_if(spans.begin(), spans.end(), std::back_inserter(out),
                   [](const TextSpan& span) { return !span.match; });
      return out;
    case SplitBehavior::kMergedWithPrevious:
      return fold(spans.begin(), spans.end(), behind_other);
    case SplitBehavior::kMergedWithNext:
      out = fold(spans.rbegin(), spans.rend(), behind_other);
      std::reverse(out.begin(), out.end());
      return out;
    case SplitBehavior::kContiguous:
      return fold(spans.begin(), spans.end(),
                  [](bool match, bool before) { return match == before; });
  }
  return spans;
}

std::vector<TextSpan> digit_spans(std::string_view text) {
  std::vector<TextSpan> out;
  std::size_t done = 0;
  for (std::size_t at = 0; at < text.size();) {
    Utf8Character c = read_utf8(text.substr(at));
    if ((class_of(c.code) & kNumber) != 0) {
      if (done < at) out.push_back({done, at, false});
      done = at + c.length;
      out.push_back({at, done, true});
    }
    at += c.length;
  }
  if (done < text.size()) out.push_back({done, text.size(), false});
  return out;
}

std::vector<TextSpan> literal_spans(std::string_view text, std::string_view literal) {
  std::vector<TextSpan> out;
  std::size_t done = 0;
  for (std::size_t at = text.find(literal); at != std::string_view::npos;
       at = text.find(literal, done)) {
    if (done < at) out.push_back({done, at, false});
    done = at + literal.size();
    out.push_back({at, done, true});
  }
  if (done < text.size()) out.push_back({done, text.size(), false});
  return out;
}

}  // namespace kw::lm
