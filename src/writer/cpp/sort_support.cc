#include "writer/cpp/sort_support.h"

namespace kw::writer {
namespace {

constexpr std::string_view kKeys = R"text(
// Its unsigned order is that of the values, NaN the greatest.
template <typename T>
inline uint32_t kw_sort_key(T value) {
  if constexpr (std::is_floating_point_v<T>) {
    const uint32_t bits = std::bit_cast<uint32_t>(static_cast<float>(value) + 0.0f);
    return value != value ? 0xffffffffu : bits ^ (static_cast<uint32_t>(static_cast<int32_t>(bits) >> 31) | 0x80000000u);
  } else {
    return static_cast<uint32_t>(static_cast<int32_t>(value)) ^ 0x80000000u;
  }
}

// keys[i] of count values; the least of them.
template <typename T, typename Element>
inline uint32_t kw_block_keys(const Element* values, std::size_t count, uint32_t flip, uint32_t* keys) {
  uint32_t least = 0xffffffffu;
#pragma omp simd reduction(min:least)
  for (std::size_t i = 0; i < count; ++i) {
    const uint32_t key = kw_sort_key<T>(static_cast<T>(values[i])) ^ flip;
    keys[i] = key;
    least = key < least ? key : least;
  }
  return least;
}

// The `kept` smallest of keys ^ flip in order, each above its place; out: no more. What is behind
// the last of those found so far is passed over, a block at a time.
template <typename T, typename Element>
inline void kw_first_keys(const Element* values, std::size_t size, std::size_t kept, uint32_t flip, std::vector<uint64_t>& out) {
  out.clear();
  if (kept == 0) return;
  constexpr std::size_t block = 32;
  uint32_t last = 0xffffffffu, keys[block];
  const auto keep_first = [&] {
    std::nth_element(out.begin(), out.begin() + static_cast<std::ptrdiff_t>(kept) - 1, out.end());
    out.resize(kept);
    last = static_cast<uint32_t>(out.back() >> 32);
  };
  for (std::size_t first = 0; first < size; first += block) {
    const std::size_t here = std::min(block, size - first);
    const uint32_t least = here == block ? kw_block_keys<T>(values + first, block, flip, keys) : kw_block_keys<T>(values + first, here, flip, keys);
    if (least >= last && out.size() >= kept) continue;
    for (std::size_t i = 0; i < here; ++i) {
      if (keys[i] < last || out.size() < kept) out.push_back(static_cast<uint64_t>(keys[i]) << 32 | (first + i));
    }
    if (out.size() >= 2 * kept + block / 2) keep_first();
  }
  if (out.size() > kept) keep_first();
  std::sort(out.begin(), out.end());
}

// The first `kept` of out are the smallest (largest) of values in order, equal ones as they were: a
// value's key above its place.
template <typename T, typename Element>
inline void kw_sort_keys(const Element* values, int64_t count, int64_t kept, bool descending, std::vector<uint64_t>& out) {
  const auto size = static_cast<std::size_t>(count);
  const uint32_t flip = descending ? 0xffffffffu : 0;
  if (kept * 8 <= count) return kw_first_keys<T>(values, size, static_cast<std::size_t>(kept), flip, out);
  out.resize(size);
  for (std::size_t i = 0; i < size; ++i)
    out[i] = static_cast<uint64_t>(kw_sort_key<T>(static_cast<T>(values[i])) ^ flip) << 32 | i;
  if (size < 256) return std::sort(out.begin(), out.end());
  // By the lowest 11 bits of the key, then the next ones: each pass keeps the order of the last.
  static std::vector<uint64_t> other;
  other.resize(size);
  uint32_t places[3][2048] = {};
  for (uint64_t one : out) {
    ++places[0][one >> 32 & 2047];
    ++places[1][one >> 43 & 2047];
    ++places[2][one >> 54 & 2047];
  }
  for (int pass = 0; pass < 3; ++pass) {
    uint32_t next = 0;
    for (uint32_t& place : places[pass]) next += std::exchange(place, next);
    for (uint64_t one : out) other[places[pass][one >> (32 + 11 * pass) & 2047]++] = one;
    out.swap(other);
  }
}
)text";

constexpr std::string_view kValues = R"text(
// The first `kept` of out are the places of the smallest (largest) of values in order, equal ones
// as they were. NaN is the greatest.
template <typename T, typename Element>
inline void kw_sort_values(const Element* values, int64_t count, int64_t kept, bool descending, std::vector<int64_t>& out) {
  out.resize(static_cast<std::size_t>(count));
  for (int64_t i = 0; i < count; ++i) out[static_cast<std::size_t>(i)] = i;
  const auto less = [](T a, T b) {
    if constexpr (std::is_floating_point_v<T>) return a < b || (b != b && a == a);
    return a < b;
  };
  const auto before = [&](int64_t i, int64_t j) {
    const T a = static_cast<T>(values[i]), b = static_cast<T>(values[j]);
    if (descending ? less(b, a) : less(a, b)) return true;
    return !(descending ? less(a, b) : less(b, a)) && i < j;
  };
  std::partial_sort(out.begin(), out.begin() + kept, out.end(), before);
}
)text";

}  // namespace

std::string_view sort_support(std::string_view function) {
  return function == "kw_sort_keys" ? kKeys : kValues;
}

}  // namespace kw::writer
