#include "writer/cpp/cpp_support.h"

#include <map>

#include <fmt/format.h>

#include "base/check.h"
#include "writer/cpp/half_support.h"
#include "writer/cpp/math_support.h"
#include "writer/cpp/product_support.h"
#include "writer/cpp/sort_support.h"
#include "writer/cpp/vector_support.h"

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
      // Not inline: GCC would inline less of the products then (swiglu_mlp: 1.4 times as long).
      {"kw_scratch",
       R"text(// Kept between calls; at a vector's boundary, with a vector behind its end.
template <typename T, int Buffer>
[[gnu::noinline]] T* kw_scratch(int64_t count) {
  static std::vector<T> memory;
  const std::size_t enough = static_cast<std::size_t>(count) + 128 / sizeof(T);
  if (memory.size() < enough) memory.resize(enough);
  return memory.data() + (64 - reinterpret_cast<std::uintptr_t>(memory.data()) % 64) % 64 / sizeof(T);
}
)text"},
      {"kw_nan_min_float", reduction_text("min", "float")},
      {"kw_nan_min_double", reduction_text("min", "double")},
      {"kw_nan_max_float", reduction_text("max", "float")},
      {"kw_nan_max_double", reduction_text("max", "double")},
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
  };
  return all;
}

const std::string* text_of(const std::string& name) {
  for (const auto* all : {&own_functions(), &half_functions(), &math_functions()}) {
    if (const auto found = all->find(name); found != all->end()) return &found->second;
  }
  return nullptr;
}

bool takes_two(const std::string& name) {
  return name.starts_with("pow") || name.starts_with("atan2") || name.starts_with("hypot");
}

}  // namespace

std::string support_text(const std::set<std::string>& functions, const CppTuning& tuning) {
  std::string declared, defined;
  const bool with_tile = functions.contains("kw_transpose_tile");
  if (with_tile || functions.contains("kw_product")) defined += vector_support(with_tile);
  for (const std::string& name : functions) {
    if (name == "kw_transpose_tile") continue;
    if (name == "kw_product" || name.starts_with("kw_sort_")) {
      defined += name == "kw_product" ? product_support(tuning) : sort_support(name);
      continue;
    }
    if (const std::string* own = text_of(name)) {
      defined += *own;
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
