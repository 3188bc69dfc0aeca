#include "writer/cpp/vector_support.h"

namespace kw::writer {
namespace {

// Alignment: the executor gives 64-byte aligned tensors, but rows and slices of them start
// anywhere, so vectors are of their elements' alignment.
constexpr std::string_view kVectors = R"text(#if defined(__AVX512F__)
constexpr int kw_bytes = 64, kw_registers = 32;
#elif defined(__AVX__)
constexpr int kw_bytes = 32, kw_registers = 16;
#else
constexpr int kw_bytes = 16, kw_registers = 16;
#endif
)text";

constexpr std::string_view kTranspose = R"text(template <typename T>
struct kw_vector {
  typedef T type __attribute__((vector_size(kw_bytes), aligned(alignof(T)), may_alias));
  static constexpr int lanes = kw_bytes / sizeof(T);
};

// Element l of the result is a[l] or b[l], those of the other half moved by Step: one round of a transposition.
template <typename T, int Step, int... Lane>
inline void kw_exchange(typename kw_vector<T>::type& a, typename kw_vector<T>::type& b, std::integer_sequence<int, Lane...>) {
  constexpr int lanes = kw_vector<T>::lanes;
  const auto low = __builtin_shufflevector(a, b, ((Lane & Step) != 0 ? lanes + Lane - Step : Lane)...);
  b = __builtin_shufflevector(a, b, ((Lane & Step) != 0 ? lanes + Lane : Lane + Step)...);
  a = low;
}

template <typename T, int Step>
inline void kw_rounds(typename kw_vector<T>::type* rows) {
  constexpr int lanes = kw_vector<T>::lanes;
#pragma GCC unroll 16
  for (int i = 0; i < lanes; ++i) {
    if ((i & Step) == 0) kw_exchange<T, Step>(rows[i], rows[i + Step], std::make_integer_sequence<int, lanes>{});
  }
  if constexpr (Step > 1) kw_rounds<T, Step / 2>(rows);
}

// to[k * width + i] = from[i * outer + k] for k < lanes, i < kept; 0 for i >= rows.
template <typename T>
inline void kw_transpose(const T* from, int64_t outer, int64_t rows, T* to, int64_t width, int64_t kept) {
  using Vector = typename kw_vector<T>::type;
  constexpr int lanes = kw_vector<T>::lanes;
  Vector all[lanes];
#pragma GCC unroll 16
  for (int i = 0; i < lanes; ++i) all[i] = i < rows ? *reinterpret_cast<const Vector*>(from + i * outer) : Vector{};
  kw_rounds<T, lanes / 2>(all);
  if (kept == lanes) {
#pragma GCC unroll 16
    for (int k = 0; k < lanes; ++k) *reinterpret_cast<Vector*>(to + k * width) = all[k];
  } else {
    for (int k = 0; k < lanes; ++k)
      for (int64_t i = 0; i < kept; ++i) to[k * width + i] = all[k][i];
  }
}
)text";

constexpr std::string_view kTile = R"text(
// to[c * width + r] = from[r * outer + c] for r < rows, c < columns
template <typename T>
inline void kw_transpose_tile(const T* from, int64_t outer, int64_t rows, int64_t columns, T* to, int64_t width) {
  int64_t r = 0;
  if constexpr (sizeof(T) >= 4) {
    using Bits = std::conditional_t<sizeof(T) == 4, uint32_t, uint64_t>;
    constexpr int lanes = kw_vector<Bits>::lanes;
    for (; r + lanes <= rows; r += lanes) {
      int64_t c = 0;
      for (; c + lanes <= columns; c += lanes)
        kw_transpose<Bits>(reinterpret_cast<const Bits*>(from + r * outer + c), outer, lanes, reinterpret_cast<Bits*>(to + c * width + r), width, lanes);
      for (; c < columns; ++c)
        for (int64_t i = r; i < r + lanes; ++i) to[c * width + i] = from[i * outer + c];
    }
  }
  for (; r < rows; ++r)
    for (int64_t c = 0; c < columns; ++c) to[c * width + r] = from[r * outer + c];
}
)text";

}  // namespace

std::string vector_support(bool with_tile) {
  return std::string(kVectors) + std::string(kTranspose) + std::string(with_tile ? kTile : "");
}

}  // namespace kw::writer
