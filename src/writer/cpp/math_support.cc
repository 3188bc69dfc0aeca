#include "writer/cpp/math_support.h"

namespace kw::writer {

const std::map<std::string, std::string>& math_functions() {
  static const std::map<std::string, std::string> all = {
      // 2^n exp(r) with |r| < 0.35, a minimax polynomial: 1.0 units in the last place, and as fast
      // for infinities and what is out of range. 2^n in two factors, so that subnormals are right.
      // kw_exp_inside: of what is between -87 and 87. kw_exp_rest: exp(r) - 1.
      {"kw_exp", R"text(template <typename T>
inline T kw_exp_rest(T x, T& shifted) {
  shifted = x * T(1.44269504) + T(12582912);
  const T n = shifted - T(12582912);
  const T r = (x - n * T(0.693145752)) - n * T(1.42860677e-6), s = r * r;
  const T p = s * (s * T(0.00138145196) + (r * T(0.00836874731) + T(0.0416683927))) + (r * T(0.166665196) + T(0.49999994));
  return p * s + r;
}
template <typename T>
inline T kw_exp(T x) {
  const T low = x < T(-104) ? T(-104) : x, in = low > T(89) ? T(89) : low;
  T shifted;
  const T p = kw_exp_rest<T>(in, shifted) + T(1);
  const int32_t e = std::bit_cast<int32_t>(shifted) - 0x4b400000, half = e >> 1;
  return p * std::bit_cast<T>((half + 127) << 23) * std::bit_cast<T>((e - half + 127) << 23);
}
template <typename T>
inline T kw_exp_inside(T x) {
  T shifted;
  const T p = kw_exp_rest<T>(x, shifted) + T(1);
  return p * std::bit_cast<T>((std::bit_cast<int32_t>(shifted) - 0x4b400000 + 127) << 23);
}
)text"},
      // exp(x) - 1 = 2^n ((exp(r) - 1) + (1 - 2^-n)): 1.4 units in the last place, near 0 too.
      {"kw_expm1", R"text(template <typename T>
inline T kw_expm1(T x) {
  const T low = x < T(-104) ? T(-104) : x, in = low > T(89) ? T(89) : low;
  T shifted;
  const T p = kw_exp_rest<T>(in, shifted);
  const int32_t e = std::bit_cast<int32_t>(shifted) - 0x4b400000, half = e >> 1;
  const T scale = std::bit_cast<T>((half + 127) << 23), rest = std::bit_cast<T>((e - half + 127) << 23);
  return (p * scale + (scale - std::bit_cast<T>((half - e + 127) << 23))) * rest;
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

}  // namespace kw::writer
