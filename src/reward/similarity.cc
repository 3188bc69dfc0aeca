// Theory of operation. difflib's recursion visits one matching block at a time and can be as deep
// as the texts are long. Here a *range* (one part of a against one part of b) is handled at once
// for all its blocks of the longest length L: after the earliest block, no block of length L is
// left of it (it would be earlier in a), so one scan from left to right, each time taking the first
// place in a whose L symbols occur in what is left of b, finds the blocks that the recursion finds.
// The gaps between them are ranges whose longest blocks are shorter than L. Lengths thus fall along
// every chain of nested ranges, and the blocks of a chain lie side by side in both texts, so there
// are at most sqrt(2 min(|a|, |b|)) generations of ranges, each linear in the texts.
//
// A range carries the suffixes that start in it, in lexicographic order with common prefixes, taken
// out of the suffix array of a, a separator and b. That there is a block of length L is seen in one
// pass (a run of suffixes with common prefixes of L or more has one of a and one of b that have
// room for L in their part), and holds for all shorter lengths too: L is found by bisection.
#include "reward/similarity.h"

#include <algorithm>
#include <vector>

#include "base/check.h"
#include "reward/code_points.h"
#include "reward/suffix_order.h"

namespace kw::reward {
namespace {

using Index = std::uint32_t;
constexpr Index kNone = ~Index{0};

struct Suffix {
  Index at;
  Index lcp;  // with the suffix before it in the range
};

// [a_begin, a_end) against [b_begin, b_end), places in the joined text.
struct Range {
  Index a_begin, a_end, b_begin, b_end;
  std::size_t first;  // of its a_size() + b_size() suffixes
  Index bound;        // its blocks are not longer

  Index a_size() const { return a_end - a_begin; }
  Index b_size() const { return b_end - b_begin; }
  std::size_t size() const { return std::size_t{a_size()} + b_size(); }
};

// The smallest common prefix since an earlier suffix of the list, in O(log) of the distinct minima.
class RunningMinimum {
 public:
  void clear() { steps_.clear(); }
  void push(Index index, Index value) {
    while (!steps_.empty() && steps_.back().value >= value) steps_.pop_back();
    steps_.push_back({index, value});
  }
  Index since(Index after) const {
    auto step = std::upper_bound(steps_.begin(), steps_.end(), after,
                                 [](Index at, const Step& s) { return at < s.index; });
    return step->value;
  }

 private:
  struct Step {
    Index index, value;
  };
  std::vector<Step> steps_;  // values ascend
};

class Matcher {
 public:
  Matcher(std::span<const Index> a, std::span<const Index> b)
      : a_size_(static_cast<Index>(a.size())), group_(a.size() + b.size() + 1) {
    std::vector<Index> joined(a.begin(), a.end());
    joined.push_back(kNone);  // no code point
    joined.insert(joined.end(), b.begin(), b.end());
    SuffixOrder order = suffix_order(joined);
    auto size = static_cast<Index>(joined.size());
    suffixes_.reserve(size);
    // The separator is the largest symbol: its suffix comes last.
    for (std::size_t i = 0; i + 1 < size; ++i)
      suffixes_.push_back({order.position[i], order.lcp[i]});
    next_suffixes_.resize(suffixes_.size());
    next_.resize(size);
    child_.resize(size);
    ranges_.push_back({0, a_size_, a_size_ + 1, size, 0, size});
  }

  std::uint64_t run() {
    while (!ranges_.empty()) {
      next_ranges_.clear();
      filled_ = 0;
      for (const Range& range : ranges_) visit(range);
      ranges_.swap(next_ranges_);
      suffixes_.swap(next_suffixes_);
    }
    return matched_;
  }

 private:
  std::span<const Suffix> of(const Range& range) const {
    return std::span(suffixes_).subspan(range.first, range.size());
  }
  bool in_a(Index at) const { return at < a_size_; }
  Index room(const Range& range, Index at) const {
    return (in_a(at) ? range.a_end : range.b_end) - at;
  }

  void visit(const Range& range) {
    Index length = longest_block(range);
    if (length == 0) return;
    group_by_prefix(range, length);
    std::size_t first_child = next_ranges_.size();
    scan(range, length);
    if (next_ranges_.size() > first_child) hand_down(range, first_child);
  }

  bool has_block(const Range& range, Index length) const {
    bool a = false, b = false;
    for (const Suffix& suffix : of(range)) {
      if (suffix.lcp < length) a = b = false;
      if (room(range, suffix.at) < length) continue;
      (in_a(suffix.at) ? a : b) = true;
      if (a && b) return true;
    }
    return false;
  }

