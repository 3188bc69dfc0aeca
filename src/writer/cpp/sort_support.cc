#include "writer/cpp/sort_support.h"

namespace kw::writer {
namespace {

constexpr std::string_view kKeys = R"text(
// The first `kept` of out are the smallest (largest) of values in order, equal ones as they were: a
// key whose unsigned order is that of the values, NaN the greatest, above the place.
template <typename T, typename Element>
inline void kw_sort_keys(const Element* values, int64_t count, int64_t kept, bool descending, std::vector<uint64_t>& out) {
  const auto size = static_cast<std::size_t>(count);
  out.resize(size);
  const uint32_t flip = descending ? 0xffffffffu : 0;
  for (std::size_t i = 0; i < size; ++i) {
    const T value = static_cast<T>(values[i]);
    uint32_t key;
    if constexpr (std::is_floating_point_v<T>) {
      const uint32_t bits = std::bit_cast<uint32_t>(static_cast<float>(value) + 0.0f);
      key = value != value ? 0xffffffffu : bits ^ (static_cast<uint32_t>(static_cast<int32_t>(bits) >> 31) | 0x80000000u);
    } else {
      key = static_cast<uint32_t>(static_cast<int32_t>(value)) ^ 0x80000000u;
    }
    out[i] = static_cast<uint64_t>(key ^ flip) << 32 | i;
  }
  if (kept * 8 <= count) {
    std::nth_element(out.begin(), out.begin() + kept, out.end());
    std::sort(out.begin(), out.begin() + kept);
    return;
  }
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
