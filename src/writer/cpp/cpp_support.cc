#include "writer/cpp/cpp_support.h"

#include <map>

#include <fmt/format.h>

#include "base/check.h"
#include "writer/cpp/product_support.h"
#include "writer/cpp/sort_support.h"

namespace kw::writer {
namespace {

// OpenMP's own min and max lose NaN where lanes are combined.
std::string reduction_text(const char* name, const char* sign, const char* type) {
  return fmt::format(
      "#pragma omp declare reduction(kw_nan_{0} : {2} : omp_out = omp_in {1} omp_out || omp_in != "
      "omp_in ? omp_in : omp_out) initializer(omp_priv = "
      "{3}std::numeric_limits<{2}>::infinity())\n",
      name, sign, type, *sign == '<' ? "" : "-");
}

const std::map<std::string, std::string>& own_functions() {
  static const std::map<std::string, std::string> all = {
      {"kw_abs",
       "template <typename T>\ninline T kw_abs(T x) {\n  return x < 0 ? -x : x + T(0);\n}\n"},
      {"kw_sign",
       "template <typename T>\ninline T kw_sign(T x) {\n  return T(x > 0) - T(x < 0);\n}\n"},
      {"kw_min",
       "template <typename T>\ninline T kw_min(T a, T b) {\n  return a < b || a != a ? a : "
       "b;\n}\n"},
      {"kw_max",
       "template <typename T>\ninline T kw_max(T a, T b) {\n  return a > b || a != a ? a : "
       "b;\n}\n"},
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
      {"kw_nan_min_float", reduction_text("min", "<", "float")},
      {"kw_nan_min_double", reduction_text("min", "<", "double")},
      {"kw_nan_max_float", reduction_text("max", ">", "float")},
      {"kw_nan_max_double", reduction_text("max", ">", "double")},
      {"kw_frexp_fraction",
       "template <typename T>\ninline T kw_frexp_fraction(T x) {\n  int exponent = 0;\n"
       "  return std::frexp(x, &exponent);\n}\n"},
      {"kw_frexp_exponent",
       "template <typename T>\ninline int32_t kw_frexp_exponent(T x) {\n  int exponent = 0;\n"
       "  std::frexp(x, &exponent);\n  return std::isfinite(x) ? exponent : 0;\n}\n"},
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

std::string support_text(const std::set<std::string>& functions) {
  std::string declared, defined;
  for (const std::string& name : functions) {
    if (name == "kw_product" || name.starts_with("kw_sort_")) {
      defined += name == "kw_product" ? product_support() : sort_support(name);
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
