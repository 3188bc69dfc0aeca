#include "writer/cpp/cpp_support.h"

#include <map>

#include <fmt/format.h>

#include "base/check.h"
#include "writer/cpp/product_support.h"
#include "writer/cpp/sort_support.h"

namespace kw::writer {
namespace {

// OpenMP's own min and max lose NaN where lanes are combined.
std::string reduction_text(const char* name, const char* type) {
  const bool is_min = std::string_view(name) == "min";
  return fmt::format(
      "#pragma omp declare reduction(kw_nan_{0} : {1} : omp_out = kw_{0}<{1}>(omp_in, omp_out)) "
      "initializer(omp_priv = {2}std::numeric_limits<{1}>::infinity())\n",
      name, type, is_min ? "" : "-");
}

const std::map<std::string, std::string>& own_functions() {
  static const std::map<std::string, std::string> all = {
      {"kw_abs",
       "template <typename T>\ninline T kw_abs(T x) {\n  return x < 0 ? -x : x + T(0);\n}\n"},
      {"kw_sign",
       "template <typename T>\ninline T kw_sign(T x) {\n  return T(x > 0) - T(x < 0);\n}\n"},
      {"kw_min",
       "template <typename T>\ninline T kw_min(T a, T b) {\n  const T least = a < b ? a : b;\n  "
       "return a "
       "!= a ? a : least;\n}\n"},
      {"kw_max",
       "template <typename T>\ninline T kw_max(T a, T b) {\n  const T most = a > b ? a : b;\n  "
       "return a "
       "!= a ? a : most;\n}\n"},
      {"kw_combine",
       "template <int Count, typename T, typename Operation>\n"
       "inline T kw_combine(T* lanes, const Operation& operation) {\n"
       "  if constexpr (Count == 1) {\n    return lanes[0];\n  } else {\n"
       "#pragma omp simd\n"
       "    for (int i = 0; i < Count / 2; ++i) lanes[i] = operation(lanes[i], lanes[i + Count / "
       "2]);\n"
       "    return kw_combine<Count / 2>(lanes, operation);\n  }\n}\n"},
      {"kw_floor_div",
       "template <typename T>\ninline T kw_floor_div(T a, T b) {\n"
       "  if constexpr (std::is_floating_point_v<T>) {\n    return std::floor(a / b);\n  } else {\n"
       "    return a / b - (a % b != 0 && (a < 0) != (b < 0));\n  }\n}\n"},
      {"kw_remainder",
       "template <typename T>\ninline T kw_remainder(T a, T b) {\n"
       "  if constexpr (std::is_floating_point_v<T>) {\n    T r = std::fmod(a, b);\n"
       "    return r != 0 && (r < 0) != (b < 0) ? r + b : r;\n  } else {\n    T r = a % b;\n"
       "    return r != 0 && (r < 0) != (b < 0) ? r + b : r;\n  }\n}\n"},
      {"kw_integer_pow",
       "template <typename T>\ninline T kw_integer_pow(T base, T exponent) {\n"
       "  uint64_t out = 1, x = static_cast<uint64_t>(base);\n"
       "  for (T e = exponent; e > 0; e /= 2, x *= x) {\n    if (e % 2 != 0) out *= x;\n  }\n"
       "  return static_cast<T>(out);\n}\n"},
      {"kw_log_add_exp",
       "template <typename T>\ninline T kw_log_add_exp(T a, T b) {\n"
       "  const T high = a > b ? a : b, low = a > b ? b : a;\n"
       "  return low == -std::numeric_limits<T>::infinity() ? high : high + "
       "std::log1p(std::exp(low "
       "- high));\n}\n"},
      {"kw_nan_min_float", reduction_text("min", "float")},
      {"kw_nan_min_double", reduction_text("min", "double")},
      {"kw_nan_max_float", reduction_text("max", "float")},
      {"kw_nan_max_double", reduction_text("max", "double")},
      // As the value of another type: structures and _Float16 keep loops from being vectorised.
      {"kw_bfloat16",
       "typedef uint16_t kw_bits __attribute__((may_alias));\n"
       "inline float kw_from_bfloat16(uint16_t bits) {\n"
       "  return std::bit_cast<float>(static_cast<uint32_t>(bits) << 16);\n}\n"
       "inline uint16_t kw_to_bfloat16(float x) {\n"
       "  const uint32_t u = std::bit_cast<uint32_t>(x);\n"
       "  const uint32_t rounded = (u + 0x7fff + ((u >> 16) & 1)) >> 16;\n"
       "  return static_cast<uint16_t>(x != x ? 0x7fc0 : rounded);\n}\n"},
      // Subnormals by a product that is exact; to nearest even by a sum with a number of the
      // result's last place.
      {"kw_float16",
       "typedef uint16_t kw_bits __attribute__((may_alias));\n"
       "inline float kw_from_float16(uint16_t bits) {\n"
       "  const uint32_t rest = bits & 0x7fffu, sign = (bits & 0x8000u) << 16;\n"
       "  const uint32_t finite = std::bit_cast<uint32_t>(std::bit_cast<float>(rest << 13) * "
       "0x1p112f);\n"
       "  return std::bit_cast<float>((rest >= 0x7c00u ? (rest << 13) | 0x7f800000u : finite) | "
       "sign);\n}\n"
       "inline uint16_t kw_to_float16(float x) {\n"
       "  const uint32_t u = std::bit_cast<uint32_t>(x), rest = u & 0x7fffffffu;\n"
       "  const uint32_t normal = (rest + 0xfffu + ((rest >> 13) & 1u) - 0x38000000u) >> 13;\n"
       "  const uint32_t small = std::bit_cast<uint32_t>(std::bit_cast<float>(rest) + 0.5f) - "
       "0x3f000000u;\n"
       "  uint32_t out = rest < 0x38800000u ? small : normal;\n"
       "  out = rest >= 0x477ff000u ? 0x7c00u : out;\n"
       "  out = rest > 0x7f800000u ? 0x7e00u : out;\n"
       "  return static_cast<uint16_t>(out | ((u >> 16) & 0x8000u));\n}\n"},
      // Past the caches, which then keep what is read.
      {"kw_stream",
       "template <typename T>\ninline void kw_stream(T* to, const T* from, int64_t count) {\n"
       "  int64_t i = 0;\n#if defined(__SSE2__)\n  constexpr int64_t each = 16 / sizeof(T);\n"
       "  for (; i < count && reinterpret_cast<std::uintptr_t>(to + i) % 16 != 0; ++i) to[i] = "
       "from[i];\n"
       "  for (; i + each <= count; i += each)\n"
       "    _mm_stream_si128(reinterpret_cast<__m128i*>(to + i), "
       "_mm_loadu_si128(reinterpret_cast<const "
       "__m128i*>(from + i)));\n#endif\n  for (; i < count; ++i) to[i] = from[i];\n}\n"
       "inline void kw_stream_end() {\n#if defined(__SSE2__)\n  _mm_sfence();\n#endif\n}\n"},
      {"kw_frexp_fraction",
       "template <typename T>\ninline T kw_frexp_fraction(T x) {\n  int exponent = 0;\n"
       "  return std::frexp(x, &exponent);\n}\n"},
      {"kw_frexp_exponent",
       "template <typename T>\ninline int32_t kw_frexp_exponent(T x) {\n  int exponent = 0;\n"
       "  std::frexp(x, &exponent);\n  return std::isfinite(x) ? exponent : 0;\n}\n"},
      // 2^n exp(r) with |r| < 0.35, a minimax polynomial: 1.0 units in the last place, and as fast
      // for infinities and what is out of range. 2^n in two factors, so that subnormals are right.
      // kw_exp_inside: of what is between -87 and 87.
      {"kw_exp", R"text(template <typename T>
inline T kw_exp_mantissa(T x, T& shifted) {
  shifted = x * T(1.44269504) + T(12582912);
  const T n = shifted - T(12582912);
  const T r = (x - n * T(0.693145752)) - n * T(1.42860677e-6), s = r * r;
  const T p = s * (s * T(0.00138145196) + (r * T(0.00836874731) + T(0.0416683927))) + (r * T(0.166665196) + T(0.49999994));
  return p * s + r + T(1);
}
template <typename T>
inline T kw_exp(T x) {
  const T low = x < T(-104) ? T(-104) : x, in = low > T(89) ? T(89) : low;
  T shifted;
  const T p = kw_exp_mantissa<T>(in, shifted);
  const int32_t e = std::bit_cast<int32_t>(shifted) - 0x4b400000, half = e >> 1;
  return p * std::bit_cast<T>((half + 127) << 23) * std::bit_cast<T>((e - half + 127) << 23);
}
template <typename T>
inline T kw_exp_inside(T x) {
  T shifted;
  const T p = kw_exp_mantissa<T>(x, shifted);
  return p * std::bit_cast<T>((std::bit_cast<int32_t>(shifted) - 0x4b400000 + 127) << 23);
}
)text"},
      // erf(x) = x + x P(x^2) where |x| < 0.92, and 1 - exp(-(x + x Q(x))) beyond; minimax
      // polynomials. 1.2 units in the last place, the C library's vectors 4: too many for 1 +
      // erf(x) near -1.
      {"kw_erf", R"text(template <typename T>
inline T kw_exp_inside(T x);
template <typename T>
inline T kw_erf(T x) {
  const T a = std::abs(x), t = a > 4 ? 4 : a, s = x * x, ss = s * s, tt = t * t;
  const T p = ss * (ss * (s * T(-0.000601339329) + T(0.0049980008)) + (s * T(-0.0267702322) + T(0.112819269))) + (s * T(-0.376125067) + T(0.128379151));
  const T q = tt * (tt * (t * T(-0.000213470135) + T(0.00321079697)) + (t * T(-0.0228769295) + T(0.105242021))) + (t * T(0.635732949) + T(0.128510162));
  const T beyond = T(1) - kw_exp_inside<T>(-(t + t * q));
  return a < T(0.921875) ? x + x * p : std::copysign(beyond, x);
}
)text"},
      // Giles, "Approximating the erfinv function" (2010), and two steps of Newton.
      {"kw_erfinv",
       "template <typename T>\ninline T kw_erfinv(T x) {\n"
       "  double w = -std::log((1.0 - x) * (1.0 + x)), p;\n  if (w < 5.0) {\n    w -= 2.5;\n"
       "    p = 2.81022636e-08;\n    p = 3.43273939e-07 + p * w;\n    p = -3.5233877e-06 + p * w;\n"
       "    p = -4.39150654e-06 + p * w;\n    p = 0.00021858087 + p * w;\n"
       "    p = -0.00125372503 + p * w;\n    p = -0.00417768164 + p * w;\n"
       "    p = 0.246640727 + p * w;\n    p = 1.50140941 + p * w;\n  } else {\n"
       "    w = std::sqrt(w) - 3.0;\n    p = -0.000200214257;\n    p = 0.000100950558 + p * w;\n"
       "    p = 0.00134934322 + p * w;\n    p = -0.00367342844 + p * w;\n"
       "    p = 0.00573950773 + p * w;\n    p = -0.0076224613 + p * w;\n"
       "    p = 0.00943887047 + p * w;\n    p = 1.00167406 + p * w;\n    p = 2.83297682 + p * w;\n "
       " }\n"
       "  double y = p * x;\n  if (std::abs(x) < 1) {\n    for (int i = 0; i < 2; ++i) y -= "
       "(std::erf(y) - x) * "
       "0.886226925452758 * std::exp(y * y);\n  }\n  return static_cast<T>(y);\n}\n"},
  };
  return all;
}

bool takes_two(const std::string& name) {
  return name.starts_with("pow") || name.starts_with("atan2") || name.starts_with("hypot");
}

}  // namespace

std::string support_text(const std::set<std::string>& functions, const CppTuning& tuning) {
  std::string declared, defined;
  for (const std::string& name : functions) {
    if (name == "kw_product" || name.starts_with("kw_sort_")) {
      defined += name == "kw_product" ? product_support(tuning) : sort_support(name);
      continue;
    }
    if (auto own = own_functions().find(name); own != own_functions().end()) {
      defined += own->second;
      continue;
    }
    KW_CHECK(!name.starts_with("kw_"));
    const char* type = name.ends_with('f') && name != "erf" ? "float" : "double";
    declared += fmt::format(
        "extern \"C\" __attribute__((simd(\"notinbranch\"), const)) {0} {1}({0}{2}) noexcept;\n",
        type, name, takes_two(name) ? fmt::format(", {}", type) : "");
  }
  std::string out;
  if (!declared.empty())
    out += "// Vector versions of these are in the C library; loops marked simd use them.\n" +
           declared;
  if (!defined.empty()) out += "namespace {\n" + defined + "}  // namespace\n";
  return out;
}

}  // namespace kw::writer