  Index longest_block(const Range& range) const {
    Index low = 0, high = 0;  // there is a block of length low, and none longer than high
    std::span<const Suffix> suffixes = of(range);
    for (std::size_t i = 1; i < suffixes.size(); ++i) {
      if (in_a(suffixes[i].at) == in_a(suffixes[i - 1].at)) continue;
      Index common = suffixes[i].lcp;
      high = std::max(high, common);
      low = std::max(
          low, std::min({common, room(range, suffixes[i].at), room(range, suffixes[i - 1].at)}));
    }
    high = std::min({high, range.bound, range.a_size(), range.b_size()});
    while (low < high) {
      Index middle = low + (high - low + 1) / 2;
      if (has_block(range, middle)) {
        low = middle;
      } else {
        high = middle - 1;
      }
    }
    return low;
  }

  // Numbers the substrings of the length, and lists for each its places in b, ascending.
  void group_by_prefix(const Range& range, Index length) {
    Index groups = 0;
    for (const Suffix& suffix : of(range)) {
      if (suffix.lcp < length) ++groups;
      group_[suffix.at] = groups;
    }
    head_.assign(groups + 1, kNone);
    for (Index at = range.b_end - length + 1; at-- > range.b_begin;) {
      next_[at] = head_[group_[at]];
      head_[group_[at]] = at;
    }
  }

  void scan(const Range& range, Index length) {
    Index a_begin = range.a_begin, b_begin = range.b_begin;
    for (Index at = a_begin; at + length <= range.a_end;) {
      Index& place = head_[group_[at]];
      while (place != kNone && place < b_begin) place = next_[place];
      if (place == kNone) {
        ++at;
        continue;
      }
      matched_ += length;
      Index b_end = place;
      add_child({a_begin, at, b_begin, b_end, 0, length - 1});
      at += length;
      a_begin = at;
      b_begin = b_end + length;
    }
    add_child({a_begin, range.a_end, b_begin, range.b_end, 0, length - 1});
  }

  void add_child(Range range) {
    if (range.bound == 0 || range.a_size() == 0 || range.b_size() == 0) return;
    range.first = filled_;
    filled_ += range.size();
    next_ranges_.push_back(range);
  }

  // Deals the range's suffixes out to its children, in order.
  void hand_down(const Range& range, std::size_t first_child) {
    std::fill(child_.begin() + range.a_begin, child_.begin() + range.a_end, kNone);
    std::fill(child_.begin() + range.b_begin, child_.begin() + range.b_end, kNone);
    children_.clear();
    for (std::size_t i = first_child; i < next_ranges_.size(); ++i) {
      const Range& child = next_ranges_[i];
      auto number = static_cast<Index>(children_.size());
      std::fill(child_.begin() + child.a_begin, child_.begin() + child.a_end, number);
      std::fill(child_.begin() + child.b_begin, child_.begin() + child.b_end, number);
      children_.push_back({child.first, kNone});
    }
    minimum_.clear();
    std::span<const Suffix> suffixes = of(range);
    for (Index i = 0; i < suffixes.size(); ++i) {
      minimum_.push(i, suffixes[i].lcp);
      Index number = child_[suffixes[i].at];
      if (number == kNone) continue;
      Child& child = children_[number];
      Index lcp = child.last == kNone ? 0 : minimum_.since(child.last);
      next_suffixes_[child.next++] = {suffixes[i].at, lcp};
      child.last = i;
    }
  }

  struct Child {
    std::size_t next;  // place of its next suffix
    Index last;        // the range's suffix that it got last
  };

  Index a_size_;
  std::uint64_t matched_ = 0;
  std::vector<Suffix> suffixes_, next_suffixes_;  // of this generation and of the next
  std::vector<Range> ranges_, next_ranges_;
  std::size_t filled_ = 0;                   // of next_suffixes_
  std::vector<Index> group_, next_, child_;  // by place in the joined text
  std::vector<Index> head_;                  // by group: its first place in b
  std::vector<Child> children_;
  RunningMinimum minimum_;
};

}  // namespace

std::uint64_t matching_symbols(std::span<const std::uint32_t> a, std::span<const std::uint32_t> b) {
  if (a.empty() || b.empty()) return 0;
  KW_CHECK(a.size() + b.size() < (std::size_t{1} << 31U));
  return Matcher(a, b).run();
}

double similarity_ratio(std::string_view a, std::string_view b) {
  std::vector<std::uint32_t> first = code_points(a), second = code_points(b);
  std::size_t length = first.size() + second.size();
  if (length == 0) return 1;
  return 2.0 * static_cast<double>(matching_symbols(first, second)) / static_cast<double>(length);
}

double similarity_reward(std::string_view prediction, std::string_view oracle) {
  return prediction.empty() || oracle.empty() ? 0 : similarity_ratio(prediction, oracle);
}

}  // namespace kw::reward
